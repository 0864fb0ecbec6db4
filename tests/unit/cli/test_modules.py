from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.command import surehand


def names(out: str) -> list[str]:
    """The titles of a listing: lines that are not indented."""
    return [line for line in out.splitlines() if line and not line.startswith(" ")]


def test_a_file_is_loaded_by_its_path(shop: str) -> None:
    assert names(surehand("tools", shop).out) == ["find_order", "greet"]


def test_a_module_is_loaded_by_its_name_from_the_working_directory(shop: str) -> None:
    assert names(surehand("tools", "shop").out) == ["find_order", "greet"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("find_order", ["find_order"]),
        ("CountWords", ["count_words"]),
        ("double", ["double"]),
        ("more", ["double", "greet"]),
    ],
)
def test_a_name_chooses_a_tool_a_class_a_function_or_a_list(shop: str, name: str, found: list[str]) -> None:
    assert names(surehand("tools", f"{shop}:{name}").out) == found


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nowhere.py", "There is no file 'nowhere.py'"),
        ("no_such_module", "There is no module 'no_such_module'"),
        ("", "'' is neither a module nor a Python file"),
        (".", "'.' is neither a module nor a Python file"),
        ("/", "'/' is neither a module nor a Python file"),
        ("notes.txt", "'notes.txt' is neither a module nor a Python file"),
        ("shop:find_orders", "Did you mean 'find_order'?"),
        ("shop:xyzzy", "Its tools are: find_order, greet"),
        ("shop:NOTHING", "has no tool 'NOTHING'"),
    ],
)
def test_what_cannot_be_found_is_said_in_one_line(shop: str, target: str, said: str) -> None:
    Path(shop).with_name("notes.txt").write_text("x = 1", encoding="utf-8")
    ended = surehand("tools", target)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("def broken(:", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("x = 1", "holds no tools"),
        ("x = '\0'", "null bytes"),
        ("from surehand import BaseTool\nclass A(BaseTool):\n    pass\na = A()", "neither _run nor _arun"),
    ],
)
def test_a_module_that_cannot_be_used_is_refused_with_the_reason(shop: str, source: str, said: str) -> None:
    path = Path(shop).with_name("broken.py")
    path.write_text(source, encoding="utf-8")
    ended = surehand("tools", str(path))
    assert ended.code == 2
    assert said in ended.err
    assert ended.out == ""
    assert "Traceback" not in ended.err


def test_tools_of_langchains_are_found_as_ours_are(shop: str) -> None:
    path = Path(shop).with_name("chained.py")
    source = """
from langchain_core.tools import BaseTool, InjectedToolArg, tool
from shop import greet

@tool
def add(a: int, b: int) -> int:
    '''Add two numbers.'''
    return a + b

both, marked = [add, greet], InjectedToolArg()
"""
    path.write_text(source, encoding="utf-8")
    for target in (str(path), f"{path}:both"):
        assert sorted(names(surehand("tools", target).out)) == ["add", "greet"]
    assert surehand("call", f"{path}:add", '{"a": "1", "b": 2}').out.strip() == "3"


def test_a_file_may_import_its_neighbours(shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = Path(shop).with_name("beside.py")
    beside.write_text("from shop import greet as hello", encoding="utf-8")
    monkeypatch.chdir("/")
    assert names(surehand("tools", str(beside)).out) == ["greet"]


def test_a_file_named_like_a_module_of_python_does_not_take_its_place(shop: str) -> None:
    path = Path(shop).with_name("json.py")
    path.write_text(Path(shop).read_text(encoding="utf-8"), encoding="utf-8")
    assert surehand("call", f"{path}:greet", "{}", "--json").code == 0
    assert "loads" in vars(sys.modules["json"])
