"""Operators get whole types from memory where these fit, few rows from storage otherwise, always at one snapshot."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.config import Settings
from omnigraph.engine.entities import HeldRows
from omnigraph.engine.images import PATIENCE, Image, load_image
from omnigraph.engine.memory import Memory
from omnigraph.engine.pinned_rows import Stored
from omnigraph.engine.source import BRANCH_VERSIONS, Source
from omnigraph.history.snapshot import Snapshot
from omnigraph.plugins import open_adapter
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.interface import IndexSpec
from omnigraph.write.init import init_graph
from omnigraph.write.load import LoadMode, LoadRequest, load

SCHEMA = """
node Film {
  slug: String @key
  title: String?
  stars: F64?
  taste: Vector(4)?
  tags: [String]?
}
edge Follows: Film -> Film
"""
FILM, FOLLOWS = "node:Film", "edge:Follows"


class World:
    """One graph in memory, what it keeps decoded, and a source at any of its snapshots."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = Settings() if settings is None else settings
        adapter = open_adapter(f"memory://source-{secrets.token_hex(6)}", options=None)
        self.repository = init_graph(adapter, SCHEMA, actor=None, force=False)
        self.memory = Memory(self.settings.cache_bytes)

    def films(self, slugs: Iterable[str], mode: str = "append", stars: float = 1.0) -> Snapshot:
        return self.load([{"type": "Film", "data": {"slug": each, "stars": stars}} for each in slugs], mode)

    def load(self, records: list[dict[str, Any]], mode: str = "append") -> Snapshot:
        load(self.repository, records, LoadRequest(mode=LoadMode(mode), branch="main"))
        return self.repository.snapshot_of()

    def source(self, snapshot: Snapshot | None = None) -> Source:
        seen = self.repository.snapshot_of() if snapshot is None else snapshot
        return Source(seen, self.repository.tables, self.memory, self.settings)

    def image(self, snapshot: Snapshot | None = None, **options: Any) -> Image:
        found = self.source(snapshot).image(FILM, **options)
        assert found is not None
        return found


@pytest.fixture
def world() -> World:
    made = World()
    made.films([f"f{each:02d}" for each in range(30)])
    made.load([{"edge": "Follows", "from": f"f{each:02d}", "to": f"f{each + 1:02d}"} for each in range(20)])
    return made


def test_a_held_image_asked_for_again_costs_no_call(world: World) -> None:
    first = world.image()
    first.column("stars")
    snapshot = world.repository.snapshot_of()
    with count_table_calls() as counts:
        source = world.source(snapshot)
        again = source.image(FILM)
        assert source.image(FILM) is again
        assert again is not None
        again.column("stars")
    assert again is first
    assert counts.total() == 0
    assert world.memory.stats()["types"].hits == 1


def test_after_a_commit_of_one_row_one_row_is_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.image(columns=("stars", "title", "taste", "tags"))
    snapshot = world.films(["f05x"], stars=7)
    read: list[int] = []
    plain = Stored.read

    def counted(self: Stored, *args: Any, **options: Any) -> Any:
        rows, addresses = plain(self, *args, **options)
        read.append(len(addresses))
        return rows, addresses

    monkeypatch.setattr(Stored, "read", counted)
    with count_table_calls() as counts:
        image = world.image(snapshot)
        stars = image.column("stars")
        image.column("taste")
    assert read == [1]
    assert counts["read"] == 1
    assert counts["scan"] == counts["lookup"] == counts["take"] == 0
    assert stars.to_pylist() == [1.0] * 6 + [7.0] + [1.0] * 24
    stats = world.memory.stats()["types"]
    assert (stats.builds, stats.extensions) == (2, 1)


