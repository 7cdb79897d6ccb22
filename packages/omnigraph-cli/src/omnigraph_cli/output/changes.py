"""Changes as lines: like a patch for the eye, JSON for the next program.

    + Film SF-001 {stars: 4.5, title: "Orbit"}
    ~ Film SF-002 stars: 4.0 -> 4.5
    - Rented 01KA7X3J8Q0000000000000000 ann -> SF-002 {on: "2026-02-01"}

What is for the eye is one line per change, whatever characters its values hold, and long values are cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from omnigraph_cli.output.rows import MAX_WIDTH, compact, cut, visible

if TYPE_CHECKING:
    from omnigraph import Change, Diff

_MARKS: Final = {"insert": "+", "update": "~", "delete": "-"}
_DONE: Final = {"insert": "inserted", "update": "updated", "delete": "deleted"}


def change_lines(diff: Diff) -> Iterator[str]:
    """One line per change, then how many there were."""
    counts: Counter[str] = Counter()
    for change in diff:
        counts[change.op] += 1
        yield change_line(change)
    yield counted_changes(counts)


def counted_changes(counts: Mapping[str, int]) -> str:
    """How many changes of each kind there are: ``2 inserted, 1 updated, 0 deleted``."""
    return ", ".join(f"{counts.get(op, 0):,} {done}" for op, done in _DONE.items())


def json_lines(diff: Diff) -> Iterator[str]:
    """A line of metadata, then one change per line."""
    yield compact({"kind": "metadata", **diff.about()})
    yield from (compact(change.to_dict()) for change in diff)


def change_line(change: Change) -> str:
    """One change for the eye."""
    ends = f" {change.from_id} -> {change.to_id}" if change.entity == "edge" else ""
    before, after = change.before, change.after
    if before is not None and after is not None:
        shown = ", ".join(f"{name}: {_cell(before[name])} -> {_cell(after[name])}" for name in _changed(before, after))
    else:
        image = after if before is None else before
        shown = "{" + ", ".join(f"{name}: {_cell(value)}" for name, value in (image or {}).items()) + "}"
    return visible(f"{_MARKS[change.op]} {change.type} {change.id}{ends} {shown}".rstrip())


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    # As JSON, in which 0.0 and -0.0 differ.
    return (name for name in after if compact(before[name]) != compact(after[name]))


def _cell(value: Any) -> str:
    return cut(compact(value), MAX_WIDTH)
