"""What ``import surehand`` offers is complete, sorted and documented."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib.metadata import version
from types import ModuleType

import pytest

import surehand
import surehand.arguments
import surehand.testing
import surehand.testing.faults

PUBLIC_MODULES = [surehand, surehand.arguments, surehand.testing, surehand.testing.faults]


def shelf(name: str) -> tuple[int, str]:
    """Constants before classes before functions, each by the alphabet: the order that the linter keeps."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_the_version_is_that_of_the_package() -> None:
    assert surehand.__version__ == version("surehand")


@pytest.mark.parametrize("module", PUBLIC_MODULES, ids=lambda module: module.__name__)
def test_all_is_sorted_without_repetition(module: ModuleType) -> None:
    assert list(module.__all__) == sorted(set(module.__all__), key=shelf)


@pytest.mark.parametrize("module", PUBLIC_MODULES, ids=lambda module: module.__name__)
def test_every_name_in_all_can_be_imported(module: ModuleType) -> None:
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize("module", PUBLIC_MODULES, ids=lambda module: module.__name__)
def test_every_public_name_of_the_module_is_in_all(module: ModuleType) -> None:
    public = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and str(getattr(value, "__module__", "")).startswith(module.__name__)
    }

    assert public - set(module.__all__) == set()


def test_the_lazy_names_are_those_that_type_checkers_see() -> None:
    """``surehand`` says where a name lives twice: to type checkers as imports, at run time as a table."""
    tree = ast.parse(inspect.getsource(surehand))
    imported = {
        (str(node.module), alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("surehand.")
        for alias in node.names
    }

    assert {(module, name) for name, module in vars(surehand)["_HOME_OF"].items()} == imported
    assert {name for _, name in imported} == set(surehand.__all__)


def test_importing_the_package_alone_imports_no_part_of_it() -> None:
    program = "import sys, surehand; print([name for name in sys.modules if name.startswith('surehand.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "[]\n"


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'ToolNod'"):
        _ = surehand.ToolNod


@pytest.mark.parametrize("module", PUBLIC_MODULES, ids=lambda module: module.__name__)
def test_every_public_class_and_function_has_a_docstring(module: ModuleType) -> None:
    objects = {name: getattr(module, name) for name in module.__all__}

    silent = [
        name
        for name, value in objects.items()
        if (inspect.isclass(value) or inspect.isroutine(value)) and not (value.__doc__ or "").strip()
    ]
    assert silent == []


@pytest.mark.parametrize("module", PUBLIC_MODULES, ids=lambda module: module.__name__)
def test_every_public_method_has_a_docstring_or_inherits_one(module: ModuleType) -> None:
    silent = [
        f"{name}.{attribute}"
        for name in module.__all__
        if inspect.isclass(owner := getattr(module, name)) and owner.__module__.startswith("surehand")
        for attribute, value in vars(owner).items()
        if not attribute.startswith("_") and inspect.isroutine(value) and not inspect.getdoc(getattr(owner, attribute))
    ]

    assert silent == []
