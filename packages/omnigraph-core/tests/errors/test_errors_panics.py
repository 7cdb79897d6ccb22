"""A panic of DataFusion becomes a typed error, and nothing else does."""

from __future__ import annotations

import pytest

from omnigraph.errors import InternalError
from omnigraph.errors.panics import is_panic, translating_panics
from omnigraph.write.validation.sets import LIMITS, run

PANICS = "SELECT array_repeat(1, 9223372036854775807)"
"""Asks for more memory than there are addresses, which DataFusion does not expect."""


def test_a_panic_while_rows_are_checked_is_an_internal_error_and_the_next_check_works():
    with pytest.raises(InternalError) as caught:
        list(run(PANICS, {}, LIMITS))
    cause = caught.value.__cause__
    assert cause is not None
    assert is_panic(cause)
    assert caught.value.help
    assert [batch.to_pydict() for batch in run("SELECT 1 AS one", {}, LIMITS)] == [{"one": [1]}]


def test_every_other_exception_comes_out_as_it_is():
    for mine in (ValueError("mine"), KeyboardInterrupt()):
        with pytest.raises(type(mine)) as caught, translating_panics("sort the values"):
            raise mine
        assert caught.value is mine
