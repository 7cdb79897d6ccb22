"""What Lance raises becomes a ``StorageError`` with a condition, and its text stays behind."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from lance import LanceDataset
from lance.commit import CommitConflictError

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.tables.failures import LANCE_ERRORS, as_storage_error, condition_of_lance, translating
from omnigraph.tables.reading import stream
from omnigraph.tables.row_filters import Compared

# Texts of Lance 14, as met on a disk, in memory and against S3 servers.
TEXTS = [
    ("Dataset at path t/_versions/3.manifest was not found: Not found: t/_versions/3.manifest", "not_found"),
    ("No data in memory found. Location: t/_versions/7.manifest", "not_found"),
    ("LanceError(IO): Generic N/A error: Not found: /t/data/1010.lance", "not_found"),
    ("Version not found error: version 4 not found", "not_found"),
    ("LanceError(IO): No space left on device (os error 28)", "configuration"),
    ("LanceError(IO): Permission denied (os error 13)", "configuration"),
    ("Unable to walk dir: IO error for operation on /etc/passwd/t: Not a directory (os error 20)", "configuration"),
    ("LanceError(IO): Read-only file system (os error 30)", "configuration"),
    ("LanceError(IO): Too many open files (os error 24)", "configuration"),
    ("LanceError(IO): Stale file handle (os error 116)", "transient"),
    ("Generic S3 error: Error performing GET http://h/b/x: status: 403 Forbidden", "configuration"),
    ("Server returned non-2xx status code: 403 Forbidden: AccessDenied", "configuration"),
    ("Error performing PUT http://h/b/x in 1s - Server error: status 503 SlowDown", "transient"),
    ("Error performing HEAD http://127.0.0.1:9/x in 947µs - HTTP error: error sending request", "transient"),
    ("operation timed out", "transient"),
    ("This dataset cannot be read by this version of Lance. Please upgrade Lance.", "configuration"),
    ("LanceError(IO): file size is too small", "permanent"),
    ("Generic memory error: Invalid range 0..0 for object of size 0 bytes", "permanent"),
    ("failed to decode Protobuf message: Transaction.uuid: invalid string value", "permanent"),
    ("something that nobody has met", "unknown"),
]


@pytest.mark.parametrize(("text", "condition"), TEXTS)
@pytest.mark.parametrize("kind", [OSError, ValueError, RuntimeError])
def test_the_text_of_lance_is_evidence(text: str, condition: str, kind: type[Exception]):
    assert condition_of_lance(kind(text)) == condition


def test_a_lost_race_is_a_precondition():
    assert condition_of_lance(CommitConflictError("lost")) is StorageCondition.PRECONDITION


PANICS = [kind for kind in LANCE_ERRORS if not issubclass(kind, Exception)]


def test_a_panic_of_lance_is_a_permanent_failure_with_its_cause():
    assert PANICS
    for kind in PANICS:
        cause = kind("range end index 4279 out of range for slice of length 474")
        with pytest.raises(StorageError) as caught, translating("open", "memory://g/nodes/x"):
            raise cause
        assert caught.value.condition is StorageCondition.PERMANENT
        assert caught.value.__cause__ is cause


@pytest.mark.parametrize("kind", [kind for kind in LANCE_ERRORS if issubclass(kind, Exception)])
def test_whatever_lance_raises_is_translated_with_its_cause(kind: type[Exception]):
    cause = kind("not found")
    with pytest.raises(StorageError) as caught, translating("read", "memory://g/nodes/x"):
        raise cause
    assert caught.value.__cause__ is cause
    assert caught.value.uri == "memory://g/nodes/x"
    assert "memory://g/nodes/x" in caught.value.message
    assert caught.value.help
    assert pickle.loads(pickle.dumps(caught.value)).condition is StorageCondition.NOT_FOUND


def test_our_own_errors_pass_as_they_are():
    mine = StorageError("mine", condition=StorageCondition.PRECONDITION)
    with pytest.raises(StorageError) as caught, translating("read", "u"):
        raise mine
    assert caught.value is mine


def test_no_text_of_lance_reaches_the_message():
    secret = "error sending request for url (http://h/b?X-Amz-Credential=AKIAEXAMPLE&X-Amz-Signature=beef)"
    made = as_storage_error(OSError(secret), "commit to", "s3://bucket/nodes/x")
    told = f"{made} {made.details}"
    assert "AKIAEXAMPLE" not in told
    assert "beef" not in told


def test_the_system_s_own_words_and_advice_are_used_where_there_is_a_number():
    made = as_storage_error(OSError("LanceError(IO): No space left on device (os error 28)"), "write", "/g/nodes/x")
    assert made.message == "Could not write /g/nodes/x: no space left on device."
    assert made.help == "Free space on the device."


def test_a_failure_while_a_stream_is_read_is_translated_too(rows):
    batch = rows(a=1).to_batches()[0]

    def half_a_stream():
        yield batch
        raise OSError("Not found: data/1010.lance")

    reader = stream(half_a_stream(), batch.schema, "memory://g/nodes/x")
    assert reader.read_next_batch().num_rows == 1
    with pytest.raises(StorageError) as caught:
        reader.read_next_batch()
    assert caught.value.condition is StorageCondition.NOT_FOUND
    assert isinstance(caught.value.__cause__, OSError)


def test_a_file_of_a_version_that_is_gone_is_not_found(tables, create, rows):
    handle = create(rows(a=1))
    LanceDataset.drop(handle.place.uri)
    for call in (
        lambda: tables.read(handle).read_all(),
        lambda: tables.count_rows(handle, predicate=Compared("n", "=", pa.scalar(1))),
    ):
        with pytest.raises(StorageError) as caught:
            call()
        assert caught.value.condition is StorageCondition.NOT_FOUND
