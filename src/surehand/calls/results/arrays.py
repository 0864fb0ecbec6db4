"""Arrays and tables of numpy, pandas and polars, as a model reads them best.

A small one is plain data: numbers, lists, a list of rows. A large one begins with what it is (shape, types, figures),
so that its start alone says what there is to look at, and names its columns once and not in every row.
Libraries are known by the module names of types, so that none is imported here.
"""

# Values of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from surehand.calls.results.reader import NOT_MINE, Path, Reader, type_name

__all__ = ["LISTED", "MAX_CELLS", "read_array"]

LISTED: Final = 1_000
"""The most values of an array or table that is written without a description."""
MAX_CELLS: Final = 50_000
"""The most values of an array or table that are read; it begins with the first."""
_MAX_SUMMED: Final = 10_000_000
"""The most values of which figures are made: they need a copy of the array."""
_EXACT_UNITS: Final = ("[W]", "[D]", "[h]", "[m]", "[s]", "[ms]", "[us]")
"""Units of time that are a fixed number of microseconds."""


def read_array(reader: Reader, value: Any, path: Path) -> Any:
    """Arrays, tables, columns and single values, of the libraries themselves and of classes derived from theirs."""
    library = next((package for kind in type(value).__mro__ if (package := _package(kind)) in _READERS), None)
    return NOT_MINE if library is None else _READERS[library](reader, value, path)


def _package(kind: type) -> str:
    return str(kind.__module__).partition(".")[0]


def _name(value: Any) -> str:
    """The type's name as users know it: ``polars.DataFrame``, wherever in the library it is defined."""
    kind = type(value)
    return f"{_package(kind)}.{kind.__name__}" if _package(kind) in _READERS else type_name(kind)


# -- numpy -----------------------------------------------------------------------------------------------------------


def _read_numpy(reader: Reader, value: Any, path: Path) -> Any:
    if not hasattr(value, "dtype") or not hasattr(value, "tolist"):
        return NOT_MINE
    if _package(type(value)) != "numpy":
        reader.note(path, f"{type_name(type(value))} was read as the array it is, without what its class adds")
    if value.size <= LISTED:
        return _numpy_items(reader, value, path)
    shown, what = _first_of_array(value)
    if what:
        reader.cut(path, f"only {what} of the array were read")
    return {
        "type": _name(value),
        "shape": list(value.shape),
        "dtype": str(value.dtype),
        **_figures(value),
        **({"shown": what} if what else {}),
        "values": _numpy_items(reader, shown, (*path, "values")),
    }


def _first_of_array(value: Any) -> tuple[Any, str]:
    """The part of an array that is read, and words for it; no words for a whole one."""
    if value.size <= MAX_CELLS:
        return value, ""
    rows = MAX_CELLS * len(value) // value.size
    if value.ndim == 1 or rows == 0:
        return value.ravel()[:MAX_CELLS], f"the first {MAX_CELLS:,} of {value.size:,} values"
    return value[:rows], f"the first {rows:,} of {len(value):,} rows"


def _numpy_items(reader: Reader, value: Any, path: Path) -> Any:
    if value.dtype.names:
        return _records(reader, value, path)
    if value.dtype.kind == "M":  # ``tolist`` would give nanoseconds as a bare number
        return reader.plain(_without_nat(reader, value.astype(str).tolist(), path), path)
    if value.dtype.kind == "m":
        return reader.plain(_without_nat(reader, _durations(value).tolist(), path), path)
    data = value.tolist()
    return str(data) if type(data) is type(value) else reader.plain(data, path)


def _records(reader: Reader, value: Any, path: Path) -> Any:
    """A structured array: each of its items as a mapping of its fields."""
    if value.shape:
        return reader.items(value, path)
    return reader.mapping(((name, value[name]) for name in value.dtype.names), path)


def _durations(value: Any) -> Any:
    """Durations as Python's own, where that is exact; else as numpy's text, which names the unit."""
    text = str(value.dtype)
    return value.astype("timedelta64[us]") if text.endswith(_EXACT_UNITS) else value.astype(str)


def _without_nat(reader: Reader, data: Any, path: Path) -> Any:
    if isinstance(data, list):
        return [_without_nat(reader, item, path) for item in data]
    if data is None or data == "NaT":
        reader.note(path, "NaT is no time, null stands for it")
        return None
    return data


def _figures(value: Any) -> dict[str, Any]:
    """The least, the greatest and the mean of the numbers in an array."""
    if value.dtype.kind not in "iuf" or value.size > _MAX_SUMMED:
        return {}
    numpy = sys.modules["numpy"]
    with numpy.errstate(all="ignore"):
        numbers = value.compressed() if hasattr(value, "compressed") else value
        finite = numbers[numpy.isfinite(numbers)]
        if not finite.size:
            return {}
        figures = {"min": finite.min().item(), "max": finite.max().item(), "mean": float(finite.mean())}
        missing = int(numbers.size - finite.size)
    figures = {name: number for name, number in figures.items() if math.isfinite(number)}
    return {**figures, "not_finite": missing} if missing else figures


