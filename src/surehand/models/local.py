"""A model inside this process: any GGUF file, run by llama.cpp (the package ``xllamacpp``).

The engine blocks whoever calls it, for as long as the model computes, and hands over the pieces of a stream by calling
back on that thread. So it is called on worker threads only, and pieces reach the event loop through a queue. It has one
slot: several would part the context among them, and each request could hold so much less. What would change our minds:
an engine that can be awaited, or one that shares a context between requests.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias, cast

from surehand.concurrency import Job, run_in_thread, workers
from surehand.dialects import openai_chat
from surehand.errors import MissingExtraError, ModelError, OptionError, shown
from surehand.messages import AIMessage, AIMessageChunk
from surehand.models.base import BaseChatModel, ModelRequest
from surehand.models.nudge import Nudge
from surehand.models.said import TextCalls
from surehand.models.weights import find_weights
from surehand.policy import count

__all__ = ["LocalModel", "Template", "template_for"]

_QUIET: Final = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}
"""llama.cpp's threads spin while they wait: where another process wants the cores too, that costs a factor of ten."""

_CODER: Final = "qwen2.5-coder"
"""Models of this family call tools with our template only; others bring one of their own."""

Payload: TypeAlias = dict[str, Any]
Template: TypeAlias = Literal["own", "coder"] | Path
"""The file's own chat template, ours for Qwen2.5-Coder, or the file of another."""


class _Server(Protocol):
    """What is used of ``xllamacpp.Server``."""

    def handle_chat_completions(self, body: Payload, callback: Callable[[Any], Any] | None = None) -> Any: ...


@dataclass(slots=True)
class _Loaded:
    """The loaded weights, shared by a model and its bound copies."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    server: _Server | None = None


class _Frames:
    """What the engine's thread hands to the event loop, frame by frame."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.is_wanted = True
        self._loop = loop
        self._waiting: asyncio.Queue[Any] = asyncio.Queue()

    def put(self, frame: Any) -> bool:
        """Hand a frame over; True asks the engine to stop."""
        if self.is_wanted:
            try:
                self._loop.call_soon_threadsafe(self._waiting.put_nowait, frame)
            except RuntimeError:  # the loop was closed meanwhile: nobody waits any more
                self.is_wanted = False
        return not self.is_wanted

    def end(self) -> None:
        """No more frames will come."""
        self.put(None)

    async def next(self) -> Any:
        """The next frame; None after the last."""
        return await self._waiting.get()


