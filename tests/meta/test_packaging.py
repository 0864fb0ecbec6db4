"""The wheel holds the package, all of it, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of this checkout, built without a network by the tools that are installed."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_our_package_only(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}

    assert {top.split("-")[0] for top in tops} == {"surehand"}


def test_the_wheel_says_that_it_is_typed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert "surehand/py.typed" in archive.namelist()


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    source = ROOT / "src"
    ours = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}

    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())

    assert {name for name in ours if "__pycache__" not in name} - packed == set()


def test_the_wheel_carries_licence_and_two_dependencies(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(metadata).decode().splitlines()
        licences = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]

    required = [line for line in lines if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert len(licences) == 1
    assert sorted(line.split()[1].split(">")[0] for line in required) == ["docstring-parser", "pydantic"]


def test_the_package_runs_from_the_wheel(wheel: Path) -> None:
    probe = f"import sys; sys.path.insert(0, {str(wheel)!r}); import surehand; print(surehand.__file__)"

    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)

    assert result.stdout.startswith(str(wheel))
