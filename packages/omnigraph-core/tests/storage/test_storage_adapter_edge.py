"""The edge of ``StorageAdapter``: which names it takes, and what becomes of the exceptions of a store."""

from __future__ import annotations

import errno
import json
import os
import pickle
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.errors import InvalidInputError, StorageCondition, StorageError
from omnigraph.storage import ROOT, ListBounds, ObjectKey, StorageAdapter, parse_key, parse_uri
from omnigraph.storage.memory import MemoryAdapter

SECRET = "AKIA0:wJalrXUtn"


class ClientError(Exception):
    """As clients do, it says in its text what must not be said."""

    def __init__(self, status: int) -> None:
        super().__init__(f"{status} for https://bucket/x?X-Amz-Signature={SECRET}")
        self.status = status


class Raising(StorageAdapter):
    """A store in which every request raises the same exception."""

    error: BaseException = ClientError(500)

    def _read(self, key: ObjectKey, limit: int) -> bytes:
        raise self.error

    def _write(self, key: ObjectKey, data: bytes) -> None:
        raise self.error

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        raise self.error

    def _write_if_match(self, key: ObjectKey, data: bytes, token: str) -> str | None:
        raise self.error

    def _list(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
        yield ObjectKey("met")
        raise self.error

    def _delete(self, key: ObjectKey) -> None:
        raise self.error

    def _condition(self, error: BaseException) -> StorageCondition | None:
        known = {403: StorageCondition.CONFIGURATION, 404: StorageCondition.NOT_FOUND}
        return known.get(error.status) if isinstance(error, ClientError) else None


BOUNDS = ListBounds(max_matching=9, max_irrelevant=9, max_uri_bytes=999)
VERBS: dict[str, tuple[str, Callable[[StorageAdapter, ObjectKey], object]]] = {
    "read": ("read", lambda adapter, key: adapter.read(key)),
    "read_if_exists": ("read", lambda adapter, key: adapter.read_if_exists(key)),
    "read_text": ("read", lambda adapter, key: adapter.read_text(key)),
    "read_text_if_exists": ("read", lambda adapter, key: adapter.read_text_if_exists(key)),
    "read_versioned": ("read", lambda adapter, key: adapter.read_versioned(key)),
    "write": ("write", lambda adapter, key: adapter.write(key, b"data")),
    "write_if_absent": ("create", lambda adapter, key: adapter.write_if_absent(key, b"data")),
    "write_if_match": ("replace", lambda adapter, key: adapter.write_if_match(key, b"data", "token")),
    "exists": ("look for", lambda adapter, key: adapter.exists(key)),
    "list": ("list", lambda adapter, key: tuple(adapter.list(key))),
    "list_dir": ("list", lambda adapter, key: adapter.list_dir(key)),
    "list_bounded": ("list", lambda adapter, key: adapter.list_bounded(key, suffix="", bounds=BOUNDS)),
    "rename": ("rename", lambda adapter, key: adapter.rename(key, ObjectKey("target"))),
    "delete": ("delete", lambda adapter, key: adapter.delete(key)),
    "delete_prefix": ("delete below", lambda adapter, key: adapter.delete_prefix(key)),
}
EVERY_VERB = pytest.mark.parametrize("verb", VERBS)


def raising(error: BaseException) -> Raising:
    adapter = Raising(parse_uri("s3://bucket/graph"))
    adapter.error = error
    return adapter


def failure_of(verb: str, error: BaseException) -> StorageError:
    adapter = raising(error)
    with pytest.raises(StorageError) as caught:
        VERBS[verb][1](adapter, adapter.key("a"))
    return caught.value


# ── what becomes of exceptions ───────────────────────────────────────────────────────────────────────────────────


@EVERY_VERB
def test_a_failure_names_the_verb_the_uri_and_the_next_move_and_keeps_its_cause(verb: str) -> None:
    original = PermissionError(errno.EACCES, "text of the client")
    error = failure_of(verb, original)
    assert error.message == f"Could not {VERBS[verb][0]} s3://bucket/graph/a: permission denied."
    assert error.condition is StorageCondition.CONFIGURATION
    assert error.uri == "s3://bucket/graph/a"
    assert error.help == "Give this user access to it, or choose another place."
    assert error.details == {"condition": "configuration", "uri": "s3://bucket/graph/a", "verb": VERBS[verb][0]}
    assert error.__cause__ is original


@EVERY_VERB
@pytest.mark.parametrize(
    "original", [ClientError(403), OSError(errno.EACCES, SECRET, SECRET), OSError(SECRET, SECRET), KeyError(SECRET)]
)
def test_the_text_of_an_exception_is_never_quoted(verb: str, original: Exception) -> None:
    error = failure_of(verb, original)
    said = f"{error} {error!r} {error.help} {error.args} {json.dumps(error.to_dict())} {pickle.dumps(error)!r}"
    assert "wJalr" not in said
    assert "text" not in said
    assert "Signature" not in said


def test_an_exception_without_a_number_is_named_by_its_type() -> None:
    assert failure_of("read", ClientError(500)).message == "Could not read s3://bucket/graph/a: ClientError."
    assert failure_of("read", OSError(SECRET, SECRET)).message == "Could not read s3://bucket/graph/a: OSError."
    assert failure_of("read", OSError(2**70, SECRET)).message == "Could not read s3://bucket/graph/a: OSError."


@EVERY_VERB
def test_the_conditions_of_the_backend_itself_are_used(verb: str) -> None:
    assert failure_of(verb, ClientError(403)).condition is StorageCondition.CONFIGURATION
    assert failure_of(verb, ClientError(500)).condition is StorageCondition.UNKNOWN


@pytest.mark.parametrize("verb", ["read_if_exists", "read_text_if_exists"])
def test_absence_is_told_by_the_store_and_by_nothing_else(verb: str) -> None:
    assert VERBS[verb][1](raising(ClientError(404)), ObjectKey("a")) is None
    assert VERBS[verb][1](raising(FileNotFoundError()), ObjectKey("a")) is None
    for other in (
        PermissionError(),
        TimeoutError(),
        ConnectionResetError(),
        ClientError(403),
        OSError(),
        KeyError("a"),
    ):
        failure_of(verb, other)


def test_a_missing_credentials_file_is_not_a_missing_object() -> None:
    class Forgetful(Raising):
        def _read(self, key: ObjectKey, limit: int) -> bytes:
            try:
                open("/no/such/credentials", "rb").close()
            except FileNotFoundError:
                raise ClientError(401)  # noqa: B904  # the careless form is the point
            raise AssertionError("unreachable")

    adapter = Forgetful(parse_uri("s3://bucket/graph"))
    with pytest.raises(StorageError):
        adapter.read_if_exists(adapter.key("a"))
    with pytest.raises(StorageError):
        adapter.exists(adapter.key("a"))


def test_refused_access_is_never_taken_for_absence() -> None:
    for error in (PermissionError(), ClientError(403), TimeoutError()):
        failure_of("exists", error)


def test_a_refused_listing_behind_a_missing_object_is_an_error() -> None:
    class ListRefused(Raising):
        def _read(self, key: ObjectKey, limit: int) -> bytes:
            raise ClientError(404)

        def _list(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
            raise ClientError(403)

    adapter = ListRefused(parse_uri("s3://bucket/graph"))
    with pytest.raises(StorageError) as caught:
        adapter.exists(adapter.key("a"))
    assert caught.value.condition is StorageCondition.CONFIGURATION


def test_a_listing_that_breaks_off_in_the_middle_raises_instead_of_ending() -> None:
    listing = raising(ConnectionResetError()).list()
    assert next(listing) == ObjectKey("met")
    with pytest.raises(StorageError) as caught:
        next(listing)
    assert caught.value.condition is StorageCondition.TRANSIENT
    assert caught.value.uri == "s3://bucket/graph"


@EVERY_VERB
def test_an_error_of_omnigraph_passes_untouched(verb: str) -> None:
    original = InvalidInputError("Said by the author.")
    adapter = raising(original)
    with pytest.raises(InvalidInputError) as caught:
        VERBS[verb][1](adapter, adapter.key("a"))
    assert caught.value is original


@EVERY_VERB
def test_an_interrupt_passes_untouched(verb: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        VERBS[verb][1](raising(KeyboardInterrupt()), ObjectKey("a"))


def test_every_storage_error_can_be_sent_to_another_process() -> None:
    error = failure_of("read", PermissionError(errno.EACCES, "text"))
    got = pickle.loads(pickle.dumps(error))
    assert (str(got), got.condition, got.uri) == (str(error), error.condition, error.uri)


# ── the root is no object ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "verb",
    ["read", "read_if_exists", "read_text", "read_versioned", "write", "write_if_absent", "write_if_match", "delete"],
)
def test_the_root_names_no_object_and_the_store_is_not_asked_for_it(verb: str) -> None:
    adapter = raising(AssertionError("asked"))
    with pytest.raises(StorageError, match="names no object") as caught:
        VERBS[verb][1](adapter, ROOT)
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert caught.value.uri == "s3://bucket/graph"


def test_the_root_can_neither_be_renamed_nor_renamed_onto() -> None:
    adapter = raising(AssertionError("asked"))
    for source, target in ((ROOT, ObjectKey("a")), (ObjectKey("a"), ROOT)):
        with pytest.raises(StorageError, match="names no object"):
            adapter.rename(source, target)


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────


def adapter_at(root: str) -> StorageAdapter:
    return Raising(parse_uri(root))


@pytest.mark.parametrize(
    ("root", "name", "value"),
    [
        ("s3://bucket/graph", "a/b", "a/b"),
        ("s3://bucket/graph", "a/../b", "b"),
        ("s3://bucket/graph", "s3://bucket/graph/a/b", "a/b"),
        ("s3://bucket/graph", "S3://bucket//graph/./a/", "a"),
        ("s3://bucket/graph", "s3://bucket/graph/x/../a", "a"),
        ("s3://bucket/graph", "s3://bucket/graph/a%20b#c", "a%20b#c"),
        ("s3://bucket", "s3://bucket/a/b", "a/b"),
        ("s3://bucket/graph", "notes/http://x", "notes/http:/x"),
        ("s3://bucket/graph", "~/a", "~/a"),
        ("/data/graph", "/data/graph/a", "a"),
        ("/data/graph", "/data/graph/../graph/a", "a"),
        ("/data/graph", "file:///data/graph/a%20b", "a b"),
        ("/data/graph", "file:/a", "file:/a"),
        ("/data/graph", "/data/graph/a%20b", "a%20b"),
        ("/data/graph", "notes/http://x", "notes/http:/x"),
        ("/", "/a/b", "a/b"),
    ],
)
def test_a_name_or_a_full_uri_below_the_root_is_a_key(root: str, name: str, value: str) -> None:
    assert adapter_at(root).key(name) == ObjectKey(value)


@pytest.mark.parametrize(
    ("root", "name"),
    [
        ("s3://bucket/graph", "s3://other/graph/a"),
        ("s3://bucket/graph", "s3://other/graph"),
        ("s3://bucket/graph", "s3://bucket/graph2/a"),
        ("s3://bucket/graph", "s3://bucket/a"),
        ("s3://bucket/graph", "s3://bucket/graph/../a"),
        ("s3://bucket/graph", "gs://bucket/graph/a"),
        ("s3://bucket/graph", "/graph/a"),
        ("/data/graph", "/data/graph2/a"),
        ("/data/graph", "/data"),
        ("/data/graph", "s3://data/graph/a"),
        ("/data/graph", "file:///data/a"),
    ],
)
def test_a_name_outside_the_root_is_refused(root: str, name: str) -> None:
    with pytest.raises(StorageError, match="is not below the storage root") as caught:
        adapter_at(root).key(name)
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert caught.value.uri == str(parse_uri(name))


@pytest.mark.parametrize("name", ["", "/".join(["a", ".."]), ".", "s3://bucket/graph", "s3://bucket/graph/"])
def test_a_name_of_nothing_below_the_root_is_refused(name: str) -> None:
    with pytest.raises(StorageError, match="names no object below s3://bucket/graph") as caught:
        adapter_at("s3://bucket/graph").key(name)
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert caught.value.uri == "s3://bucket/graph"


@pytest.mark.parametrize(
    "name",
    ["..", "a\nb", "a#1", "x" * 201, "a\udc80", "/data/a\nb", "s3://", "s3://b/../..", "file://host/a", "/a\udc80"],
)
def test_every_other_name_is_refused_as_configuration_with_the_root(name: str) -> None:
    with pytest.raises(StorageError) as caught:
        adapter_at("s3://bucket/graph").key(name)
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert caught.value.uri == "s3://bucket/graph"
    assert caught.value.help


def test_credentials_in_a_full_uri_are_refused_and_never_said_back() -> None:
    with pytest.raises(StorageError) as caught:
        adapter_at("s3://bucket/graph").key(f"s3://{SECRET}@bucket/graph/a")
    assert "wJalr" not in f"{caught.value} {caught.value!r} {caught.value.to_dict()}"


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["s3://bucket/graph", "s3://bucket", "/data/graph", "/", "memory://h/a b#c%20"]),
    st.text(st.sampled_from("ab/.#%?:@~ é😀"), min_size=1, max_size=20),
)
def test_the_uri_of_a_key_leads_back_to_the_key(root: str, name: str) -> None:
    adapter = adapter_at(root)
    try:
        key = parse_key(name)
    except StorageError:
        return
    if key.is_root:
        return
    assert adapter.key(adapter.uri(key)) == key
    assert adapter.key(key.value) == key
    assert os.path.basename(adapter.uri(key)) == key.name


