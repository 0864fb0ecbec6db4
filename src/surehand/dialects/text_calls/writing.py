"""Calls, answers and tools as text, for hosts that write the prompt themselves instead of using a chat template.

What is written reads back as the same calls. So a value that holds the marks of its own form is not written as it is:
in JSON the marks' brackets are escaped, and where a form has no escapes (tags, Python's names of arguments) the call is
written as JSON between the same marks, which all of these models read. The arguments of a broken call are shown under
``_raw``, as every dialect shows them: models imitate what stands in their history.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from surehand.dialects.wire import clean, clean_text, sendable_arguments, sendable_name
from surehand.errors import OptionError
from surehand.messages import ToolCall, ToolMessage
from surehand.shapes import items_of, mapping_of

__all__ = ["WrittenForm", "write_text_answers", "write_text_calls", "write_tools"]

WrittenForm: TypeAlias = Literal["hermes", "qwen3-coder", "llama", "mistral", "pythonic"]
"""A form that is written too; ``TextCallForm`` has those that are read."""

_MARK: Final = re.compile(r"<\||<｜|</?(?:tool|function|parameter|think|s>)|\[/?(?:TOOL_|AVAILABLE_|INST)")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*+"')
_NAME: Final = re.compile(r"[^\W\d]\w*")
_CALL_NAME: Final = re.compile(r"[^\W\d][\w-]*")
_KEY: Final = re.compile(r"[^<>\n]{1,200}")
_MISTRAL_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")
_WORDS: Final = {True: "True", False: "False", None: "None"}

_Args: TypeAlias = dict[str, Any]
_Calls: TypeAlias = Sequence[tuple[str, _Args, str]]
"""Names, arguments and ids."""


def write_text_calls(calls: Sequence[ToolCall], *, form: WrittenForm = "hermes") -> str:
    """The calls of one turn as the model would write them; empty for none.

    Args:
        calls: As an ``AIMessage`` holds them, broken ones too.
        form: The form that the model is trained on.

    Raises:
        OptionError: There is no such form.
    """
    write = _of(form).calls
    sent = [(sendable_name(call["name"], {}), sendable_arguments(call), call["id"]) for call in calls]
    return write(sent) if sent else ""


def write_text_answers(answers: Sequence[ToolMessage], *, form: WrittenForm = "hermes") -> str:
    """The answers of one turn, in the order in which they are given.

    Hermes and Qwen read them as a message of the user, Llama as one of the role ``ipython`` for each answer, Mistral as
    they are. A text that holds marks is written as JSON with the marks escaped, so that no answer can end itself.

    Raises:
        OptionError: There is no such form.
    """
    write = _of(form).answer
    return "\n".join(write(answer) for answer in answers)


def write_tools(tools: Iterable[Mapping[str, Any]], *, form: WrittenForm = "hermes") -> str:
    """The tools, and how to call them: a part of the system's message.

    Args:
        tools: As ``tool.to_openai()`` gives them.
        form: The form that the model is trained on.

    Raises:
        OptionError: There is no such form.
    """
    write = _of(form).tools
    return write([dict(clean(tool)) for tool in tools])


def _of(form: WrittenForm) -> _Form:
    if form not in _FORMS:
        raise OptionError(option="form", value=form, expected=f"one of {', '.join(_FORMS)}")
    return _FORMS[form]


def _json(value: object) -> str:
    """JSON in which no string holds a mark."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _STRING.sub(_escaped, text) if _MARK.search(text) else text


def _escaped(string: re.Match[str]) -> str:
    return string.group().replace("<", "\\u003c").replace("[", "\\u005b")


def _hermes_call(name: str, args: _Args) -> str:
    return f"<tool_call>\n{_json({'name': name, 'arguments': args})}\n</tool_call>"


def _qwen_call(name: str, args: _Args) -> str:
    values = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for key, value in args.items()
    }
    if any(_MARK.search(value) for value in values.values()) or not all(map(_KEY.fullmatch, values)):
        return _hermes_call(name, args)
    parameters = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items())
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"


