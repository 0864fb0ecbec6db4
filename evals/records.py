"""What is kept of a run, and where: one line of JSON per run, found again by what the run depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import surehand
from evals.contenders import Contender
from evals.prompting import Style
from evals.task import Task
from evals.world import Effect

__all__ = ["FOLDER", "End", "Record", "Shelf", "fingerprint", "model_name", "versions_of"]

FOLDER: Final = Path(__file__).resolve().parent.parent / ".cache" / "evals"
"""Not under version control."""

End: TypeAlias = Literal["answer", "crash", "time", "requests"]
"""``answer``: the framework returned. ``crash``: an exception came out of it. ``time``, ``requests``: it was stopped.
"""

_EVALS: Final = Path(__file__).resolve().parent
_SHARED: Final = ("child.py", "engine.py", "prompting.py", "runs.py", "server.py", "world.py")
"""What every run depends on; how a run is judged is not among it, for that is done when the table is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One run, as it happened."""

    contender: str
    task: str
    style: Style
    model: str
    fingerprint: str
    """Stands for all that the run depends on; another one, and the run is out of date."""
    versions: Mapping[str, str]
    at: str
    end: End
    error: str | None
    answer: str | None
    effects: tuple[Effect, ...]
    requests: int
    """How often the model was asked."""
    calls: int
    """How many tool calls it made."""
    seconds: float
    """From start to end, the model's time included."""
    model_seconds: float


class Shelf:
    """The records in one file; a later one with the same fingerprint replaces an earlier one."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, fingerprint: str) -> Record | None:
        """The newest record with this fingerprint."""
        return self.all().get(fingerprint)

    def add(self, record: Record) -> None:
        """Keep a record."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(record), ensure_ascii=False) + "\n")

    def all(self) -> dict[str, Record]:
        """All records, by fingerprint."""
        if not self._path.exists():
            return {}
        lines = self._path.read_text(encoding="utf-8").splitlines()
        return {record.fingerprint: record for record in map(_read, lines)}


def _read(line: str) -> Record:
    fields: dict[str, Any] = json.loads(line)
    fields["effects"] = tuple(tuple(effect) for effect in fields["effects"])
    return Record(**fields)


def fingerprint(contender: Contender, task: Task, style: Style, model: str) -> str:
    """A digest of all that a run depends on."""
    digest = hashlib.sha256(json.dumps([contender.name, task.name, style, model, versions_of(contender)]).encode())
    files = [*(_EVALS / name for name in _SHARED), _module(task.tools.__module__), _module(contender.module)]
    for path in files:
        digest.update(path.read_bytes())
    if "surehand" in contender.packages:
        digest.update(_own_digest().encode())
    return digest.hexdigest()[:16]


def model_name(path: Path) -> str:
    """A model by its file's name and size."""
    return f"{path.stem}-{path.stat().st_size}" if path.is_file() else path.name


def versions_of(contender: Contender) -> dict[str, str]:
    """The versions of the contender's packages."""
    found: dict[str, str] = {}
    for package in (*contender.packages, "pydantic"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _module(name: str) -> Path:
    return _EVALS.parent / f"{name.replace('.', '/')}.py"


@cache
def _own_digest() -> str:
    """A digest of our sources: the version alone does not change with every change."""
    root = Path(surehand.__file__).parent
    return _digest_of(sorted([*root.rglob("*.py"), *root.rglob("*.jinja")]))


def _digest_of(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