# -- pandas ----------------------------------------------------------------------------------------------------------


def _read_pandas(reader: Reader, value: Any, path: Path) -> Any:
    names = {kind.__name__ for kind in type(value).__mro__ if _package(kind) == "pandas"}
    if "NAType" in names:
        return None
    if names & {"Period", "Interval"}:
        return str(value)
    if "DataFrame" in names:
        return _frame(reader, value, path)
    if "Series" in names:
        return _series(reader, value, path)
    return reader.plain(value.tolist(), path) if hasattr(value, "tolist") else NOT_MINE


def _frame(reader: Reader, frame: Any, path: Path) -> Any:
    count = len(frame)
    width = max(len(frame.columns), 1)
    table = _with_index(reader, frame.head(max(MAX_CELLS // width, 1)), path)
    if count * width <= LISTED and table.columns.is_unique:
        return reader.plain(table.to_dict(orient="records"), path)
    return _table(
        reader,
        frame,
        path,
        count=count,
        columns=table.columns.tolist(),
        dtypes=table.dtypes.tolist(),
        rows=list(table.itertuples(index=False, name=None)),
    )


def _with_index(reader: Reader, table: Any, path: Path) -> Any:
    """The table with its index as columns, where the index says something."""
    if _is_counted(table):
        return table
    try:
        return table.reset_index()
    except ValueError:
        reader.note(path, "the table's index was left out, its name is also a column's")
        return table


def _series(reader: Reader, series: Any, path: Path) -> Any:
    count = len(series)
    if count <= LISTED:
        return _series_items(reader, series, path)
    shown = series.head(MAX_CELLS)
    return {
        **_described(reader, series, path, count=count, shown=len(shown)),
        "dtype": str(series.dtype),
        "values": _series_items(reader, shown, (*path, "values")),
    }


def _series_items(reader: Reader, series: Any, path: Path) -> Any:
    """A list, or a mapping where the index says something; pairs where it says the same of several values."""
    if _is_counted(series):
        return reader.items(series.tolist(), path)
    if series.index.is_unique:
        return reader.mapping(series.items(), path)
    return reader.items(series.items(), path)


def _is_counted(table: Any) -> bool:
    """Whether the index only counts from 0, so that nothing is lost without it."""
    index = table.index
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and index.name is None


# -- polars ----------------------------------------------------------------------------------------------------------


def _read_polars(reader: Reader, value: Any, path: Path) -> Any:
    if hasattr(value, "to_dicts"):
        return _polars_frame(reader, value, path)
    if not hasattr(value, "to_list"):
        return NOT_MINE
    count = len(value)
    if count <= LISTED:
        return reader.items(value.to_list(), path)
    shown = value.head(MAX_CELLS).to_list()
    return {
        **_described(reader, value, path, count=count, shown=len(shown)),
        "dtype": str(value.dtype),
        "values": reader.items(shown, (*path, "values")),
    }


def _polars_frame(reader: Reader, frame: Any, path: Path) -> Any:
    count, width = frame.shape
    if count * width <= LISTED:
        return reader.plain(frame.to_dicts(), path)
    rows = frame.head(max(MAX_CELLS // max(width, 1), 1)).rows()
    return _table(reader, frame, path, count=count, columns=frame.columns, dtypes=frame.dtypes, rows=rows)


# -- both ------------------------------------------------------------------------------------------------------------


def _table(
    reader: Reader,
    table: Any,
    path: Path,
    *,
    count: int,
    columns: Iterable[Any],
    dtypes: Iterable[Any],
    rows: Sequence[Iterable[Any]],
) -> dict[str, Any]:
    """A table with its column names said once: they cost a model more than the values, row for row."""
    names = [name if isinstance(name, str) else reader.plain(name, path) for name in columns]
    return {
        **_described(reader, table, path, count=count, shown=len(rows), width=len(names)),
        "columns": names,
        "dtypes": [str(dtype) for dtype in dtypes],
        "rows": reader.items(rows, (*path, "rows")),
    }


def _described(
    reader: Reader, value: Any, path: Path, *, count: int, shown: int, width: int | None = None
) -> dict[str, Any]:
    described: dict[str, Any] = {"type": _name(value), "shape": [count] if width is None else [count, width]}
    if shown < count:
        described["shown"] = f"the first {shown:,} of {count:,} rows"
        reader.cut(path, f"only {described['shown']} were read")
    return described


_READERS: Final = {"numpy": _read_numpy, "pandas": _read_pandas, "polars": _read_polars}