class LocalModel(BaseChatModel):
    """A model that runs inside this process, without a server and without a network.

    Example:
        model = LocalModel("/models/qwen2.5-coder-1.5b.gguf")
        create_agent(model, [add]).invoke("What is 2 + 3? Use the add tool.")

    The weights are loaded when the model is first called, and so is ``xllamacpp`` imported
    (``pip install 'surehand[local]'``). A known name, such as ``qwen2.5-coder-1.5b``, is fetched once from its makers'
    repository, checked against a pinned checksum and kept in ``~/.cache/surehand``.

    Requests take turns: the model answers one at a time.

    Args:
        model: The path of a GGUF file, or a known name.
        context: Tokens that a request and its reply may have together.
        threads: How many threads compute; None takes one per core, at most 8.
        temperature: 0 always takes the likeliest word, so that equal requests have equal replies.
        max_tokens: The most tokens of a reply.
        template: The chat template: ``own`` is the file's, ``coder`` ours for Qwen2.5-Coder, a path any other. None
            takes ours for files whose name says Qwen2.5-Coder, and the file's own for others.
        nudge: See ``BaseChatModel``; small models need it, so it is on.
        text_calls: See ``BaseChatModel``; small models need it, so it is on.
        options: Further fields of each request, such as ``top_p`` or ``seed``.

    Raises:
        OptionError: The template or a number cannot be meant.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        context: int = 8192,
        threads: int | None = None,
        temperature: float = 0.0,
        max_tokens: int = 1024,
        template: Template | None = None,
        nudge: bool | Nudge | None = True,
        text_calls: TextCalls = True,
        **options: Any,
    ) -> None:
        super().__init__(nudge=nudge, text_calls=text_calls, options=options)
        if isinstance(template, str) and template not in ("own", "coder"):  # pyright: ignore[reportUnnecessaryComparison] - hosts may not type-check
            raise OptionError(option="template", value=template, expected="'own', 'coder', a Path or None")
        self.model = str(model)
        self._context = count("context", context)
        self._threads = count("threads", threads) if threads is not None else min(8, os.cpu_count() or 1)
        self._temperature = temperature
        self._max_tokens = count("max_tokens", max_tokens)
        self._template: Template | None = template
        self._loaded = _Loaded()

    async def load(self) -> None:
        """Load the weights now instead of at the first call.

        Raises:
            MissingExtraError: ``xllamacpp`` is not installed.
            OptionError: The model is neither a file nor a known name.
            ModelError: The weights could not be fetched or loaded.
        """
        await run_in_thread(self._server)

    async def aclose(self) -> None:
        """Give the memory back; the next call loads the weights again."""
        await run_in_thread(self._unload)

    async def _answer(self, request: ModelRequest) -> AIMessage:
        body = self._body(request)
        payload = await run_in_thread(lambda: self._ask(self._server(), body))
        return openai_chat.read_reply(payload)

    async def _pieces(self, request: ModelRequest) -> AsyncGenerator[AIMessageChunk, None]:
        body = {**self._body(request), "stream": True, "stream_options": {"include_usage": True}}
        frames = _Frames(asyncio.get_running_loop())
        # A job and not run_in_thread: the thread goes on while its frames are taken here.
        job: Job[Payload] = Job(lambda: self._ask(self._server(), body, frames.put), deliver=lambda _: frames.end())
        workers().start(job)
        assembly = openai_chat.ChatStream()
        try:
            while (frame := await frames.next()) is not None:
                piece = assembly.feed(_checked(self.model, frame))
                if piece is not None:
                    yield piece
        finally:
            frames.is_wanted = False  # the engine hears of it with its next frame, and stops
        if job.error is not None:
            raise job.error
        if not assembly.is_finished:
            raise _failure(self.model, "the engine stopped before its reply was complete")

    def _body(self, request: ModelRequest) -> Payload:
        messages = openai_chat.write_messages(request.messages, names=request.wire_names)
        body = {
            "messages": [_plain(message) for message in messages],
            "temperature": self._temperature,
            "max_tokens": self._max_tokens,
            **request.options,
        }
        if request.tools and request.tool_choice != "none":  # the server would show them to the model all the same
            body["tools"] = [tool.to_openai() for tool in request.tools]
        return body

    def _ask(self, server: _Server, body: Payload, callback: Callable[[Any], Any] | None = None) -> Payload:
        """The server's answer; it says what went wrong in two ways, as an exception and as a dict."""
        try:
            answer = (
                server.handle_chat_completions(body)
                if callback is None
                else (server.handle_chat_completions(body, callback))
            )
        except RuntimeError as error:
            raise _failure(self.model, str(error)) from error
        return {} if callback is not None else _checked(self.model, answer)

    def _server(self) -> _Server:
        """The loaded model; loads it on the first use, once, whoever asks."""
        with self._loaded.lock:  # held while loading, on a worker thread: others wait for the one set of weights
            if self._loaded.server is None:
                self._loaded.server = self._started()
            return self._loaded.server

    def _started(self) -> _Server:
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)  # read when the library is loaded
        try:
            engine = importlib.import_module("xllamacpp")
        except ImportError as error:
            raise MissingExtraError(feature="LocalModel", package="xllamacpp", extra="local") from error
        path = find_weights(self.model)
        settings = engine.CommonParams()
        settings.model.path = str(path)
        settings.n_ctx = self._context
        settings.n_parallel = 1
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = self._threads
        settings.use_jinja = True
        settings.verbosity = 0
        settings.port = 0
        template = template_for(path, self._template)
        if template is not None:
            settings.chat_template = template
        try:
            return cast("_Server", engine.Server(settings))
        except RuntimeError as error:
            raise _failure(self.model, f"the file {path} could not be loaded: {error}") from error

    def _unload(self) -> None:
        with self._loaded.lock:
            self._loaded.server = None


def template_for(path: Path, template: Template | None) -> str | None:
    """The text of the chat template for a file of weights; None for the one in the file itself."""
    if isinstance(template, Path):
        return template.read_text(encoding="utf-8")
    is_ours = template == "coder" or (template is None and _CODER in path.name.lower())
    if not is_ours:
        return None
    return (resources.files("surehand.models") / "templates" / "qwen_coder.jinja").read_text(encoding="utf-8")


def _plain(message: Payload) -> Payload:
    """Templates join texts: content is text, never null and never a list of blocks."""
    content = message.get("content")
    if isinstance(content, list):
        blocks = cast("list[Mapping[str, Any]]", content)
        return {**message, "content": "".join(str(block.get("text", "")) for block in blocks)}
    return message if content is not None else {**message, "content": ""}


def _checked(model: str, payload: Any) -> Payload:
    """The payload, unless it is the server's word for a failure."""
    if not isinstance(payload, dict):
        raise _failure(model, f"the engine answered with {shown(cast('object', payload))}")
    answer = cast("Payload", payload)
    error = answer.get("error")
    if error:
        said = cast("Mapping[str, Any]", error).get("message", error) if isinstance(error, Mapping) else error
        raise _failure(model, str(said))
    return answer


def _failure(model: str, problem: str) -> ModelError:
    remedy = "Read the engine's words above."
    if "context size" in problem:
        remedy = "Send less, or build the model with a larger context=…."
    return ModelError(model=model, problem=problem, remedy=remedy)
