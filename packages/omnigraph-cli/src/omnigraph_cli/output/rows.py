"""The rows of a query as lines of text: for spreadsheets, for the next program, for the eye.

What a cell is, is said once, in ``omnigraph``: these are only ways to print JSON values. What is for the eye holds no
control characters, so no value can forge a line or speak to the terminal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from omnigraph import Result

FORMATS: Final = ("table", "json", "jsonl", "csv", "kv")
MAX_WIDTH: Final = 80
"""Of a cell in a table."""

_SAMPLE: Final = 1_000
"""Rows whose cells say how wide a column is."""

_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_VISIBLE: Final = _CONTROLS | {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}
"""Every control character, C0, DEL and C1, as people write it."""


def row_lines(result: Result, shape: str) -> Iterator[str]:
    """The lines of a result, without line ends; ``shape`` is one of ``FORMATS`` but ``json``."""
    return {"jsonl": _jsonl, "csv": _csv, "kv": _kv, "table": _table}[shape](result)


def _jsonl(result: Result) -> Iterator[str]:
    facts = {
        "kind": "metadata",
        "query_name": result.query_name,
        "target": {"branch": result.branch, "snapshot": result.snapshot},
        "row_count": len(result),
        "columns": list(result.columns),
        "graph_commit_id": result.commit_id,
    }
    yield compact(facts)
    yield from (compact(row) for row in result)


def _csv(result: Result) -> Iterator[str]:
    yield ",".join(map(_quoted, result.columns))
    for row in result:
        yield ",".join(_field(cell) for cell in row.values())


def _kv(result: Result) -> Iterator[str]:
    yield _head(result)
    if not len(result):
        yield "(no rows)"
    for number, row in enumerate(result, 1):
        if number > 1:
            yield ""
        yield f"row {number}"
        yield from (f"{name}: {visible(cell)}" for name, cell in row.items())


def _table(result: Result) -> Iterator[str]:
    yield _head(result)
    rows = iter(result)
    first = [[_shown(cell) for cell in row.values()] for row in islice(rows, _SAMPLE)]
    columns = [cut(name, MAX_WIDTH) for name in result.columns]
    widths = [max(map(len, cells)) for cells in zip(columns, *first, strict=True)]
    yield _cells(columns, widths)
    yield "-+-".join("-" * width for width in widths)
    yield from (_cells(row, widths) for row in first)
    for row in rows:
        yield _cells([cut(_shown(cell), width) for cell, width in zip(row.values(), widths, strict=True)], widths)


def _head(result: Result) -> str:
    return f"{len(result)} rows from branch {result.branch} via {result.query_name}"


def _cells(cells: Sequence[str], widths: Sequence[int]) -> str:
    return " | ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


def _shown(cell: Any) -> str:
    return cut(visible(cell), MAX_WIDTH)


def visible(cell: Any) -> str:
    """A cell as a word, its control characters as people write them."""
    return _spelled(cell).translate(_VISIBLE)


def cut(text: str, width: int) -> str:
    """The text in at most so many letters."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def _spelled(cell: Any) -> str:
    """A cell as a word: texts as they are, all else as JSON has it."""
    return cell if isinstance(cell, str) else compact(cell)


def _field(cell: Any) -> str:
    """A cell of a CSV; the text "null" is quoted, as null is the word without quotes."""
    return '"null"' if cell == "null" else _quoted(_spelled(cell))


def _quoted(field: str) -> str:
    return '"' + field.replace('"', '""') + '"' if any(each in field for each in ',"\r\n') else field


def compact(value: Any) -> str:
    """A JSON value on one line, its letters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