def test_every_snapshot_of_a_graph_shows_its_own_rows_whichever_is_held(world: World) -> None:
    snapshots = [world.repository.snapshot_of()]
    snapshots.append(world.films(["f00", "new"], "merge", stars=2))
    snapshots.append(world.films(["a", "z"]))
    snapshots.append(world.films(["f01", "f02"], "merge", stars=3))
    snapshots.append(world.films([*(f"f{each:02d}" for each in range(21)), "only"], "overwrite", stars=4))
    snapshots.append(world.films(["more"]))
    expected = [load_fresh(world, each) for each in snapshots]
    for number in (0, 3, 1, 5, 2, 4, 0, 5):
        image = world.image(snapshots[number])
        fresh = expected[number]
        assert image.ids.equals(fresh.ids)
        assert np.array_equal(image.addresses, fresh.addresses)
        for name in fresh.stored.columns:
            assert image.column(name).equals(fresh.column(name))


def load_fresh(world: World, snapshot: Snapshot) -> Image:
    tables = world.repository.tables
    pin = snapshot.entry(snapshot.schema.tables[FILM]).pin
    return load_image(Stored.of(FILM, tables, tables.open_at(pin)))


def test_the_version_to_extend_from_is_the_newest_not_the_last_one_read(world: World) -> None:
    old = world.repository.snapshot_of()
    world.image(old)
    newest = world.image(world.films(["a"]))
    world.image(old)
    image = world.image(world.films(["b"]))
    assert image.step is not None
    assert image.step.parent is newest


def test_old_versions_of_a_busy_type_leave(world: World) -> None:
    for number in range(6):
        world.image(world.films([f"new{number}"]))
    assert world.memory.stats()["types"].entries == BRANCH_VERSIONS


def test_threads_on_one_handle_share_one_load(world: World) -> None:
    snapshot = world.repository.snapshot_of()
    barrier = threading.Barrier(16)
    found: list[Image] = []

    def ask() -> None:
        barrier.wait()
        found.append(world.image(snapshot))

    threads = [threading.Thread(target=ask) for _ in range(16)]
    with count_table_calls() as counts:
        for each in threads:
            each.start()
        for each in threads:
            each.join(timeout=30)
    assert counts["read"] == 1
    assert len(found) == 16
    assert len({id(each) for each in found}) == 1


def test_the_ends_of_edges_are_held_by_themselves_and_extended(world: World) -> None:
    ends = world.source().endpoints(FOLLOWS)
    assert ends is not None
    assert ends.column("src").to_pylist() == [f"f{each:02d}" for each in range(20)]
    assert ends.column("dst").to_pylist() == [f"f{each + 1:02d}" for each in range(20)]
    assert not ends.is_loaded("id")
    world.load([{"edge": "Follows", "from": "f29", "to": "f00"}])
    with count_table_calls() as counts:
        more = world.source().endpoints(FOLLOWS)
        assert more is not None
        assert more.column("src").to_pylist()[-1] == "f29"
    assert counts["read"] == 1
    assert more.positions_from(ends).tolist() == [*range(20)]  # type: ignore[union-attr]
    assert world.memory.stats()["endpoints"].extensions == 1


def test_growing_images_are_counted(world: World) -> None:
    image = world.image()
    before = world.memory.stats()["types"].bytes
    assert before == image.nbytes
    image.column("stars")
    assert world.memory.stats()["types"].bytes == image.nbytes > before


def test_a_type_is_held_up_to_half_of_the_bound() -> None:
    world = World()
    world.films([f"f{each:02d}" for each in range(30)])
    # 30 rows: an id is taken for 32 bytes, a row for 12 beside its columns.
    bare, rated, tasted = 30 * 44, 30 * 52, 30 * 60
    for bound, columns, is_held in (
        (2 * bare, (), True),
        (2 * bare - 1, (), False),
        (2 * rated, ("stars", "id"), True),
        (2 * rated - 1, ("stars",), False),
        (2 * tasted, ("taste",), True),
        (2 * tasted - 1, ("taste",), False),
    ):
        world.settings, world.memory = replace(world.settings, cache_bytes=bound), Memory(bound)
        assert (world.source().image(FILM, columns=columns) is not None) is is_held
        assert world.memory.holds("types", (FILM, world.source().entry(FILM).pin)) is is_held


