"""How a server is reached: as a process of ours, or under an address."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from surehand.calls.redaction import is_secret_name
from surehand.calls.redaction.shapes import MIN_SECRET_LENGTH, REDACTED
from surehand.errors import OptionError
from surehand.policy import mapping, text

__all__ = ["HttpLaunch", "Launch", "StdioLaunch"]

_MIN_KEY: Final = 16
"""From so many characters on, a part of a path is taken for a key, as some services give each user an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioLaunch:
    """A program that speaks on its standard input and output."""

    command: str
    arguments: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    """Variables besides the few that every server gets, such as HOME and PATH."""
    cwd: str | None = None
    """The working directory; None for the program's own."""

    @classmethod
    def of(cls, command: Any, arguments: Iterable[Any], env: Any, cwd: Any) -> StdioLaunch:
        """The launch, checked.

        Raises:
            OptionError: Something of it cannot be meant.
        """
        given = mapping("env", env)
        if not all(isinstance(value, str) for pair in given.items() for value in pair):
            raise OptionError(option="env", value=..., expected="a mapping of texts to texts")
        if isinstance(arguments, str):
            raise OptionError(option="args", value=arguments, expected="a list of arguments")
        return cls(
            command=text("command", str(command) if isinstance(command, Path) else command),
            arguments=tuple(map(str, arguments)),
            env=dict(given),
            cwd=None if cwd is None else str(cwd),
        )

    @property
    def default_name(self) -> str:
        """What the server is called where nobody names it."""
        return Path(self.command).stem or self.command

    def hidden(self, said: str) -> str:
        """Words of the server's without the secrets that it was given."""
        return _hidden(said, (value for name, value in self.env.items() if is_secret_name(name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLaunch:
    """An address at which streamable HTTP is spoken."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    """Sent with every request."""

    @classmethod
    def of(cls, url: Any, headers: Any) -> HttpLaunch:
        """The launch, checked.

        Raises:
            OptionError: Something of it cannot be meant.
        """
        parts = urlsplit(text("url", url))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise OptionError(option="url", value=url, expected="an address such as 'https://mcp.example/mcp'")
        given = mapping("headers", headers)
        if not all(isinstance(value, str) for pair in given.items() for value in pair):
            raise OptionError(option="headers", value=..., expected="a mapping of texts to texts")
        return cls(url=url, headers=dict(given))

    @property
    def default_name(self) -> str:
        """What the server is called where nobody names it."""
        return urlsplit(self.url).hostname or "http"

    def hidden(self, said: str) -> str:
        """Words of the server's without the secrets that it was given."""
        bare = [value.partition(" ")[2] for value in self.headers.values()]  # "Bearer" and the like are no secrets
        return _hidden(said, [*self.headers.values(), *bare, *_secrets_of(self.url)])


def _secrets_of(url: str) -> Iterator[str]:
    """The parts of an address that only those know who may use it, as they are written and as they are meant."""
    parts = urlsplit(url)
    held = [parts.password or "", *(value for _, value in parse_qsl(parts.query))]
    held += [segment for segment in parts.path.split("/") if len(segment) >= _MIN_KEY]
    for secret in held:
        yield from dict.fromkeys((secret, unquote(secret), quote(secret, safe="")))


Launch: TypeAlias = StdioLaunch | HttpLaunch


def _hidden(said: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        if len(secret) >= MIN_SECRET_LENGTH:
            said = said.replace(secret, REDACTED)
    return said
