"""Arguments that are text inside: what users of other libraries reported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from support.arguments import delivered, valid, values
from surehand.arguments import parse_arguments


def test_PARSE_07_an_object_that_is_encoded_twice_is_unwrapped() -> None:
    assert parse_arguments(json.dumps(json.dumps({"code": "x", "lang": "py"}))).value == {"code": "x", "lang": "py"}


def test_PARSE_08_text_never_becomes_the_first_parameter() -> None:
    def weather(location: str, celsius: bool = False) -> tuple[str, bool]:  # noqa: FBT001, FBT002 - what users write
        return location, celsius

    arguments = parse_arguments('{"location": "Paris", "celsius": true}').value

    assert delivered(weather, arguments) == ("Paris", True)


@pytest.mark.parametrize("raw", [{"x": 1}, '{"x": 1}', b'{"x": 1}'])
def test_PARSE_09_arguments_may_be_a_mapping_or_text(raw: Any) -> None:
    assert parse_arguments(raw).value == {"x": 1}


class Cmd(BaseModel):
    kind: str
    path: str


@pytest.mark.parametrize("text", ['{"kind":"view","path":"/a"}', "{'kind': 'view', 'path': '/a'}"])
def test_PARSE_10_text_for_a_declared_object_is_decoded_once(text: str) -> None:
    def tool(cmd: Cmd) -> Cmd:
        return cmd

    assert delivered(tool, {"cmd": text}) == Cmd(kind="view", path="/a")
    assert valid(tool, {"cmd": text}).repairs == ("read the text at $.cmd as an object",)


def test_PARSE_12_a_declared_text_is_never_decoded() -> None:
    def write(path: str, content: str) -> None: ...

    assert values(write, {"path": "p", "content": '{"k": 1}'})["content"] == '{"k": 1}'


def test_PARSE_12_a_text_that_may_be_text_is_never_decoded() -> None:
    def write(content: str | dict[str, int] | list[int]) -> None: ...

    assert values(write, {"content": '{"k": 1}'}) == {"content": '{"k": 1}'}
