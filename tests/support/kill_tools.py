"""What the programs that are killed do: tools that must not run twice, that may, and of which it can be found out."""

from __future__ import annotations

import asyncio
import time

from support.kill_orders import Ledger
from surehand import DidNotHappen, DoubtfulCall, Happened, RetryPolicy, ToolContext, ToolException, tool
from surehand.tools import BaseTool

__all__ = ["tools_of"]


class Hands:
    """What the bodies of the tools do to the world, which is the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def do(self, n: int, ctx: ToolContext) -> str:
        """Have an effect, and take a moment for it."""
        self._begin(n, ctx)
        time.sleep(n % 3 / 1000)
        return self._end(n, ctx)

    async def ado(self, n: int, ctx: ToolContext) -> str:
        """``do``, awaited."""
        self._begin(n, ctx)
        await asyncio.sleep(n % 3 / 1000)
        return self._end(n, ctx)

    def find_out(self, call: DoubtfulCall) -> Happened | DidNotHappen:
        """Whether the effect of a call happened before this process was started."""
        is_done = self._ledger.has("effect", call.idempotency_key)
        self._ledger.write("found out", key=call.idempotency_key, n=call.arguments["n"], is_done=is_done)
        return Happened(f"{call.tool_name} {call.arguments['n']} done") if is_done else DidNotHappen()

    async def afind_out(self, call: DoubtfulCall) -> Happened | DidNotHappen:
        """``find_out``, awaited."""
        return self.find_out(call)

    def _begin(self, n: int, ctx: ToolContext) -> None:
        self._ledger.write("begin", key=ctx.idempotency_key, n=n)
        self._ledger.pass_by("mid-effect")

    def _end(self, n: int, ctx: ToolContext) -> str:
        self._ledger.write("effect", is_forced=True, key=ctx.idempotency_key, n=n)
        self._ledger.pass_by("mid-effect")
        return f"{ctx.tool_name} {n} done"


def tools_of(ledger: Ledger, *, asks: bool) -> list[BaseTool]:
    """One tool for each kind of call; some of which may have to be approved."""
    hands = Hands(ledger)
    return [*_that_run_once(hands, asks=asks), *_that_may_run_twice(hands), *_that_can_be_found_out(hands, asks=asks)]


def _that_run_once(hands: Hands, *, asks: bool) -> list[BaseTool]:
    @tool(requires_approval=asks)
    def charge(n: int, ctx: ToolContext) -> str:
        """Have an effect that must not happen twice."""
        return hands.do(n, ctx)

    @tool
    async def send(n: int, ctx: ToolContext) -> str:
        """Have an effect that must not happen twice, awaited."""
        return await hands.ado(n, ctx)

    @tool
    def bounce(n: int, ctx: ToolContext) -> str:
        """Have an effect that must not happen twice, and fail after it."""
        raise ValueError(hands.do(n, ctx))

    return [charge, send, bounce]


def _that_may_run_twice(hands: Hands) -> list[BaseTool]:
    @tool(idempotent=True)
    def put(n: int, ctx: ToolContext) -> str:
        """Have an effect that is the same when it happens twice."""
        return hands.do(n, ctx)

    @tool(idempotent=True, retry=RetryPolicy(initial_interval=0.001))
    async def aput(n: int, ctx: ToolContext) -> str:
        """Fail once, then have an effect that is the same when it happens twice."""
        if ctx.attempt == 1:
            raise ToolException("busy", retryable=True)
        return await hands.ado(n, ctx)

    @tool(read_only=True)
    def look(n: int, ctx: ToolContext) -> str:
        """Change nothing."""
        return hands.do(n, ctx)

    @tool(read_only=True)
    async def peek(n: int, ctx: ToolContext) -> str:
        """Change nothing, awaited."""
        return await hands.ado(n, ctx)

    return [put, aput, look, peek]


def _that_can_be_found_out(hands: Hands, *, asks: bool) -> list[BaseTool]:
    @tool(reconcile=hands.find_out)
    def book(n: int, ctx: ToolContext) -> str:
        """Have an effect that must not happen twice, and can be found out."""
        return hands.do(n, ctx)

    @tool(reconcile=hands.afind_out, requires_approval=asks)
    async def transfer(n: int, ctx: ToolContext) -> str:
        """Have an effect that must not happen twice, and can be found out, awaited."""
        return await hands.ado(n, ctx)

    return [book, transfer]
