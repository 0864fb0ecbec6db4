"""Our tools behind the SDK's server, with its client in the same process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.mcp.in_process import served, text_of
from support.mcp.runs import Log, faulty, until
from surehand import ToolContext, tool
from surehand.events import Event


@tool
def first() -> str:
    "The first one."
    return "1"


@tool("the second!")
def second() -> str:
    "The second one."
    return "2"


def test_names_are_made_legal_and_found_again() -> None:
    async def main() -> None:
        async with served([first, second]) as client:
            names = [known.name for known in (await client.list_tools()).tools]
            assert (names, client.instructions) == (["first", "the_second"], "Be brief.")
            assert text_of(await client.call_tool("the_second", {})) == "2"

    asyncio.run(main())


def test_clients_hear_of_tools_that_change() -> None:
    offered: list[Any] = [first]

    @tool
    def more() -> str:
        "Have another tool from now on."
        offered.append(second)
        return "more"

    offered.append(more)

    def offer(_: object) -> list[Any]:
        return list(offered)

    async def main() -> None:
        async with served(offer) as client:
            assert len((await client.list_tools()).tools) == 2
            async with client.listen(tools_list_changed=True) as changes:
                await client.call_tool("more", {})
                async with asyncio.timeout(5):
                    await anext(aiter(changes))
            assert len((await client.list_tools(cache_mode="bypass")).tools) == 3

    asyncio.run(main())


def test_progress_of_any_kind_only_grows() -> None:
    told: list[tuple[float, float | None, str | None]] = []

    @tool
    def work(ctx: ToolContext) -> str:
        "Report in all ways."
        for report in ("starting", 3, 2, {"progress": 4, "total": 8}, {"rows": 1}):
            ctx.progress(report)
        return "done"

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async def main() -> None:
        async with served([work]) as client:
            await client.call_tool("work", {}, progress_callback=tell)

    asyncio.run(main())
    numbers = [progress for progress, _, _ in told]
    assert numbers == sorted(set(numbers))
    assert [(total, message) for _, total, message in told] == [
        (None, "starting"),
        (None, None),
        (None, None),
        (8, None),
        (None, '{"rows": 1}'),
    ]


def test_a_host_may_listen_and_decide_himself() -> None:
    events: list[Event] = []

    @tool(requires_approval=True)
    def wipe() -> str:
        "Wipe."
        return "wiped"

    def decide(name: str, arguments: Any) -> str:
        return "Not on Sundays."

    async def main() -> None:
        async with served([wipe], listener=events.append, approve=decide) as client:
            refused = await client.call_tool("wipe", {})
            assert (refused.is_error, text_of(refused)) == (True, "The call was not executed. Not on Sundays.")

    asyncio.run(main())
    assert events


def test_what_the_hosts_rules_let_out_is_answered_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    def fail() -> str:
        "Fail."
        raise RuntimeError("password=hunter2hunter2")

    async def main() -> None:
        async with served([fail], handle_tool_errors=False) as client:
            told = await client.call_tool("fail", {})
            assert (told.is_error, "a fault in the application" in text_of(told)) == (True, True)

    asyncio.run(main())
    assert "was not answered by its node" in caplog.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_of_another_server_are_handed_on_with_their_data_and_errors(mode: str, tmp_path: Path) -> None:
    log = Log(tmp_path / "log")

    async def main() -> None:
        async with faulty("--log", log.path) as other, served(other, mode=mode) as client:
            assert (await client.list_tools()).tools[-2].output_schema is None
            found = await client.call_tool("no_text", {})
            assert (text_of(found), found.structured_content) == ('{"n": 1}', {"n": 1})
            broken = await client.call_tool("undeclared_form", {})
            assert (broken.is_error, text_of(broken), broken.structured_content) == (False, "fine", {"n": "many"})
            kinds = [block.type for block in (await client.call_tool("blocks", {})).content]
            assert kinds == ["text", "image", "audio", "text", "text", "image", "text"]
            busy = await client.call_tool("busy", {})
            assert (busy.is_error, text_of(busy), busy.structured_content) == (True, "Too many requests.", None)
            refused = await client.call_tool("refuse", {"code": -32602})
            assert (refused.is_error, "refused the arguments" in text_of(refused)) == (True, True)

    asyncio.run(main())


def test_a_call_that_is_cancelled_is_cancelled_at_the_server_behind(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")

    async def main() -> None:
        async with faulty("--log", log.path) as other, served(other) as client:
            call = asyncio.create_task(client.call_tool("slow", {"seconds": 60}))
            await asyncio.to_thread(until, lambda: bool(log.messages("tools/call")))
            call.cancel()
            await asyncio.wait([call])
            await asyncio.to_thread(until, lambda: bool(log.messages("notifications/cancelled")))

    asyncio.run(main())
