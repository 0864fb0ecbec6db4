"""What the options of a model behind a provider have to be; refused when the model is made, not when it is asked."""

from __future__ import annotations

from surehand.errors import OptionError
from surehand.policy import seconds_or_none, text

__all__ = ["check_client"]


def check_client(model: object, *, temperature: object, timeout: object, max_retries: object, base_url: object) -> None:
    """Refuse options that no provider can take.

    Raises:
        OptionError: One of them cannot be meant.
    """
    text("model", model)
    if temperature is not None and (not isinstance(temperature, int | float) or not 0 <= temperature < float("inf")):
        raise OptionError(option="temperature", value=temperature, expected="a number of at least 0, or None")
    seconds_or_none("timeout", timeout)
    if not isinstance(max_retries, int) or isinstance(max_retries, bool) or max_retries < 0:
        raise OptionError(option="max_retries", value=max_retries, expected="a whole number of at least 0")
    if base_url is not None and not text("base_url", base_url).startswith(("http://", "https://")):
        raise OptionError(
            option="base_url",
            value=base_url,
            expected="an address such as 'https://host/v1'",
            remedy="Give its scheme.",
        )
