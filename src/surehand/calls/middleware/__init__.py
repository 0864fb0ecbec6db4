"""What the host puts around a call, and the middlewares that come with Surehand."""

from surehand.calls.middleware.protocol import (
    AsyncRun,
    Middleware,
    Run,
    ToolCallMiddleware,
    ToolCallRequest,
    as_middleware,
    same_call,
)
from surehand.calls.middleware.result_cache import ResultCache
from surehand.calls.middleware.single_flight import SingleFlight

__all__ = [
    "AsyncRun",
    "Middleware",
    "ResultCache",
    "Run",
    "SingleFlight",
    "ToolCallMiddleware",
    "ToolCallRequest",
    "as_middleware",
    "same_call",
]
