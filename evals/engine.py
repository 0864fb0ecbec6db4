"""The local model as a function from request to reply, reproducible to the word."""

from __future__ import annotations

import importlib
import json
import logging
import os
import threading
import urllib.request
from pathlib import Path
from typing import Any, Final, Protocol, cast

from evals.prompting import Payload
from surehand.models.local import template_for

__all__ = ["Brain", "LocalBrain"]

CONTEXT: Final = 16_384
"""Tokens of a request and its reply; 20 KB of results must fit several times."""
THREADS: Final = 2

_QUIET: Final = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}

logger = logging.getLogger("evals")


class Brain(Protocol):
    """What answers requests."""

    def answer(self, asked: Payload, *, is_first: bool) -> Payload:
        """The reply in OpenAI's form, or a mapping with ``error``; ``is_first`` begins a run."""
        ...


class LocalBrain:
    """A GGUF file, run by llama.cpp as ``LocalModel`` runs it: the same template, one slot.

    What was computed for the beginning of a prompt is kept within a run and never from one run to the next: sums of
    floating-point numbers depend on how a prompt was cut up, and so, now and then, does the likeliest word.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._server = _started(path)

    def answer(self, asked: Payload, *, is_first: bool) -> Payload:
        """The reply of the model."""
        body = {**asked, "cache_prompt": not is_first}
        with self._lock:
            try:
                return cast("Payload", self._server.handle_chat_completions(body))
            except RuntimeError as error:
                logger.warning("the engine could not read the reply (%s): taking it as text", error)
                return self._as_text(asked)

    def _as_text(self, asked: Payload) -> Payload:
        """The reply as it is, where it looks like a call and is none: other servers hand it on as text."""
        request = urllib.request.Request(  # noqa: S310 - our own loopback address
            f"{self._server.listening_address}/apply-template",
            data=json.dumps(asked).encode(),
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - see above
            prompt = json.loads(answer.read())["prompt"]
        limits = {name: asked[name] for name in ("temperature", "seed", "max_tokens")}
        reply = cast("Payload", self._server.handle_completions({"prompt": prompt, **limits}))
        text = reply["choices"][0]["text"] if "choices" in reply else reply.get("content", "")
        message = {"role": "assistant", "content": text}
        return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def _started(path: Path) -> Any:
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    engine = importlib.import_module("xllamacpp")
    settings = engine.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx = CONTEXT
    settings.n_parallel = 1
    settings.cache_ram_mib = 0
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = THREADS
    settings.use_jinja = True
    settings.verbosity = 0
    settings.port = 0
    template = template_for(path, None)
    if template is not None:
        settings.chat_template = template
    return engine.Server(settings)
