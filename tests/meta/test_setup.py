"""The recipes say what they need where Python is too old, or cannot make environments."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/find_python"
SHELL = "/bin/sh"

OLD = "#!/bin/sh\necho 3.8\n"
NEW = "#!/bin/sh\necho 3.12\n"
WITHOUT_VENV = '#!/bin/sh\ncase "$2" in *ensurepip*) exit 1 ;; esac\necho 3.12\n'
BROKEN = "#!/bin/sh\nexit 127\n"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the recipes are for make and a POSIX shell")


def install(folder: Path, **pythons: str) -> None:
    """Put fake interpreters into a folder; the first ``_`` of a name stands for a point."""
    for name, text in pythons.items():
        path = folder / name.replace("_", ".", 1)
        path.write_text(text)
        path.chmod(0o755)


def find(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script where nothing but that folder is on the path."""
    return subprocess.run(
        [SHELL, str(SCRIPT)], env={"PATH": str(folder), **environment}, capture_output=True, text=True, check=False
    )


def test_a_python_that_is_too_old_is_refused_with_its_version(tmp_path: Path) -> None:
    install(tmp_path, python3=OLD)

    result = find(tmp_path)

    assert result.returncode == 1
    assert "needs Python 3.11 or later" in result.stderr
    assert "python3 (3.8)" in result.stderr


def test_a_newer_python_beside_an_old_one_is_found(tmp_path: Path) -> None:
    install(tmp_path, python3=OLD, python3_13=BROKEN, python3_12=NEW)

    assert find(tmp_path).stdout.strip() == "python3.12"


def test_a_missing_venv_is_named_with_the_package_that_has_it(tmp_path: Path) -> None:
    install(tmp_path, python3=WITHOUT_VENV)

    result = find(tmp_path)

    assert result.returncode == 1
    assert "python3 (3.12)" in result.stderr
    assert "python3-venv" in result.stderr


def test_no_python_at_all_is_said(tmp_path: Path) -> None:
    result = find(tmp_path)

    assert result.returncode == 1
    assert "Found none among" in result.stderr


def test_a_python_can_be_named_by_hand(tmp_path: Path) -> None:
    install(tmp_path, python3=NEW, mine=NEW)

    assert find(tmp_path, PYTHON=str(tmp_path / "mine")).stdout.strip() == str(tmp_path / "mine")


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("recipe", ["demo", "test"])
def test_the_recipes_stop_with_the_reason(tmp_path: Path, recipe: str) -> None:
    project = tmp_path / "project"
    (project / "scripts").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "scripts/find_python"):
        shutil.copy(ROOT / name, project / name)
    install(tmp_path, old=OLD)

    result = subprocess.run(
        ["make", recipe, f"PYTHON={tmp_path / 'old'}"], cwd=project, capture_output=True, text=True, check=False
    )

    assert result.returncode != 0
    assert "needs Python 3.11 or later" in result.stderr
    assert not (project / ".venv").exists()
