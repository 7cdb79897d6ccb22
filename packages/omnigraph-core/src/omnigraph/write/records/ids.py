"""The ids of many rows at once: spelled from the columns of a key, or minted.

``omnigraph.schema.ids`` says how one key is spelled; here the same comes out for whole Arrow columns, and tests compare
the two. Minted ids are ULIDs: 48 bits of time, then 80 bits that no other writer has.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.history.schemas import TypeTable
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.schema.ids import spell_value

_DIGITS: Final = np.frombuffer(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", dtype=np.uint8)
_PAIRS: Final = np.stack([np.repeat(_DIGITS, 32), np.tile(_DIGITS, 32)], axis=1).reshape(-1).view(np.uint16)
"""Two digits as one item, for each number of ten bits."""

_ULID_LENGTH: Final = 26
_MAX_MINTED: Final = (2**31 - 1) // _ULID_LENGTH
"""What the offsets of one Arrow array of text can count."""

_ESCAPED_BY_JSON: Final = r'["\\\x00-\x1f]'


# ── derived ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def derive_ids(target: TypeTable, columns: Mapping[str, pa.Array]) -> pa.StringArray:
    """The ids that the key of a node type gives to its rows.

    Args:
        target: a node type with a key.
        columns: at least those of the key, as they are stored; finite and without nulls.
    """
    spelled = [spell_column(columns[name], target.type.by_name[name].type) for name in target.key_columns]
    return spelled[0] if len(spelled) == 1 else _spell_tuples(spelled)


def spell_column(values: pa.Array, of: ValueType) -> pa.StringArray:
    """Each stored value as ``spell_value`` has it; nulls stay null. Texts are not copied."""
    if of.scalar is Scalar.STRING:
        return values
    if of.scalar is Scalar.DATE:
        return values.view(pa.int32()).cast(pa.string())
    if of.scalar is Scalar.DATETIME:
        return values.view(pa.int64()).cast(pa.string())
    if of.scalar.is_float:
        encoded = values.dictionary_encode()
        texts = [None if each is None else spell_value(each, of) for each in encoded.dictionary.to_pylist()]
        return pa.array(texts, pa.string()).take(encoded.indices)
    return values.cast(pa.string())


def _spell_tuples(members: Sequence[pa.StringArray]) -> pa.StringArray:
    """Compact JSON arrays of texts."""
    if any(pc.any(pc.match_substring_regex(each, _ESCAPED_BY_JSON)).as_py() for each in members):
        rows = zip(*(each.to_pylist() for each in members), strict=True)
        return pa.array([json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows], pa.string())
    parts: list[pa.Array | pa.Scalar] = [pa.scalar('["'), members[0]]
    for each in members[1:]:
        parts += [pa.scalar('","'), each]
    return pc.binary_join_element_wise(*parts, pa.scalar('"]'), "")


# ── minted ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def mint_ulids(count: int) -> pa.StringArray:
    """New ids, in ascending order: one time, and consecutive numbers from a random one on.

    Two calls, in whatever processes, overlap with a chance of ``count`` in 2 to the 79th.

    Raises:
        ValueError: more than one Arrow array can hold.
    """
    if count > _MAX_MINTED:
        raise ValueError(f"{count} ids were asked for at once; at most {_MAX_MINTED} can be made")
    now = np.uint64(time.time_ns() // 1_000_000)
    # The highest bit stays free, so that counting never runs into the time.
    high, low = int.from_bytes(os.urandom(5)) >> 1, int.from_bytes(os.urandom(5))
    # Of 1024 consecutive numbers only the last two digits differ: the others are spelled once for all of them.
    first = low % len(_PAIRS)
    upper = np.uint64(low >> 10) + np.arange(-(-(first + count) // len(_PAIRS)), dtype=np.uint64)
    text = np.empty((len(upper), len(_PAIRS), _ULID_LENGTH // 2), dtype=np.uint16)
    text[:, :, :5] = _spell_base32(now, 10)
    text[:, :, 5:9] = _spell_base32(np.uint64(high) + (upper >> np.uint64(30)), 8)[:, np.newaxis]
    text[:, :, 9:12] = _spell_base32(upper, 6)[:, np.newaxis]
    text[:, :, 12] = _PAIRS
    offsets = np.arange(0, (count + 1) * _ULID_LENGTH, _ULID_LENGTH, dtype=np.int32)
    chosen = text.reshape(-1, _ULID_LENGTH // 2)[first : first + count]
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(chosen))


def _spell_base32(numbers: np.uint64 | npt.NDArray[np.uint64], digits: int) -> npt.NDArray[np.uint16]:
    """The lowest digits of each number, the highest of them first, in pairs; one more axis than ``numbers``."""
    shifts = np.arange(5 * digits - 10, -1, -10, dtype=np.uint64)
    spelled: npt.NDArray[np.uint16] = _PAIRS[(np.asarray(numbers)[..., np.newaxis] >> shifts) & np.uint64(1023)]
    return spelled