# ── what is refused before the store is asked ────────────────────────────────────────────────────────────────────────


def test_text_where_a_key_is_meant_is_refused_with_the_way_to_make_one():
    adapter = MemoryAdapter(parse_uri("memory://wrong-types"))
    for verb in (
        adapter.read,
        adapter.read_versioned,
        adapter.exists,
        adapter.delete,
        adapter.delete_prefix,
        adapter.list_dir,
        lambda name: list(adapter.list(name)),
        lambda name: adapter.write(name, b""),
        lambda name: adapter.write_if_absent(name, b""),
        lambda name: adapter.rename(name, adapter.key("x")),
    ):
        with pytest.raises(InvalidInputError, match=r"takes a key, not 'refs/main'") as caught:
            verb("refs/main")
        assert "adapter.key('refs/main')" in str(caught.value)


def test_text_where_bytes_are_meant_is_refused_and_nothing_is_written():
    adapter = MemoryAdapter(parse_uri("memory://wrong-data"))
    key = adapter.key("a")
    for verb in (
        lambda: adapter.write(key, "text"),
        lambda: adapter.write_if_absent(key, "text"),
        lambda: adapter.write_if_match(key, "text", "1"),
    ):
        with pytest.raises(InvalidInputError, match="takes bytes, not str"):
            verb()
    assert adapter.read_if_exists(key) is None


def test_no_token_is_not_a_lost_race():
    adapter = MemoryAdapter(parse_uri("memory://wrong-token"))
    adapter.write(adapter.key("a"), b"1")
    with pytest.raises(InvalidInputError, match="takes the token of a versioned read, not None"):
        adapter.write_if_match(adapter.key("a"), b"2", None)


def test_writing_to_a_place_that_is_not_there_says_so():
    class Nowhere(MemoryAdapter):
        def _write(self, key, data):
            raise FileNotFoundError(2, "no such directory")

    adapter = Nowhere(parse_uri("memory://nowhere"))
    with pytest.raises(StorageError) as caught:
        adapter.write(adapter.key("a"), b"1")
    assert caught.value.help == "The place to write to does not exist; make it, or correct the location."
