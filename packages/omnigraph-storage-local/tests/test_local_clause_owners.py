"""Clauses about sharing turn red when sharing is broken; the in-memory backend cannot show that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omnigraph.errors import StorageError
from omnigraph.storage import ObjectKey, parse_uri
from omnigraph.testing import SharedBetweenProcessesContract
from omnigraph_storage_local.adapter import LocalAdapter


class OpensElsewhere(LocalAdapter):
    def __reduce__(self) -> tuple[Any, ...]:
        return LocalAdapter, (parse_uri(f"{self.root}-elsewhere"), {})


class HidesTables(LocalAdapter):
    def _list(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
        return (key for key in super()._list(prefix) if not key.value.startswith("nodes/"))


class SyncsNothing(LocalAdapter):
    def make_durable(self, files: Any) -> None:
        raise StorageError("not here", condition="configuration", uri=str(self.root))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("broken", "clause"),
    [
        (OpensElsewhere, "test_another_process_reads_and_writes_the_same_objects"),
        (HidesTables, "test_the_files_of_a_table_are_objects_of_the_adapter"),
        (SyncsNothing, "test_the_files_of_a_table_are_objects_of_the_adapter"),
    ],
)
def test_breaking_a_method_turns_its_clause_red(tmp_path: Path, broken: type[LocalAdapter], clause: str):
    clauses = SharedBetweenProcessesContract()
    with pytest.raises((AssertionError, StorageError)):
        getattr(clauses, clause)(broken(parse_uri(tmp_path / "broken")))
    getattr(clauses, clause)(LocalAdapter(parse_uri(tmp_path / "whole")))
