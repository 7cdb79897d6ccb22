"""``Result``: rows that were read, in whatever form the next tool takes them.

    r.rows()            a list of dicts of JSON values, as the command line prints them
    for row in r        the same, one by one
    r.to_arrow()        the Arrow table as it was read
    r.to_pandas(), r.to_polars(), r.to_networkx()    when these packages are installed
    anything that takes Arrow streams, such as duckdb or polars, takes the result itself

A result is complete and never changes: it holds its rows, and knows the branch and the commit that they are of. Its
columns are there even if no row is.
"""

from __future__ import annotations

import html
import importlib
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from omnigraph.engine.cells import cells
from omnigraph.engine.timestamps import with_timestamps
from omnigraph.errors import InvalidInputError

SHOWN_ROWS: Final = 20
SHOWN_CHARACTERS: Final = 200
"""What a notebook shows of a result: this many rows, and this much of a cell."""

_CHUNK_ROWS: Final = 8_192


class Result:
    """Rows of one snapshot.

    Attributes:
        columns: the names of the columns, in order; names are unique.
        branch: the branch that was read.
        commit_id: the commit whose state was read.
        snapshot: the same when it was asked for by name; None when the newest one of the branch was wanted.
        query_name: of a query, its name.
    """

    __slots__ = ("_table", "branch", "columns", "commit_id", "query_name", "snapshot")

    _table: pa.Table
    branch: str
    columns: tuple[str, ...]
    commit_id: str
    query_name: str | None
    snapshot: str | None

    def __init__(
        self,
        rows: pa.Table | pa.RecordBatchReader,
        *,
        branch: str,
        commit_id: str,
        snapshot: str | None = None,
        query_name: str | None = None,
    ) -> None:
        """Hold these rows; a stream is read to its end now."""
        table = rows if isinstance(rows, pa.Table) else rows.read_all()
        for name, value in (
            ("_table", table),
            ("branch", branch),
            ("columns", tuple(table.column_names)),
            ("commit_id", commit_id),
            ("query_name", query_name),
            ("snapshot", snapshot),
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A result never changes; {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A result never changes; {name} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._table, self.branch, self.commit_id, self.snapshot, self.query_name)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows in order, each a dict in column order."""
        for start in range(0, len(self), _CHUNK_ROWS):
            yield from _rows(self._table.slice(start, _CHUNK_ROWS))

    def __repr__(self) -> str:
        return f"<Result: {self._size()} of branch {self.branch} at {self.commit_id}>"

    def rows(self) -> list[dict[str, Any]]:
        """Every row as a dict of JSON values: dates are text, F32 is widened, a Blob is ``base64:...``."""
        return _rows(self._table)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form that the command line prints."""
        return {
            "query_name": self.query_name,
            "target": {"branch": self.branch, "snapshot": self.snapshot},
            "row_count": len(self),
            "columns": list(self.columns),
            "rows": self.rows(),
            "graph_commit_id": self.commit_id,
        }

    # ── other forms ──────────────────────────────────────────────────────────────────────────────────────────

    def to_arrow(self) -> pa.Table:
        """The rows as they were read: dates are dates, and a Blob is bytes. Shared, not copied."""
        return with_timestamps(self._table)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow PyCapsule protocol, by which other tools take a result without a copy."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """A pandas DataFrame.

        Raises:
            InvalidInputError: pandas is not installed.
        """
        _imported("pandas", "to_pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A polars DataFrame.

        Raises:
            InvalidInputError: polars is not installed.
        """
        return _imported("polars", "to_polars").from_arrow(self.to_arrow())

    def to_networkx(self) -> Any:
        """The edges of a result as a networkx graph.

        Every row is an edge from ``src`` to ``dst``; its key is ``id`` if there is one, and the other columns are its
        attributes, as in ``rows()``. Nodes are those that edges touch, by id: of an edge type whose ends are of two
        types, the same id on both sides is one node.

        Raises:
            InvalidInputError: networkx is not installed, or the result has no columns ``src`` and ``dst``.
        """
        missing = [name for name in ("src", "dst") if name not in self.columns]
        if missing:
            raise InvalidInputError(
                f"A result without the column {' and '.join(missing)} is no set of edges.",
                help='Read an edge type, such as g.table("Rented"), with all its columns.',
                details={"columns": list(self.columns)},
            )
        graph = _imported("networkx", "to_networkx").MultiDiGraph()
        for row in self:
            source, target = row.pop("src"), row.pop("dst")
            key = graph.add_edge(source, target, row.pop("id", None))
            # Not by keyword: a property may be called as one of networkx's own arguments.
            graph.edges[source, target, key].update(row)
        return graph

    def _repr_html_(self) -> str:
        """What a notebook shows: the first rows as a table."""
        head = "".join(f"<th>{_shown(name)}</th>" for name in self.columns)
        body = "".join(
            f"<tr>{''.join(f'<td>{_shown(cell)}</td>' for cell in row.values())}</tr>"
            for row in _rows(self._table.slice(0, SHOWN_ROWS))
        )
        more = f", the first {SHOWN_ROWS} shown" if len(self) > SHOWN_ROWS else ""
        note = _shown(f"{self._size()}{more}; branch {self.branch}, commit {self.commit_id}")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{note}</p>"

    def _size(self) -> str:
        return f"{len(self):,} row{'' if len(self) == 1 else 's'}"


def _rebuild(table: pa.Table, branch: str, commit_id: str, snapshot: str | None, query_name: str | None) -> Result:
    return Result(table, branch=branch, commit_id=commit_id, snapshot=snapshot, query_name=query_name)


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    names = table.column_names
    if not names:
        return [{} for _ in range(table.num_rows)]
    columns = [cells(column) for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _shown(cell: object) -> str:
    """A cell as text that is safe inside HTML, cut where nobody reads on."""
    text = "" if cell is None else str(cell)
    return html.escape(text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…")


def _imported(package: str, method: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise InvalidInputError(
            f"{method}() needs the package {package}, which could not be imported.",
            help=f"Install it: pip install {package}",
            details={"package": package},
        ) from error
