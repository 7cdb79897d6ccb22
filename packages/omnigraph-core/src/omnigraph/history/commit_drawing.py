"""A commit graph for people: as text beside its lines, as a Mermaid flowchart, as Graphviz DOT.

What comes in are commits in the order of ``lineage.in_order`` and the names that point at some of them; what goes out
is text, the same for the same commits. Names hold whatever their writers liked, so each form has its own way to quote
them. An arrow leads from a commit to its parent, a dotted or dashed one to the parent that was merged in. A parent that
is not among the commits, because history was reclaimed or a listing ends, is shown by its id alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from omnigraph.history.commit_lanes import lane_rows
from omnigraph.history.commits import Commit
from omnigraph.history.lineage import parents_of

Labels = Mapping[str, Sequence[str]]
"""The branches and tags that point at a commit, by its id."""

SHORT_ID: Final = 10
"""How many characters of an id are shown, unless more are needed to tell all of them apart."""

# Mermaid reads marks and lists in labels, and other releases read others: everything else in ASCII is spelled out.
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9 /\u0080-\U0010ffff]")


def draw_text(commits: Sequence[Commit], labels: Labels) -> str:
    """One line for each commit, beside lines to its parents, and lines between them where branches part or meet."""
    short = _short_ids(commits)
    return "\n".join(
        row.lanes if row.commit is None else f"{row.lanes}  {'  '.join(_words(row.commit, labels, short))}"
        for row in lane_rows(commits)
    )


def draw_mermaid(commits: Sequence[Commit], labels: Labels) -> str:
    """A Mermaid flowchart, which unlike its ``gitGraph`` shows any history as it is."""
    chart = _Chart.of(commits, labels)
    lines = ["flowchart TB"]
    lines += [f'    {name}["{_mermaid_label(words)}"]' for name, words in chart.boxes]
    lines += [f"    {child} {'-.->' if is_merge else '-->'} {parent}" for child, parent, is_merge in chart.arrows]
    return "\n".join(lines)


def draw_dot(commits: Sequence[Commit], labels: Labels) -> str:
    """A digraph in the language of Graphviz."""
    chart = _Chart.of(commits, labels)
    lines = ["digraph commits {", "    node [shape=box];"]
    lines += [f'    {name} [label="{_dot_label(words)}"];' for name, words in chart.boxes]
    lines += [
        f"    {child} -> {parent}{' [style=dashed]' if is_merge else ''};" for child, parent, is_merge in chart.arrows
    ]
    return "\n".join([*lines, "}"])


@dataclass(frozen=True, slots=True)
class _Chart:
    """A commit graph as boxes and arrows.

    Attributes:
        boxes: the name of each and the lines in it.
        arrows: from and to which box, and whether that is the parent that was merged in.
    """

    boxes: tuple[tuple[str, tuple[str, ...]], ...]
    arrows: tuple[tuple[str, str, bool], ...]

    @classmethod
    def of(cls, commits: Sequence[Commit], labels: Labels) -> _Chart:
        short = _short_ids(commits)
        names = {each: f"c{number}" for number, each in enumerate(short)}
        words = {each.id: tuple(_words(each, labels, short)) for each in commits}
        return cls(
            boxes=tuple((name, words.get(each, (short[each], "..."))) for each, name in names.items()),
            arrows=tuple(
                (names[commit.id], names[parent], parent == commit.merged_parent_id)
                for commit in commits
                for parent in parents_of(commit)
            ),
        )


def _words(commit: Commit, labels: Labels, short: Mapping[str, str]) -> Iterator[str]:
    """What is shown of a commit."""
    yield short[commit.id]
    if names := labels.get(commit.id):
        yield f"({', '.join(map(_one_line, names))})"
    yield _one_line(commit.branch)
    yield str(commit.kind)
    if commit.actor is not None:
        yield _one_line(commit.actor)
    yield f"{commit.created_at:%Y-%m-%d %H:%M:%S}Z"


def _short_ids(commits: Sequence[Commit]) -> dict[str, str]:
    """The beginnings of ids that tell all commits and their parents apart, by id: commits first, in their order."""
    ids = dict.fromkeys([each.id for each in commits] + [parent for each in commits for parent in parents_of(each)])
    longest = max(map(len, ids), default=0)
    length = next(
        (each for each in range(SHORT_ID, longest) if len({known[:each] for known in ids}) == len(ids)), longest
    )
    return {each: each[:length] for each in ids}


def _one_line(text: str) -> str:
    """A text without what would break or hide the line that it stands in."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _mermaid_label(words: Sequence[str]) -> str:
    return "<br/>".join(_NOT_PLAIN.sub(lambda found: f"#{ord(found.group())};", each) for each in words)


def _dot_label(words: Sequence[str]) -> str:
    # Graphviz reads escapes of its own, and the entities of HTML.
    quoted = (each.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for each in words)
    return "\\n".join(quoted)
