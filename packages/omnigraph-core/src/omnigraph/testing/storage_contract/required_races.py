"""Required of every store that is trusted with a graph: of many creators exactly one wins.

A class of its own, because a server may keep every other clause and still be no store for concurrent writers.
"""

from __future__ import annotations

from typing import ClassVar

from omnigraph.storage import StorageAdapter
from omnigraph.testing.storage_contract.clauses import ContractClauses


class StorageRaceContract(ContractClauses):
    """C10: creators race for one object."""

    contract_of: ClassVar[str] = "races"

    def test_of_many_creators_exactly_one_wins(self, adapter: StorageAdapter) -> None:
        report = self.race(adapter, "create")
        assert report.is_exact, f"{report.summary()}: {report.errors[:3]}"
