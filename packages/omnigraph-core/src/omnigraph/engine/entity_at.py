"""One node or edge as a snapshot has it: the smallest question about a moment, answered by one look-up."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from omnigraph.engine.cells import cells
from omnigraph.engine.type_names import find_type
from omnigraph.errors import InvalidInputError
from omnigraph.history.snapshot import Snapshot
from omnigraph.tables.interface import TableStorage


def entity_at(snapshot: Snapshot, tables: TableStorage, type_name: str, key: str) -> dict[str, Any] | None:
    """The node or edge of a type that has this id, as JSON values; None when there is none.

    It has ``id``, of an edge ``from`` and ``to``, and every property, nulls too.

    Raises:
        NotFoundError: there is no such type.
        InvalidInputError: a node type and an edge type have this name, or the id is no text.
        StorageError: it could not be read.
    """
    target = find_type(snapshot.schema.tables, type_name)
    try:
        key.encode()
    except (AttributeError, UnicodeEncodeError):
        raise InvalidInputError(
            f"{key!r} is no id of a {target.kind}.", help="Ids are texts.", details={"type": target.key}
        ) from None
    found = tables.lookup(tables.open_at(snapshot.entry(target).pin), pa.array([key]))
    if not found.num_rows:
        return None
    shown = {"src": "from", "dst": "to"} if target.kind == "edge" else {}
    return {shown.get(name, name): cells(found[name])[0] for name in found.column_names}
