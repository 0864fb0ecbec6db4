"""Arrays and tables: found by the module name of their type, so that no library is imported for them."""

# Values of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

from surehand.calls.reader import NOT_MINE, Path, Reader
from surehand.calls.strict_json import MAX_VALUES

__all__ = ["read_numpy", "read_pandas", "read_polars"]


def _package(value: Any) -> str:
    return str(type(value).__module__).partition(".")[0]


def read_numpy(reader: Reader, value: Any, path: Path) -> Any:
    """Arrays as lists and scalars as numbers, by the type's module name: numpy is never imported."""
    if _package(value) != "numpy" or not hasattr(value, "dtype"):
        return NOT_MINE
    if value.dtype.kind in "mM":  # ``item`` would give nanoseconds as a bare number
        return reader.plain(value.astype(str).tolist(), path)
    if getattr(value, "size", 1) > MAX_VALUES:
        reader.cut(path, f"only the first {MAX_VALUES:,} of {value.size:,} items of the array were read")
        value = value.ravel()[:MAX_VALUES]
    data = value.tolist()
    return str(data) if type(data) is type(value) else reader.plain(data, path)


def read_pandas(reader: Reader, value: Any, path: Path) -> Any:
    """Tables as lists of rows, series as lists, or as mappings where their index says something."""
    if _package(value) != "pandas":
        return NOT_MINE
    name = type(value).__name__
    if name == "NAType":
        return None
    if name in {"Period", "Interval"}:
        return str(value)
    if name == "DataFrame":
        rows = _head(reader, value, path)
        return reader.plain(_with_index(reader, rows, path).to_dict(orient="records"), path)
    if name == "Series" and not _is_counted(value):
        return reader.mapping(_head(reader, value, path).to_dict().items(), path)
    return reader.plain(value.tolist(), path) if hasattr(value, "tolist") else NOT_MINE


def _head(reader: Reader, table: Any, path: Path) -> Any:
    if len(table) <= MAX_VALUES:
        return table
    reader.cut(path, f"only the first {MAX_VALUES:,} of {len(table):,} rows were read")
    return table.head(MAX_VALUES)


def _is_counted(table: Any) -> bool:
    """Whether the index only counts the rows, so that nothing is lost without it."""
    return type(table.index).__name__ == "RangeIndex"


def _with_index(reader: Reader, table: Any, path: Path) -> Any:
    if _is_counted(table):
        return table
    try:
        return table.reset_index()
    except ValueError:
        reader.note(path, "the table's index was left out, its name is also a column's")
        return table


def read_polars(reader: Reader, value: Any, path: Path) -> Any:
    """Frames as lists of rows and series as lists."""
    if _package(value) != "polars":
        return NOT_MINE
    for method in ("to_dicts", "to_list"):
        if hasattr(value, method):
            return reader.plain(getattr(_head(reader, value, path), method)(), path)
    return NOT_MINE
