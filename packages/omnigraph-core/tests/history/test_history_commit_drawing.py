"""Commit graphs as text, Mermaid and DOT: what is drawn is what there is, and it can be read back."""

from __future__ import annotations

import html
import re
from textwrap import dedent

import pytest
from commit_graphs import chain, commit, histories
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.history.commit_drawing import draw_dot, draw_mermaid, draw_text
from omnigraph.history.commit_lanes import LaneRow, lane_rows
from omnigraph.history.commits import Commit
from omnigraph.history.lineage import in_order, parents_of
from omnigraph.history.ulids import new_ulid

Edges = set[tuple[str, str, bool]]
"""From a commit to a parent, and whether that was merged in."""


def edges_of(commits: list[Commit]) -> Edges:
    return {(each.id, parent, parent == each.merged_parent_id) for each in commits for parent in parents_of(each)}


def drawn(commits: list[Commit]) -> str:
    return "\n".join(f"{row.lanes}  {row.commit.id}" if row.commit else row.lanes for row in lane_rows(commits))


# ── lines ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Reader:
    """Follows the lines of a drawing by eye: all that it knows of a row is its characters."""

    def __init__(self) -> None:
        self.edges: Edges = set()
        self.lines: dict[int, set[tuple[str, bool]]] = {}
        self.last = ("", -1)

    def read(self, row: LaneRow) -> None:
        text, (child, column) = row.lanes, self.last
        assert text == text.rstrip()
        if row.commit is None:
            self._turn(text, child, column)
        else:
            if column >= 0 and text[2 * column : 2 * column + 1] not in ("|", "*"):
                # Nothing goes on below it, so it has no parents.
                assert self.lines.pop(column, {(child, False)}) == {(child, False)}
            self._commit(text, row.commit.id)

    def _commit(self, text: str, name: str) -> None:
        column = text.index("*") // 2
        here = self.lines.pop(column, set())
        assert {2 * each: "|" for each in self.lines} | {2 * column: "*"} == {
            at: each for at, each in enumerate(text) if each != " "
        }
        self.edges |= {(child, name, is_merged) for child, is_merged in here}
        self.lines[column] = {(name, False)}
        self.last = name, column

    def _turn(self, text: str, child: str, column: int) -> None:
        (slope,) = re.finditer(r"[\\/]", text)
        near, far = slope.start() + 1, slope.start() - 1
        while far > 0 and text[far - 1] == "-":
            assert text[far] == ("|" if far // 2 in self.lines else "-")
            far -= 2
        assert set(text) <= set("|\\/- ")
        if slope.group() == "\\":
            assert far == 2 * column
            self.lines.setdefault(near // 2, set()).add((child, True))
        elif text[near : near + 1] == "|":
            assert near == 2 * column
            self.lines[far // 2].add((child, True))
        else:
            self.lines[far // 2] |= self.lines.pop(near // 2)
            if near == 2 * column:
                self.last = child, -1


@given(histories(max_size=16))
@settings(max_examples=500)
def test_the_lines_lead_from_each_commit_to_its_parents_and_nowhere_else(history):
    reader = Reader()
    for row in lane_rows(in_order(history)):
        reader.read(row)
    assert reader.edges == edges_of(history)


@given(histories(max_size=16), st.integers(0, 16))
def test_lines_to_parents_that_are_not_shown_run_to_the_end(history, count):
    shown = in_order(history)[:count]
    names = {each.id for each in shown}
    reader = Reader()
    for row in lane_rows(shown):
        reader.read(row)
    expected = edges_of(shown)
    assert reader.edges == {each for each in expected if each[1] in names}
    going_on = {line for lines in reader.lines.values() for line in lines}
    last = {(shown[-1].id, False)} if shown and not parents_of(shown[-1]) else set()
    assert going_on - last == {(child, is_merged) for child, parent, is_merged in expected if parent not in names}


def test_one_branch_is_one_line():
    assert drawn(in_order(chain("abc"))) == "*  c\n*  b\n*  a"


def test_a_branch_and_its_merge():
    history = [*chain("ab"), commit("s", "a", at=3), commit("m", "b", "s", at=4)]
    assert drawn(in_order(history)) == dedent(
        r"""
        *  m
        |\
        | *  s
        * |  b
        |/
        *  a
        """
    ).strip("\n")


def test_a_line_that_goes_far_runs_behind_those_in_between():
    history = [
        commit("r"),
        commit("x", "r", at=1),
        commit("y", "r", at=2),
        commit("one", "x", at=9),
        commit("two", "y", at=8),
        commit("three", "x", "y", at=7),
        commit("four", "r", at=6),
    ]
    assert drawn(in_order(history)) == dedent(
        r"""
        *  one
        | *  two
        | | *  three
        | |/|
        |-|/
        | | *  four
        | * |  y
        | |/
        * |  x
        |/
        *  r
        """
    ).strip("\n")


def test_a_commit_that_begins_anew_does_not_stand_below_one_that_ends():
    assert drawn([commit("b"), commit("a")]) == "*  b\n  *  a"


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_line_tells_id_names_branch_kind_actor_and_time():
    history = [commit("a", actor="ann"), commit("b", "a", at=61, branch="dev")]
    assert draw_text(in_order(history), {"b": ["dev", "v1"]}) == (
        "*  b  (dev, v1)  dev  data  2026-02-01 10:31:01Z\n*  a  main  data  ann  2026-02-01 10:30:00Z"
    )
    assert draw_text([], {}) == ""


def test_ids_are_as_short_as_they_can_be_told_apart():
    one, two = "01KA7X3J8Q0000000000000000", "01KA7X3J8Q0100000000000000"
    assert draw_text([commit(one)], {}).split()[1] == "01KA7X3J8Q"
    words = [line.split()[1] for line in draw_text([commit(two, one), commit(one)], {}).splitlines()]
    assert words == ["01KA7X3J8Q01", "01KA7X3J8Q00"]
    ids = [new_ulid() for _ in range(500)]
    drawing = draw_text([commit(each) for each in ids], {})
    short = [line.replace("*", " ").replace("|", " ").split()[0] for line in drawing.splitlines()]
    assert len(set(short)) == 500
    assert all(whole.startswith(each) for whole, each in zip(ids, short, strict=True))


@pytest.mark.parametrize("text", ["a\nb", "a\u2028b", "a\x1b[31mb", "a\u202eb", "a\rb"])
def test_no_name_breaks_or_hides_its_line(text):
    drawing = draw_text([commit("a", actor=text, branch=text)], {"a": [text]})
    assert drawing.isprintable()
    assert len(drawing.splitlines()) == 1


# ── charts ───────────────────────────────────────────────────────────────────────────────────────────────────────


def read_mermaid(drawing: str) -> tuple[dict[str, list[str]], Edges]:
    """The lines of each box and the arrows; whatever is not exactly one of them is refused."""
    head, *lines = drawing.split("\n")
    assert head == "flowchart TB"
    boxes: dict[str, list[str]] = {}
    arrows: Edges = set()
    for line in lines:
        if box := re.fullmatch(r'    (c\d+)\["((?:[^\W_]|[ /]|[^\x00-\x7f]|#\d+;|<br/>)*)"\]', line):
            words = box.group(2).split("<br/>")
            boxes[box.group(1)] = [re.sub(r"#(\d+);", lambda code: chr(int(code.group(1))), word) for word in words]
        else:
            child, kind, parent = re.fullmatch(r"    (c\d+) (-->|-\.->) (c\d+)", line).groups()
            arrows.add((child, parent, kind == "-.->"))
    return boxes, arrows


def read_dot(drawing: str) -> tuple[dict[str, list[str]], Edges]:
    head, shape, *lines, end = drawing.split("\n")
    assert (head, shape, end) == ("digraph commits {", "    node [shape=box];", "}")
    boxes: dict[str, list[str]] = {}
    arrows: Edges = set()
    for line in lines:
        if box := re.fullmatch(r'    (c\d+) \[label="((?:[^"\\]|\\[n"\\])*)"\];', line):
            plain = re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found.group(1), found.group(1)), box.group(2))
            assert not re.search("&(?!amp;)", plain)
            boxes[box.group(1)] = html.unescape(plain).split("\n")
        else:
            child, parent, style = re.fullmatch(r"    (c\d+) -> (c\d+)( \[style=dashed\])?;", line).groups()
            arrows.add((child, parent, style is not None))
    return boxes, arrows


CHARTS = pytest.mark.parametrize(("draw", "read"), [(draw_mermaid, read_mermaid), (draw_dot, read_dot)])


@CHARTS
@given(histories(), st.integers(0, 14))
def test_a_chart_has_every_commit_and_every_parent(draw, read, history, count):
    shown = in_order(history)[:count]
    boxes, arrows = read(draw(shown, {}))
    # Made-up ids are short, so a box begins with the whole of it.
    names = {box: words[0] for box, words in boxes.items()}
    assert {(names[child], names[parent], is_merged) for child, parent, is_merged in arrows} == edges_of(shown)
    assert sorted(names.values()) == sorted({each.id for each in shown} | {each[1] for each in edges_of(shown)})
    cut = {words[0] for words in boxes.values() if words[1:] == ["..."]}
    assert cut == {each[1] for each in edges_of(shown)} - {each.id for each in shown}


TEXTS = st.text(min_size=1).filter(str.isprintable)


@CHARTS
@given(TEXTS, TEXTS, TEXTS)
def test_names_are_shown_as_they_are_whatever_they_hold(draw, read, branch, actor, label):
    boxes, _ = read(draw([commit("a", branch=branch, actor=actor)], {"a": [label, "v1"]}))
    assert boxes == {"c0": ["a", f"({label}, v1)", branch, "data", actor, "2026-02-01 10:30:00Z"]}


@CHARTS
@pytest.mark.parametrize(
    "name", ['"]; x --> y', "<b>&lt;</b>", 'a\\n\\"', "#quot;", "1. a", "- a", "`a`", "*a*", "style a:#1;", "]", "a\nb"]
)
def test_names_that_look_like_the_language_of_a_chart_stay_names(draw, read, name):
    boxes, arrows = read(draw([commit("a", branch=name)], {}))
    assert boxes["c0"][1] == name.replace("\n", "\\n")
    assert not arrows


def test_a_chart_of_nothing_is_a_chart():
    assert draw_mermaid([], {}) == "flowchart TB"
    assert draw_dot([], {}) == "digraph commits {\n    node [shape=box];\n}"


def test_what_a_chart_looks_like():
    history = in_order([*chain("ab"), commit("s", "a", at=3), commit("m", "b", "s", at=4)])
    assert draw_dot(history, {"m": ["main"]}) == dedent(
        r"""
        digraph commits {
            node [shape=box];
            c0 [label="m\n(main)\nmain\nmerge\n2026-02-01 10:30:04Z"];
            c1 [label="s\nmain\ndata\n2026-02-01 10:30:03Z"];
            c2 [label="b\nmain\ndata\n2026-02-01 10:30:01Z"];
            c3 [label="a\nmain\ndata\n2026-02-01 10:30:00Z"];
            c0 -> c2;
            c0 -> c1 [style=dashed];
            c1 -> c3;
            c2 -> c3;
        }
        """
    ).strip("\n")
    assert draw_mermaid(history[2:], {}) == dedent(
        """
        flowchart TB
            c0["b<br/>main<br/>data<br/>2026#45;02#45;01 10#58;30#58;01Z"]
            c1["a<br/>main<br/>data<br/>2026#45;02#45;01 10#58;30#58;00Z"]
            c0 --> c1
        """
    ).strip("\n")
