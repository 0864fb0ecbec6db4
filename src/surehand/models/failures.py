"""The one place where what goes wrong inside an SDK becomes a ModelError.

The SDKs of OpenAI and Anthropic come from the same generator: their exceptions have the same names and fields. Those of
Google's have others. All are told apart by these, so that no package has to be imported to read an error of another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

from surehand.errors import ModelError, shown
from surehand.messages import AIMessage
from surehand.shapes import mapping_of
from surehand.wording import clipped

__all__ = [
    "MAX_MESSAGE",
    "Address",
    "as_model_errors",
    "bad_reply",
    "broken_reply",
    "checked_json",
    "failed_reply",
    "late_reply",
    "missing_key",
    "sdk_failure",
]

MAX_MESSAGE: Final = 500
"""Characters of a provider's own error text that are repeated."""
_FIRST_ERROR: Final = 400
"""The first HTTP status that is an error."""
_TRANSPORTS: Final = frozenset({"aiohttp", "httpcore", "httpcore2", "httpx", "httpx2"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Whom a request went to, in the words an error needs."""

    model: str
    provider: str
    key_variable: str
    """The environment variable that holds the key."""
    url: str


@contextmanager
def as_model_errors(
    sdk_error: type[Exception] | tuple[type[Exception], ...], address: Callable[[], Address]
) -> Generator[None]:
    """What goes wrong inside, in the SDK or below it, leaves as a ModelError; anything else as it is.

    Args:
        sdk_error: The root of the SDK's own exceptions, or several.
        address: Whom the request went to, asked for when something went wrong.
    """
    try:
        yield
    except sdk_error as error:
        raise sdk_failure(error, address()) from error
    except json.JSONDecodeError as error:  # the SDKs let it out where a body is no JSON
        raise bad_reply(address(), error.doc, "broken JSON") from error
    except UnicodeDecodeError as error:  # this, too
        raise bad_reply(address(), error.object, "bytes that are no text") from error
    except RecursionError as error:  # this, too
        raise bad_reply(address(), "", "JSON that is nested too deeply") from error
    except Exception as error:  # the HTTP library's own, which the SDKs let out while a stream is read
        if not is_transport_error(error):
            raise
        raise sdk_failure(error, address()) from error


def checked_json(payload: object, address: Callable[[], Address], *, reason: str) -> dict[str, Any]:
    """The payload, if it is a JSON object.

    Raises:
        ModelError: It is none, for the reason given.
    """
    if not isinstance(payload, dict):
        raise bad_reply(address(), payload, reason)
    return cast("dict[str, Any]", payload)


def missing_key(address: Address) -> ModelError:
    """Nobody gave a key."""
    return ModelError(
        model=address.model,
        problem=f"no API key for {address.provider}",
        remedy=f"Set the environment variable {address.key_variable}, or pass api_key=….",
    )


def bad_reply(address: Address, payload: object, reason: str) -> ModelError:
    """The provider answered with something that is no reply."""
    return ModelError(
        model=address.model,
        problem=f"{address.url} answered with {reason}: {shown(payload, 200)}",
        remedy=f"Check that base_url names the API of {address.provider}, its version included.",
    )


def late_reply(address: Address) -> ModelError:
    """The provider did not answer in time."""
    problem, remedy = _late(address)
    return ModelError(model=address.model, problem=problem, remedy=remedy)


def _late(address: Address) -> tuple[str, str]:
    return f"{address.url} did not answer in time", "Raise timeout=…, or ask for a shorter answer."


def failed_reply(address: Address, error: object) -> ModelError:
    """The provider accepted the request, and said later that it failed."""
    fields = mapping_of(error)
    said = fields.get("message") or fields.get("code") or error
    return ModelError(
        model=address.model,
        problem=f"{address.provider} failed: {clipped(str(said or 'without a reason'), MAX_MESSAGE)}",
        remedy="Try again later, or read the provider's words above.",
    )


def broken_reply(address: Address, reply: AIMessage) -> ModelError:
    """What came is not all of a reply: the provider says that it failed, or the stream ended early without a word."""
    if error := reply.response_metadata.get("error"):
        return failed_reply(address, error)
    how = "the stream ended" if reply.finish_reason is None else "the provider gave up"
    return ModelError(
        model=address.model,
        problem=f"{how} before the reply of {address.url} was complete",
        remedy="Ask again; if it goes on, look at the server, and at what stands between it and you.",
    )


def is_transport_error(error: Exception) -> bool:
    """Whether an exception comes from the HTTP library below an SDK, which does not translate all of them."""
    return any(cls.__module__.partition(".")[0] in _TRANSPORTS for cls in type(error).__mro__)


def sdk_failure(error: Exception, address: Address) -> ModelError:
    """What an exception of an SDK means, with the remedy."""
    names = {cls.__name__ for cls in type(error).__mro__}
    status = _status(error)
    if status is not None and status < _FIRST_ERROR:  # an error in a stream that had begun well
        return failed_reply(address, _said(error))
    if status is not None:
        problem, remedy = _of_status(status, _said(error), address)
    elif names & {"APITimeoutError", "TimeoutException"}:
        problem, remedy = _late(address)
    elif is_transport_error(error):
        problem = f"the connection to {address.url} broke ({type(error).__name__}: {error})"
        remedy = "Try again; if it goes on, look at the network and the server."
    elif "APIConnectionError" in names:
        cause = error.__cause__ or error
        problem = f"{address.url} cannot be reached ({type(cause).__name__}: {cause})"
        remedy = "Check base_url and the network; a local server has to be running."
    else:
        problem, remedy = f"the request failed: {_said(error)}", "Read the provider's words above."
    failure = ModelError(model=address.model, problem=problem, remedy=remedy)
    failure.status_code = status
    return failure


def _status(error: Exception) -> int | None:
    """The HTTP status that the exception tells of; OpenAI's have a ``code`` that is a word."""
    found = [getattr(error, name, None) for name in ("status_code", "code")]
    return next((status for status in found if isinstance(status, int)), None)


def _of_status(status: int, said: str, address: Address) -> tuple[str, str]:
    told = f"HTTP {status}: {said}"
    match status:
        case 401 | 403:
            return f"{address.provider} refused the key ({told})", f"Check {address.key_variable} or api_key=…."
        case 404:
            return f"{address.url} knows no such model or path ({told})", "Check the model's name and base_url."
        case 429:
            return f"{address.provider} limits the rate ({told})", "Wait, send less, or raise max_retries=…."
        case _ if status >= 500:  # noqa: PLR2004 - HTTP's own boundary
            return f"{address.provider} failed ({told})", "Try again later, or raise max_retries=…."
        case _:
            return f"{address.provider} refused the request ({told})", "Correct what the provider names."


def _said(error: Exception) -> str:
    """The provider's own words, bounded."""
    body: Any = getattr(error, "body", None) or getattr(error, "details", None)
    for _ in range(2):  # OpenAI unwraps `error` itself, Anthropic and Google do not
        if isinstance(body, Mapping):
            inner = cast("Mapping[str, Any]", body)
            body = inner.get("error", inner.get("message"))
    text = body if isinstance(body, str) and body else str(error) or type(error).__name__
    return clipped(text, MAX_MESSAGE)
