"""What each step costs in requests, counted in front of a real S3 server (DESIGN 14, 16, 18; substrate.md 0d, 10).

    LIST     a GET of the bucket with list-type        GET, HEAD
    PUT      an unconditional PUT                      PUT?     a PUT with If-None-Match, which decides a race
    POST     a bulk delete

The figures are what the budgets of the engine are made of. A change of any of them is a change of cost: look at it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from lance import LanceDataset, LanceOperation, Transaction
from lance.commit import CommitConflictError
from lance.dataset import Session
from lance.fragment import write_fragments
from substrate_steps import (
    Place,
    carried,
    commit,
    commit_detached,
    overwrite,
    promote,
    publish,
    rows,
    stage_append,
    stage_delete,
    stage_delete_keys,
    stage_overwrite,
    stage_upsert,
)

from omnigraph.testing.fault_proxy import FaultProxy, ProxiedRequest

OPEN_NEWEST = {"LIST": 1, "GET": 1}
OPEN_AT = {"HEAD": 1, "GET": 1}
COMMIT = {"LIST": 1, "PUT": 1, "PUT?": 1}
COMMIT_UNLISTED = {"PUT": 1, "PUT?": 1}


def verb(request: ProxiedRequest) -> str:
    if request.method == "GET" and "list-type" in parse_qs(urlsplit(request.target).query):
        return "LIST"
    return "PUT?" if request.method == "PUT" and "if-none-match" in request.headers else request.method


class Count:
    """What an act costs."""

    def __init__(self, proxy: FaultProxy) -> None:
        self.proxy = proxy

    def __call__(self, act: Callable[[], Any]) -> dict[str, int]:
        self.proxy.clear()
        act()
        return dict(Counter(map(verb, self.proxy.requests)))


@pytest.fixture
def count(proxy: FaultProxy) -> Count:
    return Count(proxy)


# ── opening and reading ──────────────────────────────────────────────────────────────────────────────────────────────


def test_opening_costs_two_requests_and_one_with_a_warm_session(counted: Place, count: Count):
    counted.create(rows(1))
    assert count(lambda: counted.open()) == OPEN_NEWEST
    assert count(lambda: counted.open(1)) == OPEN_AT
    session = Session()
    assert count(lambda: counted.open(1, session=session)) == OPEN_AT
    assert count(lambda: counted.open(1, session=session)) == {"HEAD": 1}
    assert count(lambda: counted.open(session=session)) == {"LIST": 1}


def test_opening_a_branch_costs_the_same(counted: Place, count: Count):
    counted.create(rows(1)).create_branch("b1", 1)
    assert count(lambda: counted.open(1, branch="b1")) == OPEN_AT
    assert count(lambda: counted.open(branch="b1")) == OPEN_NEWEST


def test_asking_for_the_newest_version_is_one_request(counted: Place, count: Count):
    """The probe of a warm read."""
    counted.create(rows(1))
    dataset = counted.open(1)
    assert count(lambda: dataset.latest_version) == {"LIST": 1}
    publish(counted.open(), rows(2))
    assert count(dataset.checkout_latest) == {"LIST": 1, "GET": 1}
    assert count(dataset.checkout_latest) == {"LIST": 1}
    assert dataset.version == 2


def test_a_version_that_is_not_there_is_told_by_five_heads(counted: Place, count: Count):
    """Lance asks for both spellings of the name and repeats the second; so nobody probes for version+1 through it."""
    counted.create(rows(1))

    def probe() -> None:
        with pytest.raises(ValueError, match="not found"):
            counted.open(2)

    assert count(probe) == {"HEAD": 5}


def test_a_scan_of_small_fragments_is_one_request_each_and_none_again_for_what_a_handle_knows(
    counted: Place, count: Count
):
    dataset = counted.create(rows(1))
    for key in (2, 3, 4):
        dataset = publish(dataset, rows(key))
    cold = counted.open(dataset.version)
    assert count(lambda: cold.to_table()) == {"GET": 4}
    assert count(lambda: cold.get_fragments()) == {}
    assert count(lambda: cold.schema) == {}
    assert count(lambda: cold.count_rows()) == {}


def test_a_transaction_of_the_opened_version_is_one_request_and_an_older_one_three(counted: Place, count: Count):
    base = counted.create(rows(1))
    commit(base, stage_append(base, rows(2)))
    dataset = counted.open(2)
    assert count(lambda: dataset.read_transaction(2)) == {"GET": 1}
    assert count(lambda: dataset.read_transaction(1)) == {"HEAD": 1, "GET": 2}


# ── staging and committing ───────────────────────────────────────────────────────────────────────────────────────────


def test_making_a_table_costs_five_requests_and_one_without_data_four(counted: Place, count: Count):
    staged = []
    assert count(lambda: staged.append(counted.stage_create(rows(1)))) == {"LIST": 1, "PUT": 1}
    assert count(lambda: counted.commit_create(staged[0])) == COMMIT
    empty = Transaction(0, LanceOperation.Overwrite(rows().schema, []))
    assert count(lambda: counted.commit_create(empty, "other")) == COMMIT | {"LIST": 2}


def test_staging_an_append_or_an_overwrite_is_one_request(counted: Place, count: Count):
    base = counted.create(rows(1))
    assert count(lambda: stage_append(base, rows(2))) == {"PUT": 1}
    assert count(lambda: stage_overwrite(base, rows(2))) == {"PUT": 1}


def test_a_publish_costs_three_requests_at_any_length(counted: Place, count: Count):
    made = [counted.create(rows(0))]
    for key in range(1, 21):
        assert count(lambda key=key: made.append(publish(made[-1], rows(key)))) == {"PUT": 2, "PUT?": 1}


def test_a_publish_that_writes_no_rows_costs_two(counted: Place, count: Count):
    base = counted.create(rows(1))
    assert count(lambda: overwrite(base, carried(base))) == COMMIT_UNLISTED


def test_a_lost_publish_costs_six_requests_and_no_listing(counted: Place, count: Count):
    base = counted.create(rows(1))
    publish(base, rows(2))
    fragments = [*carried(base), *write_fragments(rows(3), base)]

    def lose() -> None:
        with pytest.raises(CommitConflictError):
            overwrite(base, fragments)

    assert count(lose) == {"PUT": 1, "PUT?": 1, "HEAD": 1, "GET": 2, "POST": 1}


def test_an_ordinary_commit_costs_three_requests_whatever_it_commits(counted: Place, count: Count):
    counted.create(rows(1, 2))
    for stage in (
        lambda base: stage_append(base, rows(3)),
        lambda base: stage_upsert(base, rows(1, 4, value="b")),
        lambda base: stage_delete(base, "id = 'k1'"),
    ):
        base = counted.open()
        staged = stage(base)
        assert count(lambda base=base, staged=staged: commit(base, staged)) == COMMIT


def test_a_detached_commit_costs_two_requests_and_a_promotion_five_more(counted: Place, count: Count):
    base = counted.create(rows(1))
    staged, detached = stage_append(base, rows(2)), []
    assert count(lambda: detached.append(commit_detached(base, staged))) == COMMIT_UNLISTED
    assert count(lambda: promote(base, detached[0])) == COMMIT | OPEN_AT


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_commit_reads_every_version_that_came_after_its_pin(counted: Place, count: Count, length: int):
    """A pin far behind the newest version costs a request for each between, unless the Restore says it read them."""
    pin = left = counted.create(rows(1))
    for key in range(length):
        left = commit(left, stage_append(left, rows(60 + key)))
    detached = commit_detached(pin, stage_append(pin, rows(2)))
    fresh, staged = counted.open(1), stage_append(pin, rows(3))
    assert count(lambda: commit(fresh, staged)) == COMMIT | {"GET": length}
    fresh = counted.open(1)
    assert count(lambda: promote(fresh, detached)) == COMMIT | {"HEAD": 1, "GET": 1 + length + 1}
    fresh, operation = counted.open(1), LanceOperation.Restore(detached.version)

    def promote_from_the_newest() -> None:
        LanceDataset.commit(fresh, operation, read_version=fresh.latest_version, max_retries=0)

    assert count(promote_from_the_newest) == {"LIST": 2, "HEAD": 2, "GET": 2, "PUT": 1, "PUT?": 1}


def test_making_a_branch_costs_eight_requests(counted: Place, count: Count):
    base = counted.create(rows(1))
    assert count(lambda: base.create_branch("b1", 1)) == {"LIST": 1, "HEAD": 3, "GET": 1, "PUT": 1, "PUT?": 2}


# ── small writes (DESIGN 16) ─────────────────────────────────────────────────────────────────────────────────────────


def test_staging_an_upsert_reads_every_fragment_that_no_index_covers(counted: Place, count: Count):
    """Why the tail is bounded."""
    dataset = counted.create(rows(0))
    for key in range(1, 7):
        dataset = commit(dataset, stage_append(dataset, rows(key)))
    fresh = counted.open(dataset.version)
    assert count(lambda: stage_upsert(fresh, rows(0, value="b"))) == {"GET": 7, "PUT": 1}
    fresh = counted.open(dataset.version)
    index = fresh.create_index_uncommitted("id", "BTREE", name="x", fragment_ids=list(range(7)))
    indexed = LanceDataset.commit(fresh, LanceOperation.CreateIndex([index], []), read_version=fresh.version)
    for uncovered in (0, 1, 2):
        fresh = counted.open(indexed.version)
        spent = count(lambda fresh=fresh: stage_delete_keys(fresh, 0))
        # The index, the one data file that it points to, and the tail.
        assert spent["GET"] <= 5 + uncovered, spent
        indexed = commit(indexed, stage_append(indexed, rows(100 + uncovered)))


def test_a_lookup_by_an_indexed_key_does_not_read_every_fragment(counted: Place, count: Count):
    dataset = counted.create(rows(0))
    for key in range(1, 12):
        dataset = commit(dataset, stage_append(dataset, rows(key)))
    index = dataset.create_index_uncommitted("id", "BTREE", name="x", fragment_ids=list(range(12)))
    dataset = LanceDataset.commit(dataset, LanceOperation.CreateIndex([index], []), read_version=dataset.version)
    fresh = counted.open(dataset.version)
    spent = count(lambda: fresh.to_table(filter="id = 'k5'"))
    assert set(spent) == {"GET"}
    assert spent["GET"] <= 5
