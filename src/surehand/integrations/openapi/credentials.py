"""What proves who asks: filled in by the host, never shown to a model, and cleaned out of what comes back."""

from __future__ import annotations

import base64
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from surehand.calls.redaction.names import is_secret_name
from surehand.errors import OptionError
from surehand.integrations.openapi.document import Document
from surehand.integrations.openapi.operations import Operation
from surehand.shapes import is_pair, mapping_of
from surehand.wording import did_you_mean

__all__ = ["Credential", "Credentials", "Proof"]

Credential: TypeAlias = str | tuple[str, str] | Callable[[], str | Awaitable[str]]
"""A key or token; name and password for ``basic``; or a function, sync or async, that gives what is valid now."""

_SHORTEST: Final = 6
"""Characters of a secret from which on it is recognised in what a server sends back; shorter ones are in any text."""
_HIDDEN: Final = "[redacted]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What is added to one request."""

    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    query: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    cookies: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """What has to stay hidden, the longest first."""

    def hidden_in(self, text: str) -> str:
        """The text without the secrets."""
        for secret in self.secrets:
            text = text.replace(secret, _HIDDEN)
        return text


class Credentials:
    """The credentials of a document's security schemes.

    Args:
        document: Where the schemes are declared.
        given: Name of a scheme -> its credential.
        headers: Go with every request.

    Raises:
        OptionError: A name is no scheme of the document's, or its credential is not of the scheme's kind.
    """

    def __init__(self, document: Document, given: Mapping[str, Credential], headers: Mapping[str, str]) -> None:
        components = document.followed(document.root.get("components"))
        self._schemes = {
            name: document.followed(scheme) for name, scheme in mapping_of(components.get("securitySchemes")).items()
        }
        self._given = dict(given)
        self._headers = dict(headers)
        for name, credential in given.items():
            self._check(name, credential)

    async def proof(self, operation: Operation) -> Proof:
        """What is added to a request of the operation."""
        headers, query, cookies = dict(self._headers), dict[str, str](), dict[str, str]()
        secrets = [value for name, value in self._headers.items() if is_secret_name(name.lower())]
        secrets += [value.partition(" ")[2] for value in secrets if " " in value]
        for name in self._schemes_for(operation):
            value = await self._value(name)
            scheme = self._schemes[name]
            if scheme.get("type") == "apiKey":
                places = {"header": headers, "query": query, "cookie": cookies}
                places.get(str(scheme.get("in")), headers)[str(scheme.get("name"))] = value
                secrets.append(value)
            elif is_pair(value):
                encoded = base64.b64encode(":".join(value).encode()).decode()
                headers["Authorization"] = f"Basic {encoded}"
                secrets += [encoded, value[1]]
            else:
                headers["Authorization"] = f"Bearer {value}"
                secrets.append(value)
        longest_first = sorted({secret for secret in secrets if len(secret) >= _SHORTEST}, key=len, reverse=True)
        return Proof(headers=headers, query=query, cookies=cookies, secrets=tuple(longest_first))

    def names_in_arguments(self, operation: Operation) -> frozenset[tuple[str, str]]:
        """Place and name of what the host fills in for the operation, so that the model is not asked for it."""
        schemes = [self._schemes[name] for name in self._schemes_for(operation)]
        keys = {(str(one.get("in")), str(one.get("name")).lower()) for one in schemes if one.get("type") == "apiKey"}
        return frozenset(keys | {("header", name.lower()) for name in self._headers})

    def _schemes_for(self, operation: Operation) -> Sequence[str]:
        """The first alternative that the host has all credentials of; none where there is none."""
        return next((list(one) for one in operation.security if one.keys() <= self._given.keys()), list[str]())

    async def _value(self, name: str) -> Any:
        given: Any = self._given[name]
        if callable(given):
            given = given()
            if inspect.isawaitable(given):
                given = await given
        if not all(isinstance(part, str) and part.isprintable() for part in (given if is_pair(given) else [given])):
            raise OptionError(  # what the client would say of it holds the value
                option=f"auth[{name!r}]", value="the given one", expected="a text without line breaks"
            )
        return given

    def _check(self, name: str, credential: Credential) -> None:
        if name not in self._schemes:
            known = ", ".join(self._schemes) or "none"
            raise OptionError(
                option="auth",
                value=name,
                expected=f"the name of a security scheme of the document: {known}",
                remedy=did_you_mean(name, self._schemes).lstrip(),
            )
        scheme = self._schemes[name]
        is_basic = scheme.get("type") == "http" and str(scheme.get("scheme")).lower() == "basic"
        if isinstance(credential, tuple) != is_basic and not callable(credential):
            expected = "a pair of name and password" if is_basic else "a text"
            raise OptionError(option=f"auth[{name!r}]", value="the given one", expected=f"{expected}, or a function")
