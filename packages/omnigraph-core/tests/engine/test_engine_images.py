"""An image has every entity of a type by id; its columns are loaded once, when they are asked for."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.engine.entities import ABSENT
from omnigraph.engine.images import FEW, PATIENCE, Image, load_image, lower_bounds
from omnigraph.engine.pinned_rows import Stored
from omnigraph.engine.stored_rows import load_rows
from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.arrow_schema import BLOB_MARK
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.lance_tables import LanceTables

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("n", pa.int64()),
        pa.field("picture", pa.large_binary(), metadata={BLOB_MARK: b"true"}),
        pa.field("text", pa.string()),
    ]
)
IDS = ["m", "é", "a", "Z", "\U0001d11e", "\uffff", "", "ab", "a b"]
ASCENDING = ["", "Z", "a", "a b", "ab", "m", "é", "\uffff", "\U0001d11e"]
"""By the bytes in UTF-8, written down by hand."""


def stored_rows(ids: list[str]) -> Stored:
    tables = LanceTables(MemoryAdapter(parse_uri(f"memory://images-{secrets.token_hex(6)}")))
    numbers = range(len(ids))
    rows = pa.table(
        [ids, numbers, [b"x"] * len(ids), [None if each % 7 == 3 else f"text {each}" for each in numbers]],
        schema=SCHEMA,
    )
    return Stored.of("node:N", tables, tables.commit_create(tables.stage_create("nodes/n", SCHEMA, rows)))


@pytest.fixture
def image() -> Image:
    return load_image(stored_rows(IDS))


@pytest.fixture
def numbered() -> Image:
    """500 entities, stored in an order that is not that of their ids; ``n`` tells the place in storage."""
    return load_image(stored_rows([f"{each * 337 % 500:03d}" for each in range(500)]))


def test_entities_are_in_the_order_of_the_bytes_of_their_ids(image: Image) -> None:
    assert image.ids.to_pylist() == ASCENDING
    assert image.column("n").to_pylist() == [IDS.index(each) for each in ASCENDING]
    assert image.addresses.tolist() == [IDS.index(each) for each in ASCENDING]
    assert len(image) == 9
    assert image.key == "node:N"


def test_columns_asked_for_come_with_the_ids_in_one_read_and_others_in_one_each() -> None:
    stored = stored_rows(IDS)
    with count_table_calls() as counts:
        image = load_image(stored, ["n"])
        image.column("n")
        image.column("id")
        assert counts == {"read": 1}
        image.column("text")
        image.column("text")
        assert counts == {"read": 2}


def test_a_blob_column_is_not_among_those_that_can_be_read(image: Image) -> None:
    assert image.stored.columns == ("id", "n", "text")


def test_an_id_is_found_and_what_is_not_there_is_not(image: Image) -> None:
    assert [image.find_one(each) for each in ASCENDING] == [*range(9)]
    assert [image.find_one(each) for each in ("b", "zz", "\U0010ffff", "a\0", "É")] == [ABSENT] * 5


@pytest.mark.parametrize("count", [0, 1, 16, 17, 30, 31, 400, 2000])
def test_however_many_ids_are_asked_for_each_is_found(numbered: Image, count: int) -> None:
    wanted = [f"{each * 7 % 600:03d}" for each in range(count)]
    expected = [int(each) if int(each) < 500 else ABSENT for each in wanted]
    assert numbered.find(pa.array(wanted, pa.string())).tolist() == expected
    assert numbered.find(pa.chunked_array([wanted[:5], wanted[5:]], pa.string())).tolist() == expected


@pytest.mark.parametrize("count", [1, 20, 200])
def test_null_is_no_id(numbered: Image, count: int) -> None:
    assert numbered.find(pa.array([None, "007"] * count, pa.string())).tolist() == [ABSENT, 7] * count


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 9, 64])
def test_the_first_place_that_is_not_before_an_id(size: int) -> None:
    ids = pa.array([f"{2 * each + 1:03d}" for each in range(size)], pa.string())
    wanted = [f"{each:03d}" for each in range(2 * size + 2)] * 9
    expected = [sum(one < each for one in ids.to_pylist()) for each in wanted]
    assert lower_bounds(ids, pa.array(wanted, pa.string())).tolist() == expected


def test_values_are_null_where_there_is_no_entity(image: Image) -> None:
    assert image.values("n", np.array([2, ABSENT, 2, 0])).to_pylist() == [2, None, 2, 6]


def test_a_few_values_of_a_large_type_are_fetched_until_they_are_asked_for_often(
    numbered: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.engine.images.LARGE", 499)
    places = numbered.column("n").to_pylist()
    positions = np.array([499, 3, ABSENT, 3, 0])
    expected = [None if each == ABSENT or places[each] % 7 == 3 else f"text {places[each]}" for each in positions]
    for _ in range(PATIENCE - 1):
        with count_table_calls() as counts:
            assert numbered.values("text", positions).to_pylist() == expected
        assert counts == {"take": 1}
        assert not numbered.is_loaded("text")
    with count_table_calls() as counts:
        assert numbered.values("text", positions).to_pylist() == expected
        assert numbered.values("text", positions).to_pylist() == expected
    assert counts == {"read": 1}


def test_many_values_load_the_column_and_so_do_few_of_a_small_type(
    numbered: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    with count_table_calls() as counts:
        numbered.values("n", np.array([1]))
    assert counts == {"read": 1}
    monkeypatch.setattr("omnigraph.engine.images.LARGE", 499)
    with count_table_calls() as counts:
        numbered.values("text", np.arange(FEW + 1))
    assert counts == {"read": 1}


def test_no_values_at_all_are_fetched_without_a_row(numbered: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph.engine.images.LARGE", 499)
    assert numbered.values("text", np.array([], np.int64)).type == pa.string()
    assert numbered.values("text", np.array([ABSENT, ABSENT])).to_pylist() == [None, None]


def test_threads_that_ask_for_one_column_load_it_once(numbered: Image) -> None:
    barrier = threading.Barrier(16)
    found: list[pa.Array] = []

    def ask() -> None:
        barrier.wait()
        found.append(numbered.column("text"))

    with count_table_calls() as counts:
        run_all([ask] * 16)
    assert counts == {"read": 1}
    assert len({id(each) for each in found}) == 1


def test_a_column_that_could_not_be_read_is_read_by_the_next_who_asks(
    numbered: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> object:
        raise StorageError("The store is away.", condition=StorageCondition.TRANSIENT)

    with monkeypatch.context() as patch:
        patch.setattr(Stored, "read", fails)
        with pytest.raises(StorageError):
            numbered.column("text")
    assert len(numbered.column("text")) == 500


def test_what_is_derived_is_made_once_kept_and_counted(numbered: Image) -> None:
    calls: list[Image] = []

    def build(image: Image) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        calls.append(image)
        return np.arange(100)

    before = numbered.nbytes
    assert numbered.peek("sums") is None
    run_all([lambda: numbered.derived("sums", build)] * 8)
    assert calls == [numbered]
    assert numbered.peek("sums") is numbered.derived("sums", build)
    assert numbered.nbytes == before + 800


def test_the_size_counts_ids_addresses_and_loaded_columns_and_growth_is_told() -> None:
    grown: list[int] = []
    image = load_image(stored_rows(IDS), on_growth=lambda: grown.append(image.nbytes))
    assert image.nbytes >= image.ids.nbytes + 8 * len(IDS)
    before = image.nbytes
    image.column("text")
    assert grown == [image.nbytes] == [before + image.column("text").nbytes]


def test_stored_rows_are_by_address_with_the_columns_asked_for() -> None:
    stored = stored_rows(IDS)
    with count_table_calls() as counts:
        rows = load_rows(stored, ["text", "n"])
        assert rows.column("n").to_pylist() == [*range(9)]
        assert rows.addresses.tolist() == [*range(9)]
        assert counts == {"read": 1}
        assert rows.column("id").to_pylist() == IDS
    assert counts == {"read": 2}


def run_all(work: list[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=each) for each in work]
    for each in threads:
        each.start()
    for each in threads:
        each.join(timeout=30)
    assert not any(each.is_alive() for each in threads)
