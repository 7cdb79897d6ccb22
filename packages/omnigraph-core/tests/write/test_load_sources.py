"""What can be loaded: files, texts, bytes, open files and records; and what is told of everything else."""

from __future__ import annotations

import gzip
import io
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pytest
from load_world import SCHEMA, load, node, things

from omnigraph.errors import InvalidInputError, StorageCondition, StorageError
from omnigraph.write.problems import ProblemLog
from omnigraph.write.records.reading import read_records

TEXT = things(3) + "\nbroken\n"


def outcome(loaded):
    return [row["id"] for row in loaded.rows["node:Thing"]], loaded.problems


EXPECTED = (["t0", "t1", "t2"], [(4, "malformed_json", None)])


class Dribble(io.RawIOBase):
    """Gives one byte at a time, as a slow pipe may."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def read(self, size=-1):
        first, self.content = self.content[:1], self.content[1:]
        return first


@pytest.mark.parametrize(
    "data",
    [
        TEXT,
        TEXT.encode(),
        bytearray(TEXT.encode()),
        memoryview(TEXT.encode()),
        io.BytesIO(TEXT.encode()),
        io.StringIO(TEXT),
        Dribble(b"\xef\xbb\xbf" + TEXT.encode()),
        gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(TEXT.encode()))),
    ],
    ids=lambda data: type(data).__name__,
)
def test_the_same_text_gives_the_same_rows_in_every_form(data):
    loaded = load(data)
    assert outcome(loaded) == EXPECTED
    assert loaded.problem.place == "<text>:4"


@pytest.mark.parametrize("make", [Path, str, lambda path: path.open("rb"), lambda path: path.open(encoding="utf-8")])
def test_a_file_is_named_in_every_problem(tmp_path, make):
    path = tmp_path / "seed.jsonl"
    path.write_text(TEXT)
    data = make(path)
    loaded = load(data)
    assert outcome(loaded) == EXPECTED
    assert loaded.problem.place == f"{path}:4"
    assert {each.source for each in loaded.batches} == {str(path)}
    if hasattr(data, "close"):
        data.close()


def test_a_text_of_any_length_is_text():
    loaded = load(" " * 5_000 + things(1))
    assert [row["id"] for row in loaded.rows["node:Thing"]] == ["t0"]
    assert [row["id"] for row in load("\ufeff" + things(1)).rows["node:Thing"]] == ["t0"]


def test_records_are_read_as_lines_are_and_numbered_from_one():
    records = [
        {"type": "Thing", "data": {"name": "a"}},
        OrderedDict(type="Thing", data=MappingProxyType({"name": "b"})),
        {"type": "Thing", "data": {"name": 5}},
        "not a record",
        {"edge": "likes", "from": "a", "to": "b"},
    ]
    loaded = load(record for record in records)
    assert [row["id"] for row in loaded.rows["node:Thing"]] == ["a", "b"]
    assert loaded.rows["edge:Likes"] == [{"id": None, "src": "a", "dst": "b", "note": None, "since": None}]
    assert loaded.problems == [(3, "wrong_type", "name"), (4, "bad_envelope", None)]
    assert loaded.lines == {"node:Thing": [1, 2], "edge:Likes": [5]}


def test_an_error_of_the_caller_flies_through():
    def records():
        yield {"type": "Thing", "data": {"name": "a"}}
        raise KeyError("theirs")

    with pytest.raises(KeyError, match="theirs"):
        load(records())


def test_memory_is_bounded_by_bytes_as_well_as_by_rows():
    body = b"x" * 1_000_000
    made = 0

    def records():
        nonlocal made
        for number in range(40):
            made += 1
            yield {"type": "Thing", "data": {"name": f"t{number}", "body": body}}

    batches = read_records(records(), SCHEMA, ProblemLog(), chunk_bytes=4_000_000)
    first = next(batches)
    assert first.rows.num_rows == made == 4


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "A value of type NoneType cannot be loaded"),
        (5, "A value of type int cannot be loaded"),
        ("seed.csv", "neither JSONL nor the name of a file"),
        ("s3://bucket/seed.jsonl", "neither JSONL nor the name of a file"),
        ("x" * 500, r"x\.\.\.\" is neither"),
        ("just a sentence", "neither JSONL nor"),
        ({"type": "Thing", "data": {"name": "a"}}, "read as Arrow data by type name"),
        ({"Thing": [{"name": "a"}]}, "read as Arrow data by type name, and 'Thing' has a list"),
        (pa.table({"name": ["a"]}), "needs the name of its type"),
        (pa.RecordBatch.from_pydict({"name": ["a"]}), "needs the name of its type"),
    ],
)
def test_what_cannot_be_loaded_says_what_can(data, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        load(data)
    assert caught.value.help


def test_one_record_alone_is_told_to_come_in_a_list():
    with pytest.raises(InvalidInputError) as caught:
        load({"type": "Thing", "data": {"name": "a"}})
    assert "load([{...}])" in caught.value.help


def test_what_is_no_arrow_data_is_told_what_would_be(tmp_path):
    with pytest.raises(InvalidInputError) as caught:
        load({"Thing": (pa.record_batch({"name": [name]}) for name in "ab")})
    assert "RecordBatchReader.from_batches" in caught.value.help
    with pytest.raises(InvalidInputError) as caught:
        load({"Thing": str(tmp_path / "things.parquet")})
    assert "pyarrow.parquet.read_table" in caught.value.help


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"There is no file .*none\.jsonl"):
        load(tmp_path / "none.jsonl")


def test_a_directory_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match="is a directory"):
        load(tmp_path)


def test_a_parquet_file_is_told_to_be_read_first(tmp_path):
    with pytest.raises(InvalidInputError, match="Parquet") as caught:
        load(tmp_path / "films.parquet")
    assert "pyarrow.parquet" in caught.value.help


class Broken(io.RawIOBase):
    name = "pipe"

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.is_first = True

    def read(self, size=-1):
        if self.is_first:
            self.is_first = False
            return node("Thing", '{"name":"a"}').encode() + b"\n"
        raise self.error


@pytest.mark.parametrize(
    ("error", "condition"),
    [
        (PermissionError(13, "no"), StorageCondition.CONFIGURATION),
        (TimeoutError(110, "late"), StorageCondition.TRANSIENT),
        (OSError(5, "io"), StorageCondition.UNKNOWN),
    ],
)
def test_a_file_that_fails_while_it_is_read_is_a_storage_error(error, condition):
    with pytest.raises(StorageError, match="pipe cannot be read") as caught:
        load(Broken(error))
    assert caught.value.condition is condition
    assert caught.value.details["path"] == "pipe"


def test_a_file_without_permission_is_a_storage_error(tmp_path, monkeypatch):
    path = tmp_path / "seed.jsonl"
    path.write_text(TEXT)

    def refuse(*_args, **_options):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(StorageError, match="cannot be read: permission denied") as caught:
        load(path)
    assert caught.value.condition is StorageCondition.CONFIGURATION


def test_a_text_file_in_another_encoding_is_told_to_be_opened_as_bytes(tmp_path):
    path = tmp_path / "seed.txt"
    path.write_bytes(b'{"type":"Thing","data":{"name":"\xff"}}')
    with path.open(encoding="utf-8") as file, pytest.raises(InvalidInputError, match="encoding"):
        load(file)


def test_a_file_object_that_gives_no_text_is_refused():
    class Odd:
        def __init__(self, given):
            self.given = given

        def read(self, size):
            return self.given

    with pytest.raises(InvalidInputError, match="gave a list"):
        load(Odd([1]))
    # A file that does not wait says None when it has nothing yet; taken for the end, rows would be lost.
    with pytest.raises(InvalidInputError, match="gave a NoneType"):
        load(Odd(None))


def open_files() -> set[Path]:
    """What this process has open; others may come and go meanwhile."""
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add(each.readlink())
    return found


def test_a_file_is_closed_when_reading_stops_early(tmp_path):
    path = tmp_path / "seed.jsonl"
    # More than is read at once, so that there is a rest when reading stops.
    path.write_text(things(100_000))
    batches = read_records(path, SCHEMA, ProblemLog(), chunk_rows=1)
    next(batches)
    assert path in open_files()
    batches.close()
    assert path not in open_files()