def _llama_call(name: str, args: _Args) -> str:
    return _json({"name": name, "parameters": args})


def _pythonic_calls(calls: _Calls) -> str:
    if not all(_CALL_NAME.fullmatch(name) and all(map(_NAME.fullmatch, args)) for name, args, _ in calls):
        return _json([{"name": name, "parameters": args} for name, args, _ in calls])
    written = [
        f"{name}({', '.join(f'{key}={_literal(value)}' for key, value in args.items())})" for name, args, _ in calls
    ]
    return f"[{', '.join(written)}]"


def _literal(value: object) -> str:
    """The value as Python writes it; strings are JSON's, whose escapes Python has too."""
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    fields = mapping_of(value)
    if fields:
        return f"{{{', '.join(f'{_json(key)}: {_literal(item)}' for key, item in fields.items())}}}"
    items = items_of(value)
    return f"[{', '.join(map(_literal, items))}]" if items else _json(value)


def _mistral_calls(calls: _Calls) -> str:
    entries = [{"name": name, "arguments": args, "id": _mistral_id(call_id)} for name, args, call_id in calls]
    return f"[TOOL_CALLS]{_json(entries)}"


def _mistral_id(call_id: str) -> str:
    """Mistral's templates take nine letters and digits."""
    if _MISTRAL_ID.fullmatch(call_id):
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:9]


def _text(answer: ToolMessage) -> str:
    text = clean_text(answer.text)
    return _json(text) if _MARK.search(text) else text


def _response(answer: ToolMessage) -> str:
    return f"<tool_response>\n{_text(answer)}\n</tool_response>"


def _mistral_answer(answer: ToolMessage) -> str:
    result = {"content": clean_text(answer.text), "call_id": _mistral_id(answer.tool_call_id)}
    return f"[TOOL_RESULTS]{_json(result)}[/TOOL_RESULTS]"


def _tagged_tools(tools: list[_Args], *, how: str) -> str:
    lines = "\n".join(map(_json, tools))
    return f"You can call these tools:\n<tools>\n{lines}\n</tools>\nWrite each call, and nothing behind it, as\n{how}"


def _listed_tools(tools: list[_Args], *, how: str) -> str:
    return f"You can call these tools:\n{_json(tools)}\nTo call some, write nothing else than\n{how}"


def _each(write: Callable[[str, _Args], str], between: str) -> Callable[[_Calls], str]:
    return lambda calls: between.join(write(name, args) for name, args, _ in calls)


@dataclass(frozen=True, slots=True)
class _Form:
    calls: Callable[[_Calls], str]
    answer: Callable[[ToolMessage], str]
    tools: Callable[[list[_Args]], str]


_HERMES_EXAMPLE: Final = '<tool_call>\n{"name": "…", "arguments": {"…": …}}\n</tool_call>'
_QWEN_EXAMPLE: Final = "<tool_call>\n<function=…>\n<parameter=…>\n…\n</parameter>\n</function>\n</tool_call>"

_FORMS: Final[Mapping[WrittenForm, _Form]] = {
    "hermes": _Form(_each(_hermes_call, "\n"), _response, partial(_tagged_tools, how=_HERMES_EXAMPLE)),
    "qwen3-coder": _Form(_each(_qwen_call, "\n"), _response, partial(_tagged_tools, how=_QWEN_EXAMPLE)),
    "llama": _Form(
        _each(_llama_call, "; "), _text, partial(_listed_tools, how='{"name": "…", "parameters": {"…": …}}')
    ),
    "mistral": _Form(
        _mistral_calls, _mistral_answer, lambda tools: f"[AVAILABLE_TOOLS]{_json(tools)}[/AVAILABLE_TOOLS]"
    ),
    "pythonic": _Form(_pythonic_calls, _text, partial(_listed_tools, how="[name(argument=…, …), …]")),
}
