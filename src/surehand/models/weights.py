"""Weights of local models: known names, and how their files get into the cache."""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from surehand.errors import ModelError, OptionError

__all__ = ["KNOWN_WEIGHTS", "Weights", "cache_folder", "find_weights"]

_HUB: Final = "https://huggingface.co/Qwen"
_BLOCK: Final = 1 << 20
_PATIENCE: Final = 60.0
"""Seconds without a byte after which a download is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One file of weights, pinned to the byte."""

    name: str
    url: str
    size: int
    """Bytes."""
    sha256: str


KNOWN_WEIGHTS: Final[dict[str, Weights]] = {
    known.name: known
    for known in (
        Weights(
            name="qwen2.5-coder-0.5b",
            url=f"{_HUB}/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            size=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        ),
        Weights(
            name="qwen2.5-coder-1.5b",
            url=f"{_HUB}/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            size=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        ),
    )
}
"""Models that can be named instead of a path; Apache-2.0, from their makers' own repository."""


def cache_folder() -> Path:
    """Where fetched weights are kept: ``SUREHAND_CACHE``, or ``~/.cache/surehand``."""
    chosen = os.environ.get("SUREHAND_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "surehand"


def find_weights(model: str) -> Path:
    """The file of a model: the path itself, or the cached file of a known name, fetched when it is not there.

    Raises:
        OptionError: The name is neither a file nor known.
        ModelError: The weights could not be fetched, or are not what they should be.
    """
    path = Path(model).expanduser()
    if path.is_file():
        return path
    known = KNOWN_WEIGHTS.get(model.lower())
    if known is None:
        raise OptionError(
            option="model",
            value=model,
            expected=f"the path of a GGUF file that exists, or one of {', '.join(KNOWN_WEIGHTS)}",
        )
    target = cache_folder() / f"{known.name}.gguf"
    if not target.is_file():
        _fetch(known, target)
    return target


def _fetch(weights: Weights, target: Path) -> None:
    """Fetch the file beside its place, check it, and move it there: what stands in the cache is whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f"{target.name}.", suffix=".part", dir=target.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            digest = _download(weights, out)
        if digest != weights.sha256 or part.stat().st_size != weights.size:
            raise _failure(weights, f"the file from {weights.url} is not the pinned one (sha256 {digest})")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _download(weights: Weights, out: BinaryIO) -> str:
    """Write the file to ``out`` and return its sha256."""
    digest = hashlib.sha256()
    try:
        with urllib.request.urlopen(weights.url, timeout=_PATIENCE) as answer:  # noqa: S310 - pinned https addresses
            while block := answer.read(_BLOCK):
                digest.update(block)
                out.write(block)
    except (urllib.error.URLError, OSError) as error:
        raise _failure(weights, f"its weights could not be fetched from {weights.url} ({error})") from error
    return digest.hexdigest()


def _failure(weights: Weights, problem: str) -> ModelError:
    return ModelError(
        model=weights.name,
        problem=problem,
        remedy=(
            f"Go online and try again, or get the file by other means and pass its path: 'local:/path/to/model.gguf'. "
            f"Fetched files are kept in {cache_folder()}."
        ),
    )
