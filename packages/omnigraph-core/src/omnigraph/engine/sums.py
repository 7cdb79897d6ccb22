"""Numbers to the sum of each group: the float that is nearest to the exact sum, in whatever order rows come.

A float is taken apart into tiers. The numbers of a tier are multiples of one power of two and so few bits wide that
any sum of them is exact; what remains goes to the next tier. Few tiers do for most data. Integers have two tiers, their
halves. At the end the tiers of a group are added, and the only rounding happens there.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from omnigraph.engine.frame import Indices
from omnigraph.engine.lanes import Lane

Floats = npt.NDArray[np.float64]

_EXACT_ROWS: Final = 2**21
"""Halves of so many integers, of 32 bits each, add up within the 53 bits of a float."""
_HALF: Final = 2.0**32
_TOO_GREAT: Final = 2.0**960
"""Beyond, a tier could leave the range of floats."""


def group_sums(values: Lane, codes: Indices, span: int) -> Floats:
    """The sum of the values of each code, 0 where there are none; infinities and NaN add up as floats do."""
    if values.dtype.kind != "f":
        return _add_tiers(_integer_tiers(values, codes, span))
    values = values.astype(np.float64, copy=False)
    is_finite = np.isfinite(values)
    if is_finite.all():
        return _float_sums(values, codes, span)
    odd = _added(values[~is_finite], codes[~is_finite], span)
    sums = _float_sums(values[is_finite], codes[is_finite], span)
    has_odd = np.bincount(codes[~is_finite], minlength=span) > 0
    return np.where(has_odd, odd, sums)


def _added(values: Lane, codes: Indices, span: int) -> Floats:
    # Weights of no rows would make the sums integers.
    return np.bincount(codes, weights=values, minlength=span).astype(np.float64, copy=False)


def _integer_tiers(values: Lane, codes: Indices, span: int) -> list[Floats]:
    tiers: list[Floats] = []
    for start in range(0, max(len(values), 1), _EXACT_ROWS):
        part, where = values[start : start + _EXACT_ROWS], codes[start : start + _EXACT_ROWS]
        if part.dtype.itemsize < 8:
            tiers.append(_added(part, where, span))
            continue
        tiers.append(_added(part >> part.dtype.type(32), where, span) * _HALF)
        tiers.append(_added(part & part.dtype.type(0xFFFF_FFFF), where, span))
    return tiers


def _float_sums(values: Floats, codes: Indices, span: int) -> Floats:
    greatest = float(np.abs(values).max(initial=0.0))
    if greatest > _TOO_GREAT:
        return _sums_one_by_one(values, codes, span)
    tiers: list[Floats] = []
    # Above the sum of all magnitudes: adding it to a number rounds away what lies below the tier.
    room = 2 ** math.ceil(math.log2(len(values) + 2))
    while greatest > 0:
        sigma = math.ldexp(1.0, math.frexp(greatest)[1]) * room
        tier = (values + sigma) - sigma
        tiers.append(_added(tier, codes, span))
        values = values - tier
        greatest = float(np.abs(values).max(initial=0.0))
    return _add_tiers(tiers) if tiers else np.zeros(span)


def _sums_one_by_one(values: Floats, codes: Indices, span: int) -> Floats:
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(span + 1)).tolist()
    ordered = values[order]
    return np.array([_fsum(ordered[low:high].tolist()) for low, high in pairwise(bounds)])


def _fsum(values: list[float]) -> float:
    try:
        return math.fsum(values)
    except OverflowError:
        total = sum(map(Fraction, values), Fraction())
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _add_tiers(tiers: list[Floats]) -> Floats:
    """The sum over the tiers, rounded once."""
    if len(tiers) == 1:
        return tiers[0]
    total, rest, weight = tiers[0], np.zeros_like(tiers[0]), np.zeros_like(tiers[0])
    for each in tiers[1:]:
        total, error = _two_sum(total, each)
        rest = rest + error
        weight += np.abs(error)
    found = total + rest
    # `rest` was rounded itself. Where that might decide, the sum is made anew, exactly.
    doubt = weight * 2.0**-40
    unsure = np.flatnonzero((total + (rest - doubt) != found) | (total + (rest + doubt) != found))
    for group in unsure.tolist():
        found[group] = math.fsum(float(each[group]) for each in tiers)
    return found


def _two_sum(left: Floats, right: Floats) -> tuple[Any, Any]:
    """The rounded sum, and what rounding took away."""
    total = left + right
    part = total - left
    return total, (left - (total - part)) + (right - part)
