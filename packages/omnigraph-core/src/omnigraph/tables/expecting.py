"""How many rows a staged write leaves, told from its transaction before it is committed."""

from __future__ import annotations

from collections.abc import Iterable

from lance import LanceOperation
from lance.fragment import FragmentMetadata

from omnigraph.tables.handles import LanceSnapshot, LanceStaged
from omnigraph.tables.parts import parts_of


def rows_after(base: LanceSnapshot, step: LanceStaged) -> int | None:
    """The rows of the base with the step in it; None for a step that does not tell."""
    operation = step.transaction.operation
    live = {each.number: each.live_count for each in parts_of(base)}
    match operation:
        case LanceOperation.Append():
            return sum(live.values()) + _rows(operation.fragments)
        case LanceOperation.Overwrite():
            return _rows(operation.fragments)
        case LanceOperation.Update():
            live |= {each.id: each.num_rows for each in operation.updated_fragments}
            gone = set(operation.removed_fragment_ids)
            kept = sum(rows for number, rows in live.items() if number not in gone)
            return kept + _rows(operation.new_fragments)
        case LanceOperation.Delete():
            live |= {each.id: each.num_rows for each in operation.updated_fragments}
            gone = set(operation.deleted_fragment_ids)
            return sum(rows for number, rows in live.items() if number not in gone)
        case LanceOperation.CreateIndex():
            return sum(live.values())
        case _:
            return None


def _rows(fragments: Iterable[FragmentMetadata]) -> int:
    return sum(each.num_rows for each in fragments)