def test_a_type_that_became_too_large_is_not_read_whole_because_a_small_one_was_held() -> None:
    world = World(Settings(cache_bytes=2 * 44 * 20))
    world.films([f"f{each:02d}" for each in range(20)])
    assert world.source().image(FILM) is not None
    world.films(["one more"])
    assert world.source().image(FILM) is None
    assert not world.source().is_held(FILM)


def test_the_setting_forces_types_into_memory_or_out_of_it(world: World) -> None:
    world.settings, world.memory = Settings(scan_mode="memory", cache_bytes=0), Memory(0)
    assert len(world.image(is_selective=True)) == 30
    assert world.source().endpoints(FOLLOWS) is not None
    assert world.memory.stats()["types"].entries == 0
    world.settings, world.memory = Settings(scan_mode="stored"), Memory(1 << 20)
    source = world.source()
    assert source.image(FILM) is None
    assert source.endpoints(FOLLOWS) is None
    assert isinstance(source.nodes(FILM, pa.array(["f03"]), ["stars"]), HeldRows)


def test_a_large_type_is_held_when_few_rows_of_it_were_asked_for_often(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.engine.source.LARGE", 29)
    for _ in range(PATIENCE - 1):
        assert world.source().image(FILM, is_selective=True) is None
        assert not world.source().is_held(FILM)
    assert world.source().image(FILM, is_selective=True) is not None
    # Once it is held, it is brought to later versions, whoever asks.
    snapshot = world.films(["one more"])
    assert world.source(snapshot).is_held(FILM)
    assert len(world.image(snapshot, is_selective=True)) == 31


def test_asking_whether_a_type_is_held_reads_nothing(world: World) -> None:
    source = world.source()
    with count_table_calls() as counts:
        assert not source.is_held(FILM)
    assert counts.total() == 0
    world.image()
    assert world.source().is_held(FILM)


def test_rows_are_looked_up_by_id_or_by_another_column(world: World) -> None:
    source = world.source()
    asked = pa.chunked_array([["f07", "f03"], ["nobody", None, "f07"]], pa.string())
    found = source.rows(FILM, asked, ["stars"])
    assert found.ids.to_pylist() == ["f03", "f07"]
    assert found.column("stars").to_pylist() == [1.0, 1.0]
    edges = source.rows(FOLLOWS, pa.array(["f03", "f04"]), ["src", "dst"], by="dst")
    assert sorted(edges.column("src").to_pylist()) == ["f02", "f03"]
    assert len(source.rows(FILM, pa.array([], pa.string()), [])) == 0


def test_nodes_are_the_whole_type_where_that_is_held_and_their_rows_elsewhere(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.engine.source.LARGE", 29)
    few = pa.array(["f03", "f01"])
    rows = world.source().nodes(FILM, few, ["stars"])
    assert isinstance(rows, HeldRows)
    assert rows.ids.to_pylist() == ["f01", "f03"]
    monkeypatch.setattr("omnigraph.engine.source.FEW_NODES", 1)
    assert isinstance(world.source().nodes(FILM, few, ["stars"]), Image)
    monkeypatch.setattr("omnigraph.engine.source.FEW_NODES", 1000)
    assert isinstance(world.source().nodes(FILM, few, ["stars"]), Image)


def test_coverage_is_that_of_the_index_of_the_kind_on_the_column(world: World) -> None:
    source = world.source()
    assert source.coverage(FILM, "id", "btree") is None
    tables, handle = source.tables, source.handle(FILM)
    staged = tables.stage_indexes(handle, [IndexSpec(column="id", kind="btree", name="by_id")])
    assert staged is not None
    made = tables.commit_exact(handle, [staged])
    indexed = world.source()
    indexed._handles[FILM] = made
    found = indexed.coverage(FILM, "id", "btree")
    assert found is not None
    assert (found.covered_rows, found.uncovered_rows) == (30, 0)
    assert indexed.coverage(FILM, "id", "inverted") is None
    assert indexed.coverage(FILM, "title", "btree") is None
