"""The vectors of lately searched texts: found again, bounded, the longest unused first to leave."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from omnigraph.embedding.query_cache import QueryVectors


def vector(value: float, size: int = 100) -> Any:
    return np.full(size, value, np.float32)


def test_what_is_kept_is_found_again_and_nothing_else() -> None:
    kept, one = QueryVectors(), vector(1)
    assert kept.get("a") is None
    kept.keep("a", one, text_bytes=1)
    assert kept.get("a") is one
    assert kept.get("b") is None


def test_the_one_that_was_not_used_for_longest_leaves_first() -> None:
    kept = QueryVectors(max_bytes=3 * 1000)
    for name in "abc":
        kept.keep(name, vector(0), text_bytes=1)
    assert kept.get("a") is not None
    kept.keep("d", vector(0), text_bytes=1)
    assert [name for name in "abcd" if kept.get(name) is not None] == ["a", "c", "d"]


def test_texts_count_toward_the_bound_and_what_is_larger_than_it_is_not_kept() -> None:
    kept = QueryVectors(max_bytes=10_000)
    kept.keep("long", vector(0), text_bytes=20_000)
    kept.keep("wide", vector(0, size=5_000), text_bytes=1)
    assert (len(kept), kept.nbytes) == (0, 0)


def test_keeping_one_again_does_not_count_it_twice() -> None:
    kept = QueryVectors()
    kept.keep("a", vector(0), text_bytes=1)
    before = kept.nbytes
    kept.keep("a", vector(1), text_bytes=1)
    assert (len(kept), kept.nbytes) == (1, before)


def test_many_threads_leave_it_within_its_bound() -> None:
    kept = QueryVectors(max_bytes=20_000)

    def use(first: int) -> None:
        for number in range(first, first + 300):
            kept.keep(number % 40, vector(0), text_bytes=1)
            kept.get(number % 7)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < kept.nbytes <= 20_000
    assert kept.nbytes == len(kept) * (400 + 1 + 500)
