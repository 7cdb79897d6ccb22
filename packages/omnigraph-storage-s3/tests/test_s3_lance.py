"""Lance and the adapter agree on where a table is, whatever its name."""

from __future__ import annotations

from collections.abc import Callable

import lance
import pyarrow as pa
import pytest

from omnigraph.testing.s3_servers import S3Server
from omnigraph_storage_s3.adapter import S3Adapter

Open = Callable[..., S3Adapter]

ODD = [
    "plain",
    "sp ace",
    "ha#sh",
    "que?stion",
    "per%cent",
    "per%20cent",
    "%2F",
    "plus+plus",
    "a&b=c;d",
    "Zoë 日本",
    "~'[x]{y}|^",
]


@pytest.mark.parametrize("name", ODD)
def test_the_files_of_a_table_are_objects_below_its_key(open_s3: Open, ministack: S3Server, name: str):
    store = open_s3(ministack)
    key = store.key(f"{name}/t.lance")
    place = store.lance_location(key)
    lance.write_dataset(pa.table({"x": [1, 2]}), place.uri, storage_options=dict(place.storage_options))
    assert lance.dataset(place.uri, storage_options=dict(place.storage_options)).count_rows() == 2
    below = {str(each) for each in store.list(key)}
    assert {each.removeprefix(f"{key}/").split("/")[0] for each in below} == {"_transactions", "_versions", "data"}
    assert below == {str(each) for each in store.list()}


def test_a_root_with_an_odd_name_is_one_place_for_both(open_s3: Open, ministack: S3Server):
    store = open_s3(ministack, "s3://omnigraph-tests/odd #1 ?x 100% é")
    place = store.lance_location(store.key("t.lance"))
    lance.write_dataset(pa.table({"x": [1]}), place.uri, storage_options=dict(place.storage_options), mode="overwrite")
    assert store.exists(store.key("t.lance"))
    store.delete_prefix(store.key("t.lance"))
