"""One byte of a branch's newest manifest is wrong: that branch says so, and nothing else of the graph is disturbed.

The file is changed on a real disk, one position after the other, and everything is asked anew with a cold handle. A
call ends with what was acknowledged, or with a typed error: never with a panic, and never with an older state.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import FormatError, NotFoundError, StorageError
from omnigraph.history.recoveries import Recovery, RecoveryKind, record_recovery

SCHEMA = "node Film { code: String @key }\n"
POSITIONS = 160
"""At so many places of the file, spread over all of it, a bit is turned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A graph with main, ``other`` and ``review``, whose newest manifest is damaged by the tests.

    Attributes:
        codes: what each branch holds.
        only_there: a commit that is on ``review`` alone.
        manifest: the file that is damaged.
    """

    root: Path
    codes: dict[str, list[str]]
    only_there: str
    manifest: Path
    ref: Path


@pytest.fixture
def world(tmp_path: Path) -> World:
    root = tmp_path / "graph"
    with og.init(root, schema=SCHEMA) as graph:
        graph.load([film("m1")], "append")
        for name in ("other", "review"):
            graph.branches.create(name)
            graph.load([film(name)], "append", branch=name)
        graph.tags.create("seen", graph.branches.show("other").head)
        only_there = graph.branches.show("review").head
        assert only_there is not None
    ref = root / "_refs" / "branches" / "review.json"
    line = json.loads(ref.read_text())["physical"]
    # Lance counts down: the newest version has the smallest name.
    manifest = min(root.glob(f"__manifest/*/tree/{line}/_versions/*.manifest"))
    codes = {"main": ["m1"], "other": ["m1", "other"], "review": ["m1", "review"]}
    return World(root=root, codes=codes, only_there=only_there, manifest=manifest, ref=ref)


def film(code: str) -> dict[str, object]:
    return {"type": "Film", "data": {"code": code}}


def codes(graph: og.Graph, branch: str) -> list[str]:
    return sorted(row["code"] for row in graph.table("Film", ["code"], branch=branch))


def asked_of_review(graph: og.Graph, world: World) -> dict[str, Callable[[], bool]]:
    """Verbs that need the damaged branch, each with whether its answer is right."""
    return {
        "show": lambda: graph.branches.show("review").head == world.only_there,
        "table": lambda: codes(graph, "review") == world.codes["review"],
        "commits": lambda: graph.commits.list("review")[0].id == world.only_there,
        "commit": lambda: graph.commits.show(world.only_there).id == world.only_there,
        "diff": lambda: [each.op for each in graph.diff("main", "review")] == ["insert"],
        "export": lambda: len(list(graph.export(branch="review"))) == 2,
    }


def check_the_others(graph: og.Graph, world: World) -> None:
    """Everything that does not need the damaged branch."""
    assert codes(graph, "main") == world.codes["main"]
    assert codes(graph, "other") == world.codes["other"]
    assert [each.name for each in graph.tags.list()] == ["seen"]
    known = graph.tags.list()[0].commit_id
    assert graph.commits.show(known).id == known
    assert known[:8] in graph.commits.graph() or known in graph.commits.graph()
    listed = {each.name: each for each in graph.branches.list()}
    assert list(listed) == ["main", "other", "review"]
    assert listed["main"].problem is None
    assert listed["other"].head == known
    assert listed["other"].problem is None


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_a_wrong_byte_in_a_manifest_is_a_typed_error_or_nothing_and_stays_where_it_is(world: World, mode: str):
    whole = world.manifest.read_bytes()
    wrong: list[str] = []
    failed = 0
    for number in range(POSITIONS):
        position = number * len(whole) // POSITIONS
        damaged = bytearray(whole)
        damaged[position] ^= 1 << (number % 8)
        world.manifest.write_bytes(damaged)
        with og.open(world.root, mode=mode) as graph:
            check_the_others(graph, world)
            listed = graph.branches.list()[2]
            assert (listed.head is None) == (listed.problem is not None)
            for verb, is_right in asked_of_review(graph, world).items():
                try:
                    if not is_right():
                        wrong.append(f"{verb} at {position}")
                except (FormatError, StorageError, NotFoundError):
                    failed += 1
        assert world.manifest.read_bytes() == damaged, position
    assert wrong == []
    assert failed > POSITIONS


STAMP = b"omnigraph:internal_schema_version\x12\x01"


def in_another_format(world: World) -> None:
    data = world.manifest.read_bytes()
    found = data.index(STAMP) + len(STAMP)
    world.manifest.write_bytes(data.replace(data[found - len(STAMP) : found + 1], STAMP + b"9"))


def with_a_panic(world: World) -> None:
    data = bytearray(world.manifest.read_bytes())
    data[-16] ^= 0x40
    world.manifest.write_bytes(data)


def without_its_line(world: World) -> None:
    for file in world.manifest.parent.iterdir():
        file.unlink()


def with_a_damaged_object(world: World) -> None:
    world.ref.write_bytes(world.ref.read_bytes()[:-5])


DAMAGES = {
    "another format": in_another_format,
    "a panic": with_a_panic,
    "no line": without_its_line,
    "a damaged object": with_a_damaged_object,
}


@pytest.mark.parametrize("mode", ["r", "rw"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_one_damaged_branch_is_marked_in_the_listing_and_disturbs_no_other_verb(world: World, damage: str, mode: str):
    DAMAGES[damage](world)
    with og.open(world.root, mode=mode) as graph:
        check_the_others(graph, world)
        marked = graph.branches.list()[2]
        assert marked.head is None
        assert marked.problem
        assert marked.to_dict()["problem"] == marked.problem
        for call in (lambda: graph.branches.show("review"), lambda: codes(graph, "review")):
            with pytest.raises((FormatError, StorageError, NotFoundError)):
                call()


@pytest.mark.parametrize("damage", ["another format", "a panic", "a damaged object"])
def test_a_commit_that_may_be_on_a_damaged_branch_is_not_said_to_be_missing(world: World, damage: str):
    DAMAGES[damage](world)
    with og.open(world.root) as graph:
        if damage == "a damaged object":
            # The line is found without its name.
            assert graph.commits.show(world.only_there).id == world.only_there
        else:
            with pytest.raises((FormatError, StorageError)):
                graph.commits.show(world.only_there)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_branch_can_be_deleted_and_its_name_used_again(world: World, damage: str):
    DAMAGES[damage](world)
    with og.open(world.root) as graph:
        graph.branches.delete("review")
        assert [each.name for each in graph.branches.list()] == ["main", "other"]
        graph.branches.create("review", "other")
        assert codes(graph, "review") == world.codes["other"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_graph_with_a_damaged_branch_takes_writes_to_the_others(world: World, damage: str):
    DAMAGES[damage](world)
    with og.open(world.root) as graph:
        graph.load([film("m2")], "append")
        graph.load([film("o2")], "append", branch="other")
        assert graph.branches.merge("other").outcome == "merged"
        assert codes(graph, "main") == ["m1", "m2", "o2", "other"]


def test_writes_that_were_taken_back_are_listed_beside_a_damaged_branch(world: World):
    """Whether one of them was published after all is looked up on every branch that can be read."""
    with og.open(world.root) as graph:
        made = graph.commits.list("other")[0]
        for number, commit_id in enumerate((made.id, "01ARZ3NDEKTSV4RRFFQ69G5FAV")):
            taken_back = Recovery(
                graph_commit_id=commit_id,
                kind=RecoveryKind.ROLLED_BACK,
                recovery_for_actor=None,
                operation_id=f"01ARZ3NDEKTSV4RRFFQ69G5FA{number}",
                writer_kind="load",
                branch="gone",
                tables=(),
                created_at=made.created_at,
            )
            record_recovery(graph._repository.manifests, taken_back)
    world.manifest.write_bytes(b"")
    with og.open(world.root, mode="r") as graph:
        assert [each.published_version for each in graph.recoveries.list()] == [None, made.manifest_version]
