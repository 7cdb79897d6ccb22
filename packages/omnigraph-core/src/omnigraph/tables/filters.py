"""Scans by a filter, in the form that Lance takes for the table; filters of addresses and of ranges of ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from lance import LanceDataset

from omnigraph.tables.row_filters import Compared, RowFilter, all_of, for_lance

ROW_ADDRESS: Final = "_rowaddr"


def addresses_filter(addresses: Sequence[int]) -> str:
    """The filter for rows at these addresses, which Lance answers by fetching them and not by a scan."""
    return f"{ROW_ADDRESS} IN ({', '.join(map(str, addresses))})" if addresses else "false"


def scan_batches(
    dataset: LanceDataset, columns: Sequence[str], predicate: RowFilter | str | None, **options: Any
) -> Iterator[pa.RecordBatch]:
    """The batches of a scan of the rows for which a filter is true; a text is SQL of ``addresses_filter``."""
    wanted = predicate if predicate is None or isinstance(predicate, str) else for_lance(predicate, dataset.schema)
    return iter(dataset.scanner(columns=list(columns), filter=wanted, **options).to_reader())


def ids_between(low: str | None, high: str | None) -> RowFilter | None:
    """The filter for ``low <= id < high``; None where there is no bound."""
    bounds = [Compared("id", ">=", pa.scalar(low))] if low is not None else []
    bounds += [Compared("id", "<", pa.scalar(high))] if high is not None else []
    return all_of(bounds)
