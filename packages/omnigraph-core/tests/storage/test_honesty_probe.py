"""The honesty probe: three requests, one verdict per endpoint, and no trace."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import ObjectKey, VersionedObject, parse_uri, probe_create_if_absent, verify_honesty
from omnigraph.storage.memory import MemoryAdapter


class Counting(MemoryAdapter):
    """Records every request that reaches the store."""

    asked: list[str]

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.asked = []

    def _read_versioned(self, key: ObjectKey, limit: int) -> VersionedObject:
        self.asked.append("read")
        return super()._read_versioned(key, limit)

    def _write(self, key: ObjectKey, data: bytes) -> None:
        self.asked.append("write")
        super()._write(key, data)

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        self.asked.append("create")
        return super()._write_if_absent(key, data)

    def _list(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
        self.asked.append("list")
        return super()._list(prefix)

    def _delete(self, key: ObjectKey) -> None:
        self.asked.append("delete")
        super()._delete(key)


class Ignoring(Counting):
    """Takes the condition and ignores it, as some servers that speak S3 do."""

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        self.asked.append("create")
        MemoryAdapter._write(self, key, data)
        return True


class Denying(Counting):
    """Says of every object that it is there already."""

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        self.asked.append("create")
        return False


def fresh(kind: type[Counting], host: str | None = None, path: str = "graph") -> Counting:
    return kind(parse_uri(f"memory://{host or secrets.token_hex(8)}/{path}"))


def left_behind(adapter: Counting) -> list[ObjectKey]:
    return list(MemoryAdapter(adapter.root).list())


def test_an_honest_store_costs_exactly_three_requests_and_keeps_nothing() -> None:
    adapter = fresh(Counting)
    verify_honesty(adapter)
    assert adapter.asked == ["create", "create", "delete"]
    assert left_behind(adapter) == []


def test_the_verdict_holds_for_every_root_of_the_endpoint() -> None:
    host = secrets.token_hex(8)
    verify_honesty(fresh(Counting, host))
    for again in (fresh(Counting, host), fresh(Counting, host, "another/graph")):
        verify_honesty(again)
        assert again.asked == []


def test_another_endpoint_is_asked_anew() -> None:
    verify_honesty(fresh(Counting))
    other = fresh(Counting)
    verify_honesty(other)
    assert other.asked == ["create", "create", "delete"]


def test_the_verdict_goes_by_the_endpoint_that_the_adapter_names() -> None:
    class Behind(Counting):
        @property
        def endpoint(self) -> str:
            return self.root.path

    host = secrets.token_hex(8)
    verify_honesty(fresh(Behind, host, f"server-{host}-1"))
    same, other = fresh(Behind, secrets.token_hex(8), f"server-{host}-1"), fresh(Behind, host, f"server-{host}-2")
    verify_honesty(same)
    verify_honesty(other)
    assert (len(same.asked), len(other.asked)) == (0, 3)


def test_the_probe_itself_always_asks() -> None:
    adapter = fresh(Counting)
    for _ in range(2):
        probe_create_if_absent(adapter)
    assert adapter.asked == ["create", "create", "delete"] * 2
    verify_honesty(adapter)
    assert len(adapter.asked) == 9


def test_a_store_that_creates_over_an_object_is_refused_and_the_probe_object_removed() -> None:
    adapter = fresh(Ignoring)
    with pytest.raises(StorageError, match="created an object over one that was there") as caught:
        verify_honesty(adapter)
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert caught.value.uri == str(adapter.root)
    assert adapter.endpoint in caught.value.message
    assert "If-None-Match" in str(caught.value.help)
    assert adapter.asked == ["create", "create", "delete"]
    assert left_behind(adapter) == []


def test_a_store_that_refuses_a_new_object_is_refused_too() -> None:
    adapter = fresh(Denying)
    with pytest.raises(StorageError, match="refused to create a new object") as caught:
        verify_honesty(adapter)
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert left_behind(adapter) == []


def test_a_refusal_is_not_remembered_so_that_a_mended_server_can_be_used() -> None:
    host = secrets.token_hex(8)
    for _ in range(2):
        with pytest.raises(StorageError):
            verify_honesty(fresh(Ignoring, host))
    mended = fresh(Counting, host)
    verify_honesty(mended)
    assert mended.asked == ["create", "create", "delete"]


def test_objects_that_were_there_are_not_touched() -> None:
    adapter = fresh(Ignoring)
    adapter.write(adapter.key("mine"), b"1")
    with pytest.raises(StorageError):
        probe_create_if_absent(adapter)
    assert left_behind(adapter) == [adapter.key("mine")]


def test_two_probes_of_one_root_do_not_meet() -> None:
    class Remembering(Counting):
        keys: list[ObjectKey]

        def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
            self.keys = [*getattr(self, "keys", []), key]
            return super()._write_if_absent(key, data)

    adapter = fresh(Remembering)
    assert isinstance(adapter, Remembering)
    probe_create_if_absent(adapter)
    probe_create_if_absent(adapter)
    assert len(set(adapter.keys)) == 2


@pytest.mark.parametrize("failing", [1, 2])
def test_a_create_that_fails_is_reported_and_what_it_may_have_left_is_removed(failing: int) -> None:
    class LosingAnswers(Counting):
        def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
            super()._write_if_absent(key, data)
            if self.asked.count("create") == failing:
                raise ConnectionResetError
            return True

    adapter = fresh(LosingAnswers)
    with pytest.raises(StorageError, match="Could not create") as caught:
        verify_honesty(adapter)
    assert caught.value.condition is StorageCondition.TRANSIENT
    assert left_behind(adapter) == []
    verdict = fresh(Counting, adapter.root.authority)
    verify_honesty(verdict)
    assert len(verdict.asked) == 3


def test_a_store_that_refuses_all_writes_is_reported_by_its_first_refusal() -> None:
    class ReadOnly(Counting):
        def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
            raise PermissionError

        def _delete(self, key: ObjectKey) -> None:
            raise PermissionError

    with pytest.raises(StorageError, match="Could not create"):
        verify_honesty(fresh(ReadOnly))


def test_a_probe_object_that_cannot_be_removed_is_reported() -> None:
    class WriteOnce(Counting):
        def _delete(self, key: ObjectKey) -> None:
            raise PermissionError

    adapter = fresh(WriteOnce)
    with pytest.raises(StorageError, match="Could not delete"):
        verify_honesty(adapter)


def test_a_lie_is_told_even_when_the_probe_object_cannot_be_removed():
    class Liar(MemoryAdapter):
        def _write_if_absent(self, key, data):
            return True

        def _delete(self, key):
            raise PermissionError

    with pytest.raises(StorageError, match="does not honour create-if-absent"):
        probe_create_if_absent(Liar(parse_uri("memory://liar-without-delete")))
