"""The format stamp and the metadata of a manifest: everything but our own format is refused, in both modes."""

from __future__ import annotations

import pyarrow as pa
import pytest
from publish_world import another_handle, appending, new_adapter, new_graph, newest_manifest, write

from omnigraph.errors import AlreadyExistsError, FormatError
from omnigraph.history.branches import BranchRef
from omnigraph.history.layout import HISTORY_KEY
from omnigraph.history.log import Manifests, open_manifest
from omnigraph.history.repository import Repository
from omnigraph.history.rows import MANIFEST_COLUMNS
from omnigraph.history.stamp import REQUIRES_KEY, STAMP, STAMP_KEY, check_stamp, spell_features
from omnigraph.tables.log import LogStore
from omnigraph.write.init import init_graph
from omnigraph.write.opening import open_repository


def with_metadata(repository: Repository, changes: dict[str, str | None]) -> None:
    """Publish a version whose metadata is another one; None removes a member."""
    table = repository.newest().table
    metadata = {key: value for key, value in (table.metadata | changes).items() if value is not None}
    table.publish(keep=range(len(table.fragment_rows)), staged=(), metadata=metadata, transaction_id="0", properties={})


STAMPS = {
    "missing": (None, "without a format stamp", "delete it and init it again"),
    "future": ("3", "format 3", "Upgrade OmniGraph"),
    "far future": ("999", "format 999", "Upgrade OmniGraph"),
    "past": ("1", "format 1 of an older release", "omnigraph export"),
    "no number": ("one", '"one"', "restore it from a copy"),
    "empty": ("", "not a number", "restore it from a copy"),
    "signed": ("+1", "not a number", "restore it from a copy"),
    "blank": (" 1", "not a number", "restore it from a copy"),
    "fraction": ("1.0", "not a number", "restore it from a copy"),
    "another script": ("\u0661", "not a number", "restore it from a copy"),
    "superscript": ("¹", "not a number", "restore it from a copy"),
    "endless": ("1" * 5_000, "not a number", "restore it from a copy"),
}


@pytest.mark.parametrize("mode", ["r", "rw"])
@pytest.mark.parametrize("stamp", STAMPS)
def test_another_stamp_is_refused_in_both_modes_with_the_way_out(stamp, mode):
    value, told, advice = STAMPS[stamp]
    repository = new_graph()
    with_metadata(repository, {STAMP_KEY: value})
    with pytest.raises(FormatError) as caught:
        open_repository(str(repository.adapter.root), mode=mode)
    assert told in caught.value.message
    assert advice in str(caught.value.help)
    assert caught.value.details["expected"] == 2


def test_our_own_stamp_is_2_and_is_written_by_init():
    repository = new_graph()
    assert repository.newest().table.metadata[STAMP_KEY] == "2"
    check_stamp({STAMP_KEY: "2", REQUIRES_KEY: "[]"}, "x")
    assert STAMP == 2


def test_the_stamp_travels_with_every_version():
    repository = new_graph()
    for number in range(40):
        write(repository, {"node:Person": appending(str(number))})
    assert newest_manifest(repository).table.metadata[STAMP_KEY] == "2"


# ── required features ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_a_feature_that_is_not_known_is_refused_by_name_in_both_modes(mode):
    repository = new_graph()
    with_metadata(repository, {REQUIRES_KEY: '["blob_refs","entries"]'})
    with pytest.raises(FormatError, match="blob_refs, entries") as caught:
        open_repository(str(repository.adapter.root), mode=mode)
    assert caught.value.details["unknown"] == ["blob_refs", "entries"]
    assert "Upgrade OmniGraph" in str(caught.value.help)


@pytest.mark.parametrize(
    "value",
    [
        *(None, "", "entries", "{}", "[1]", '[""]', '"entries"', "[" * 5_000, "[" * 50_000),
        # What no terminal can show: half of a pair, and a sequence that clears the screen.
        *('["\\ud800"]', '["\\u001b[2J"]'),
    ],
)
def test_a_list_of_features_that_cannot_be_read_is_damage(value):
    repository = new_graph()
    with_metadata(repository, {REQUIRES_KEY: value})
    with pytest.raises(FormatError, match="required features cannot be read"):
        newest_manifest(repository)


def test_the_list_of_features_is_written_by_init_and_travels_with_every_version():
    repository = new_graph()
    for number in range(40):
        write(repository, {"node:Person": appending(str(number))})
    assert newest_manifest(repository).table.metadata[REQUIRES_KEY] == "[]"
    assert spell_features(frozenset({"b", "a"})) == '["a","b"]'


def test_the_rebuild_recipe_says_what_is_lost():
    with pytest.raises(FormatError) as caught:
        check_stamp({STAMP_KEY: "0"}, "x")
    for word in ("export", "init", "load", "--mode overwrite", "history and branches are not", "upgrade.md"):
        assert word in str(caught.value.help)


def test_a_handle_that_was_open_does_not_read_a_version_of_another_format():
    repository = new_graph()
    other = another_handle(repository)
    other.newest()
    with_metadata(repository, {STAMP_KEY: "3"})
    with pytest.raises(FormatError):
        other.newest()


def test_a_graph_of_another_format_is_not_made_anew():
    repository = new_graph()
    with_metadata(repository, {STAMP_KEY: "3"})
    for force in (False, True):
        with pytest.raises(AlreadyExistsError, match="already"):
            init_graph(repository.adapter, "node A {\n    name: String @key\n}\n", force=force)


@pytest.mark.parametrize("value", [None, "", "x", "-1", "1", "99", "²", "1" * 5_000])
def test_a_manifest_that_does_not_say_what_is_history_is_damaged(value):
    repository = new_graph()
    with_metadata(repository, {HISTORY_KEY: value})
    with pytest.raises(FormatError) as caught:
        newest_manifest(repository)
    assert caught.value.help


def manifest_with(columns: pa.Schema) -> Manifests:
    """A stamped manifest with other columns and one row of nulls."""
    manifests = Manifests(LogStore(new_adapter()), BranchRef.of_line("main", "b0"))
    stamped = columns.with_metadata({STAMP_KEY: "2", REQUIRES_KEY: "[]", HISTORY_KEY: "0"})
    rows = pa.table([pa.nulls(1, each.type) for each in stamped], schema=stamped)
    staged = manifests.logs.stage_create(manifests.location, rows)
    manifests.logs.create(manifests.location, schema=stamped, staged=staged, transaction_id="0", properties={})
    return manifests


@pytest.mark.parametrize(
    "columns",
    [
        pa.schema([pa.field("object_id", pa.string())]),
        pa.schema([each.with_nullable(True) for each in MANIFEST_COLUMNS][::-1]),
        pa.schema([pa.field(each.name, pa.string()) for each in MANIFEST_COLUMNS]),
    ],
    ids=["missing", "another order", "other types"],
)
def test_other_columns_are_damage(columns):
    with pytest.raises(FormatError, match="its columns are"):
        open_manifest(manifests := manifest_with(columns), manifests.main)
