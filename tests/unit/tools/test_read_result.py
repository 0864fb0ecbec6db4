"""read_tool_result: what a model reads of a result that was too long for it."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from surehand.calls import ResultShelf
from surehand.errors import ToolDefinitionError
from surehand.messages import AIMessage, ToolMessage
from surehand.nodes import ToolNode
from surehand.outcomes import FailureKind
from surehand.tools import result_reader, tool

TEXT = "".join(f"line {number}\n" for number in range(20_000))


@tool
def read_log() -> str:
    """Read the log."""
    return TEXT


class Conversation:
    """A node with a shelf, and the conversation it is called in."""

    def __init__(self, shelf: ResultShelf | None = None, *, thread_id: str = "t", **options: Any) -> None:
        self.shelf = ResultShelf() if shelf is None else shelf
        self.thread_id = thread_id
        self.node = ToolNode([read_log], shelf=self.shelf, **options)

    def call(self, name: str, **args: Any) -> ToolMessage:
        """The answer to one call."""
        message = AIMessage(tool_calls=[{"id": "c1", "name": name, "args": args}])
        [answer] = self.node.invoke([message], {"configurable": {"thread_id": self.thread_id}})
        assert isinstance(answer, ToolMessage)
        return answer

    def long_result(self) -> str:
        """The handle that the notice of a long result names."""
        found = re.search(r'read_tool_result\(handle="([\w-]{22})", offset=\d+\)', self.call("read_log").text)
        assert found is not None
        return found[1]

    def read(self, handle: str, **args: Any) -> ToolMessage:
        return self.call("read_tool_result", handle=handle, **args)


def test_the_notice_leads_on_to_where_the_head_ends() -> None:
    conversation = Conversation()
    cut = conversation.call("read_log").text
    found = re.search(r'handle="([\w-]+)", offset=(\d+)', cut)
    assert found is not None
    read = conversation.read(found[1], offset=int(found[2]), limit=100).text
    assert read.startswith(TEXT[int(found[2]) : int(found[2]) + 100])


def test_read_step_by_step_the_result_is_whole() -> None:
    conversation = Conversation()
    handle, text, offset = conversation.long_result(), "", 0
    while True:
        piece, _, where = conversation.read(handle, offset=offset, limit=20_000).text.rpartition("\n\n[characters ")
        text += piece
        on = re.search(r"offset=(\d+)\)", where)
        if on is None:
            break
        offset = int(on[1])
    assert text == TEXT


def test_a_piece_says_where_it_is_and_how_to_read_on() -> None:
    conversation = Conversation()
    handle = conversation.long_result()
    on = f'read_tool_result(handle="{handle}", offset=14)'
    assert conversation.read(handle, limit=14).text == (
        f"line 0\nline 1\n\n\n[characters 0 to 14 of 208,890; to read on: {on}]"
    )


def test_the_last_piece_says_that_it_is() -> None:
    conversation = Conversation()
    assert conversation.read(conversation.long_result(), offset=208_879).text.endswith(
        "line 19999\n\n\n[characters 208,879 to 208,890 of 208,890, the end]"
    )


def test_beyond_the_end_is_told_with_where_it_is() -> None:
    conversation = Conversation()
    answer = conversation.read(conversation.long_result(), offset=300_000)
    assert answer.text == "The result ends at character 208,890: there is nothing from offset 300,000 on."


def test_more_than_20_000_characters_are_not_read_at_a_time() -> None:
    conversation = Conversation()
    answer = conversation.read(conversation.long_result(), limit=1_000_000)
    assert "[characters 0 to 20,000 of 208,890;" in answer.text


# -- searching -------------------------------------------------------------------------------------------------------


def test_places_are_shown_with_their_offsets_and_surroundings() -> None:
    conversation = Conversation()
    answer = conversation.read(conversation.long_result(), contains="line 12345\n")
    at = TEXT.index("line 12345\n")
    assert answer.text == (
        f"1 place with 'line 12345\\n':\n\n"
        f"[found at {at:,}; characters {at - 200:,} to {at + 211:,}]\n{TEXT[at - 200 : at + 211]}"
    )


def test_a_search_with_many_places_says_how_to_see_the_next_ones() -> None:
    conversation = Conversation()
    handle = conversation.long_result()
    answer = conversation.read(handle, contains="00\n", limit=1_000).text
    assert re.match(r"The first \d of 199 places with '00\\n':", answer)
    on = re.search(r"\[to see the next ones: the same call with offset=(\d+)]$", answer)
    assert on is not None
    assert conversation.read(handle, contains="00\n", offset=int(on[1])).text != answer


def test_a_passage_full_of_places_lists_the_first_of_them() -> None:
    conversation = Conversation()
    answer = conversation.read(conversation.long_result(), contains="line", limit=1_000).text
    assert re.search(r"\[found at 0, 7, 14, 21, 28 and \d+ more; characters 0 to", answer)


def test_what_does_not_stand_there_is_told() -> None:
    conversation = Conversation()
    answer = conversation.read(conversation.long_result(), contains="LINE 1")
    assert answer.status == "success"
    assert answer.text.startswith("'LINE 1' does not stand in the result from character 0 on (it has 208,890).")
    assert "literal" in answer.text


# -- handles ---------------------------------------------------------------------------------------------------------


def test_a_misspelt_handle_is_told_with_those_that_can_be_read() -> None:
    conversation = Conversation()
    handle = conversation.long_result()
    answer = conversation.read(handle[:-1])
    assert answer.outcome is not None
    assert answer.outcome.kind is FailureKind.INVALID_ARGUMENTS
    assert f"Readable are: {handle}." in answer.text


def test_the_handle_of_another_conversation_opens_nothing_and_none_is_named() -> None:
    shelf = ResultShelf()
    handle = Conversation(shelf, thread_id="mine").long_result()
    answer = Conversation(shelf, thread_id="yours").read(handle)
    assert answer.status == "error"
    assert "Call the tool again whose result you need." in answer.text
    assert "Readable" not in answer.text


def test_where_no_conversation_is_named_no_handle_is_given_away() -> None:
    conversation = Conversation(thread_id="")
    handle = conversation.long_result()
    assert conversation.read(handle).status == "success"
    assert handle not in conversation.read("x" * 22).text


def test_an_expired_handle_is_told() -> None:
    shelf = ResultShelf(max_results=1)
    conversation = Conversation(shelf)
    handle = conversation.long_result()
    shelf.put("t", "another")
    assert "was dropped" in conversation.read(handle).text


def test_a_wrong_handle_is_the_models_fault_and_never_raised() -> None:
    assert Conversation(handle_tool_errors=False).read("x").status == "error"


@pytest.mark.parametrize("args", [{"offset": -1}, {"limit": 0}, {"offset": "far"}])
def test_arguments_that_cannot_be_meant_are_named(args: dict[str, Any]) -> None:
    conversation = Conversation()
    answer = conversation.read(conversation.long_result(), **args)
    assert answer.status == "error"
    assert f"$.{next(iter(args))}" in answer.text


# -- the tool --------------------------------------------------------------------------------------------------------


def test_what_was_read_is_not_put_on_the_shelf_again() -> None:
    conversation = Conversation(max_output=500, max_turn_output=400)
    handle = conversation.long_result()
    answer = conversation.read(handle, limit=5_000)
    assert len(answer.text) <= 400
    assert "Ask for a smaller part" in answer.text
    assert conversation.shelf.handles("t") == [handle]


def test_the_limit_of_other_results_does_not_cut_what_is_read() -> None:
    conversation = Conversation(max_output=500)
    assert len(conversation.read(conversation.long_result(), limit=5_000).text) > 5_000


def test_no_approval_is_asked_for_reading() -> None:
    shelf = ResultShelf()
    handle = Conversation(shelf).long_result()
    assert Conversation(shelf, requires_approval=True).read(handle).status == "success"


def test_it_may_run_twice_and_changes_nothing() -> None:
    options = result_reader(ResultShelf()).spec.options
    assert (options.read_only, options.idempotent, options.destructive) == (True, True, False)


def test_the_model_sees_four_arguments_of_which_one_is_needed() -> None:
    function = result_reader(ResultShelf()).to_openai()["function"]
    assert function["name"] == "read_tool_result"
    assert list(function["parameters"]["properties"]) == ["handle", "offset", "limit", "contains"]
    assert function["parameters"]["required"] == ["handle"]


def test_both_doors_read_alike() -> None:
    conversation = Conversation()
    handle = conversation.long_result()
    message = AIMessage(tool_calls=[{"id": "c1", "name": "read_tool_result", "args": {"handle": handle}}])
    [answer] = asyncio.run(conversation.node.ainvoke([message], {"configurable": {"thread_id": "t"}}))
    assert answer.content == conversation.read(handle).content


def test_a_tool_of_the_hosts_by_that_name_is_refused_beside_a_shelf() -> None:
    @tool
    def read_tool_result() -> str:
        """Read something else."""
        return ""

    with pytest.raises(ToolDefinitionError, match="two tools have this name"):
        ToolNode([read_tool_result], shelf=ResultShelf())


def test_without_a_shelf_there_is_no_such_tool() -> None:
    answer = ToolNode([read_log]).invoke([AIMessage(tool_calls=[{"id": "1", "name": "read_tool_result", "args": {}}])])
    assert answer[0].outcome.kind is FailureKind.UNKNOWN_TOOL
