"""How a provider's SDK reaches its provider, apart from key and address."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Connection"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The options of an SDK's client; models whose options are equal share one."""

    timeout: float | None
    """Seconds to wait for the provider: to connect, and for each next part of an answer; None for no limit."""
    max_retries: int
    """How often a request is sent again after a broken connection, a rate limit or a server's failure."""
    client_options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further arguments of the SDK's client."""

    def arguments(self) -> dict[str, Any]:
        """What the SDK's client is built with, besides key and address."""
        return {"timeout": self.timeout, "max_retries": self.max_retries, **self.client_options}

    def key(self, *found: Hashable) -> Hashable:
        """What tells two clients apart: these options, and what was found elsewhere when it was asked for."""
        # By their text: headers and HTTP clients cannot be hashed, and a client too many does no harm.
        options = tuple(sorted((name, repr(value)) for name, value in self.client_options.items()))
        return (*found, self.timeout, self.max_retries, options)
