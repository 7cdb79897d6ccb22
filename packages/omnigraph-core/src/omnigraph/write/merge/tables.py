"""What a dry run tells, as tables of Arrow and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from omnigraph.errors import MergeConflict

CONFLICT_SCHEMA: Final = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("entity", pa.string(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("id", pa.string()),
        pa.field("message", pa.string(), nullable=False),
        pa.field("base", pa.large_string()),
        pa.field("source", pa.large_string()),
        pa.field("target", pa.large_string()),
    ]
)
_ROWS: Final = ("base", "source", "target")


def conflict_table(conflicts: Sequence[MergeConflict]) -> pa.Table:
    """Conflicts as a table, with a row for each."""
    facts = [each.to_dict() for each in conflicts]
    for each in facts:
        each |= {name: None if each[name] is None else json.dumps(each[name], ensure_ascii=False) for name in _ROWS}
    return pa.Table.from_pylist(facts, schema=CONFLICT_SCHEMA)


def change_dicts(changes: pa.Table) -> list[dict[str, Any]]:
    """Changes as JSON values."""
    found: list[dict[str, Any]] = changes.to_pylist()
    for each in found:
        each |= {name: None if each[name] is None else json.loads(each[name]) for name in ("before", "after")}
    return found
