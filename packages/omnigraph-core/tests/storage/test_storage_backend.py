"""``StorageBackend``: a record that cannot be wrong, and an adapter that is imported on first use."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest

from omnigraph.errors import InvalidInputError
from omnigraph.storage import SPI_VERSION, Capability, StorageBackend, StorageOption, parse_uri
from omnigraph.storage.memory import MEMORY_BACKEND, MemoryAdapter

RIGHT: dict[str, Any] = {
    "name": "gs",
    "schemes": ("gs", "gcs+http"),
    "adapter": "acme.storage:GsAdapter",
    "lance_scheme": "gs",
    "spi_version": 1,
}


def test_a_right_record_is_taken_as_it_is() -> None:
    backend = StorageBackend(**RIGHT, capabilities=frozenset({Capability.WRITE_IF_MATCH}))
    assert (backend.name, backend.schemes, backend.options) == ("gs", ("gs", "gcs+http"), ())
    assert backend.capabilities == {Capability.WRITE_IF_MATCH}
    with pytest.raises(dataclasses.FrozenInstanceError):
        backend.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("name", "", "name"),
        ("name", "GS", "name"),
        ("name", "g s", "name"),
        ("name", "1gs", "name"),
        ("name", "gs\n", "name"),
        ("schemes", (), "schemes"),
        ("schemes", ("gs://",), "schemes"),
        ("schemes", ("GS",), "schemes"),
        ("schemes", ("gs", ""), "schemes"),
        ("schemes", "gs", "schemes"),
        ("schemes", ["gs"], "schemes"),
        ("adapter", "acme.storage.GsAdapter", "module:Class"),
        ("adapter", "acme.storage:Gs:Adapter", "module:Class"),
        ("adapter", ":GsAdapter", "module:Class"),
        ("adapter", "acme.storage:", "module:Class"),
        ("adapter", "acme/storage:GsAdapter", "module:Class"),
        ("lance_scheme", "ftp", 'Lance cannot reach "ftp://"'),
        ("lance_scheme", "", "Lance cannot reach"),
    ],
)
def test_a_wrong_field_is_refused_with_the_reason(field: str, value: object, why: str) -> None:
    with pytest.raises(InvalidInputError, match=why) as caught:
        StorageBackend(**RIGHT | {field: value})
    assert caught.value.help == "See docs/how-to/write-a-storage-backend.md."


def test_a_scheme_that_lance_cannot_reach_is_refused_with_those_it_can() -> None:
    with pytest.raises(InvalidInputError) as caught:
        StorageBackend(**RIGHT | {"lance_scheme": "ftp"})
    for scheme in ("file", "s3", "gs", "az", "shared-memory"):
        assert scheme in str(caught.value)


def test_the_version_of_the_interface_is_one() -> None:
    assert SPI_VERSION == 1


def test_declaring_a_backend_imports_nothing() -> None:
    StorageBackend(**RIGHT | {"adapter": "there.is.no.such.module:Class"})
    assert "there" not in sys.modules


def test_opening_imports_the_adapter_and_gives_it_root_and_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "acme_lazy_backend.py").write_text(
        "from omnigraph.storage.memory import MemoryAdapter\nclass Lazy(MemoryAdapter): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("ACME_REGION", "from-environment")
    backend = StorageBackend(
        **RIGHT | {"adapter": "acme_lazy_backend:Lazy"},
        options=(
            StorageOption(name="region", help="Where.", environment=("ACME_REGION",)),
            StorageOption(name="timeout", help="How long.", kind="seconds"),
        ),
    )
    assert "acme_lazy_backend" not in sys.modules
    try:
        adapter = backend.open(parse_uri("gs://bucket/graph"), {"timeout": "3"})
        assert type(adapter).__name__ == "Lazy"
        assert str(adapter.root) == "gs://bucket/graph"
        assert adapter.options == {"region": "from-environment", "timeout": 3.0}
    finally:
        sys.modules.pop("acme_lazy_backend", None)


def test_an_unknown_option_is_refused_before_the_adapter_is_made() -> None:
    with pytest.raises(InvalidInputError, match='no storage option "region"'):
        MEMORY_BACKEND.open(parse_uri("memory://scratch"), {"region": "eu"})


def test_the_in_memory_backend_is_declared_as_any_other() -> None:
    assert MEMORY_BACKEND.schemes == ("memory",)
    assert (MEMORY_BACKEND.lance_scheme, MEMORY_BACKEND.spi_version) == ("shared-memory", 1)
    assert MEMORY_BACKEND.capabilities == {Capability.WRITE_IF_MATCH, Capability.ATOMIC_RENAME}
    assert isinstance(MEMORY_BACKEND.open(parse_uri("memory://scratch")), MemoryAdapter)


@pytest.mark.parametrize(
    "wrong",
    [
        {"capabilities": frozenset({"write_if_match_perhaps"})},
        {"options": ("directory",)},
        {"options": (StorageOption(name="a", help=""), StorageOption(name="a", help=""))},
    ],
    ids=["capability", "option", "option twice"],
)
def test_what_is_declared_is_of_the_declared_kind(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="is not declared rightly"):
        StorageBackend(
            **{"name": "gs", "schemes": ("gs",), "adapter": "m:C", "lance_scheme": "gs", "spi_version": 1} | wrong
        )
