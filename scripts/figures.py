"""Prints the size of our code beside that of twelve codebases we admire. Examples to learn from, not limits to game."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
MODELS = (
    "starlette, httpx, anyio, trio, stamina, structlog, cattrs, itsdangerous, click, svcs, "
    "the toolsets of pydantic-ai, pydantic-graph"
)
LONG = 50
"""Code lines above which a function counts as long."""
TWIN_LENGTH = 4
"""Code lines from which a sync and an async function of one module can be twins."""
TWIN_LIKENESS = 0.85

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
BRANCHES = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.Assert,
    ast.comprehension,
    ast.match_case,
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """What the admired codebases show: the quartiles of their figures."""

    q1: float
    median: float
    q3: float

    def __str__(self) -> str:
        return f"{self.q1:g} – {self.median:g} – {self.q3:g}"


@dataclass(slots=True)
class Sizes:
    """What one pass over the files collects."""

    code_lines: int = 0
    docstring_lines: int = 0
    comment_lines: int = 0
    twin_lines: int = 0
    files: list[int] = field(default_factory=list[int])
    functions: list[int] = field(default_factory=list[int])
    branches: list[int] = field(default_factory=list[int])
    parameters: list[int] = field(default_factory=list[int])
    classes: list[int] = field(default_factory=list[int])
    methods: list[int] = field(default_factory=list[int])


def percentile(values: Iterable[int], share: float) -> float:
    """The value below which that share of the values lies; 0 without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0


def docstring_spans(tree: ast.AST) -> set[int]:
    """The numbers of all lines that belong to docstrings, those of attributes included."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def comment_spans(source: str) -> set[int]:
    """The numbers of all lines that hold nothing but a comment."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0] for token in tokens if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#")
    }


def functions_in(tree: ast.AST) -> Iterator[FunctionNode]:
    """Every function, nested ones and methods included."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def branches_of(node: ast.AST) -> int:
    """Cyclomatic complexity: one, and one for each branch."""
    count = 1
    for child in ast.walk(node):
        if isinstance(child, BRANCHES):
            count += 1
        elif isinstance(child, ast.BoolOp):
            count += len(child.values) - 1
    return count


def parameters_of(node: FunctionNode) -> int:
    """Parameters without ``self`` and ``cls``."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return sum(argument.arg not in {"self", "cls"} for argument in arguments)


def twin_lines(tree: ast.Module, code_of: Callable[[ast.AST], list[str]]) -> int:
    """Lines of async functions that a sync function of the same module repeats."""
    by_kind: dict[bool, list[list[str]]] = defaultdict(list)
    for node in functions_in(tree):
        lines = [
            re.sub(r"\b(async|await)\s+|\ba(?=invoke|stream|call|run)", "", line.strip()) for line in code_of(node)
        ]
        if len(lines) >= TWIN_LENGTH:
            by_kind[isinstance(node, ast.AsyncFunctionDef)].append(lines)
    return sum(
        len(lines)
        for lines in by_kind[True]
        if any(SequenceMatcher(None, lines[1:], other[1:]).ratio() >= TWIN_LIKENESS for other in by_kind[False])
    )


def measure(paths: Iterable[Path]) -> Sizes:
    """One pass over the files."""
    sizes = Sizes()
    for path in paths:
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        lines = source.splitlines()
        docstrings, comments = docstring_spans(tree), comment_spans(source)
        code = {n for n, line in enumerate(lines, 1) if line.strip() and n not in docstrings and n not in comments}

        def code_of(node: ast.AST, lines: list[str] = lines, code: set[int] = code) -> list[str]:
            span = range(getattr(node, "lineno", 1), getattr(node, "end_lineno", 0) + 1)
            return [lines[n - 1] for n in span if n in code]

        sizes.files.append(len(lines))
        sizes.code_lines += len(code)
        sizes.docstring_lines += len(docstrings)
        sizes.comment_lines += len(comments)
        sizes.twin_lines += twin_lines(tree, code_of)
        for node in functions_in(tree):
            sizes.functions.append(len(code_of(node)))
            sizes.branches.append(branches_of(node))
            sizes.parameters.append(parameters_of(node))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                sizes.classes.append(len(code_of(node)))
                sizes.methods.append(
                    sum(isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) for child in node.body)
                )
    return sizes


def rows(sizes: Sizes) -> Iterator[tuple[str, str, Envelope | None]]:
    """Each figure: its name, ours, theirs."""
    per_code = 100 / max(1, sizes.code_lines)
    long_share = 100 * sum(length > LONG for length in sizes.functions) / max(1, len(sizes.functions))
    yield "files", f"{len(sizes.files)}", None
    yield "code lines", f"{sizes.code_lines}", None
    yield "function code lines, median", f"{median(sizes.functions or [0]):g}", Envelope(5, 5.5, 6)
    yield "function code lines, p90", f"{percentile(sizes.functions, 0.9):g}", Envelope(20, 22, 26)
    yield "function code lines, max", f"{max(sizes.functions, default=0)}", Envelope(73, 110, 129)
    yield f"functions over {LONG} lines, %", f"{long_share:.1f}", Envelope(1.3, 1.9, 3.0)
    yield "branches (cyclomatic), p90", f"{percentile(sizes.branches, 0.9):g}", Envelope(5, 5.5, 7)
    yield "branches (cyclomatic), max", f"{max(sizes.branches, default=0)}", Envelope(15, 29, 39)
    yield "parameters, p90", f"{percentile(sizes.parameters, 0.9):g}", Envelope(3, 3, 4)
    yield "class lines, p90", f"{percentile(sizes.classes, 0.9):g}", Envelope(127, 148, 189)
    yield "class lines, max", f"{max(sizes.classes, default=0)}", Envelope(551, 646, 720)
    yield "methods per class, p90", f"{percentile(sizes.methods, 0.9):g}", Envelope(8, 9, 10)
    yield "file lines, median", f"{median(sizes.files or [0]):g}", Envelope(95, 155, 248)
    yield "file lines, max", f"{max(sizes.files, default=0)}", Envelope(904, 1365, 2528)
    yield "docstring lines / 100 code", f"{sizes.docstring_lines * per_code:.0f}", Envelope(27, 42, 49)
    yield "comment lines / 100 code", f"{sizes.comment_lines * per_code:.1f}", Envelope(3.7, 6, 11)
    yield "sync/async twin lines, %", f"{sizes.twin_lines * per_code:.1f}", Envelope(0, 0.1, 0.9)


def largest(paths: Iterable[Path], limit: int = 5) -> list[tuple[int, str]]:
    """The longest functions: their code lines and where they stand."""
    found: list[tuple[int, str]] = []
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        hidden = docstring_spans(tree) | comment_spans(path.read_text(encoding="utf-8"))
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in functions_in(tree):
            span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            length = sum(n not in hidden and bool(lines[n - 1].strip()) for n in span)
            found.append((length, f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"))
    return sorted(found, reverse=True)[:limit]


def main() -> int:
    paths = sorted((ROOT / "src").rglob("*.py"))
    print(f"{'figure':<34}{'ours':>10}   theirs (q1 – median – q3)")
    for name, ours, theirs in rows(measure(paths)):
        print(f"{name:<34}{ours:>10}   {theirs or ''}")
    print(f"\nTheirs: {MODELS}.")
    print("\nOur longest functions:")
    for length, place in largest(paths):
        print(f"{length:>6}  {place}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
