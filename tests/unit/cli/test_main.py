from __future__ import annotations

import importlib.util
from importlib.machinery import ModuleSpec
from importlib.metadata import version

import pytest

from support.command import surehand


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_its_packages_the_command_names_the_extra_and_ends_with_2(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    real = importlib.util.find_spec

    def find(name: str, *rest: str) -> ModuleSpec | None:
        return None if name == package else real(name, *rest)

    monkeypatch.setattr("surehand.cli.find_spec", find)
    ended = surehand("demo")
    assert ended.code == 2
    assert package in ended.err
    assert "surehand[cli]" in ended.err


def test_help_lists_the_four_commands() -> None:
    out = surehand("--help").out
    assert all(command in out for command in ("demo", "run", "call", "tools"))


@pytest.mark.parametrize("command", ["demo", "run", "call", "tools"])
def test_every_command_explains_itself(command: str) -> None:
    ended = surehand(command, "--help")
    assert ended.code == 0
    assert "Usage: surehand" in ended.out


def test_the_version_is_that_of_the_package() -> None:
    assert surehand("--version").out == f"surehand {version('surehand')}\n"


def test_an_unknown_command_ends_with_2() -> None:
    ended = surehand("dance")
    assert ended.code == 2
    assert "dance" in ended.err
