"""From the name of a branch to its incarnation and its line."""

from __future__ import annotations

import json

import pytest
from publish_world import new_adapter

from omnigraph.errors import FormatError, InvalidInputError, NotFoundError, StorageError
from omnigraph.history.branches import MAIN, BranchRef, branch_key, resolve_branch
from omnigraph.testing.faults import CountingAdapter, Fault, FaultyAdapter


def test_main_costs_no_request():
    adapter = CountingAdapter(new_adapter())
    assert resolve_branch(adapter, "main") == MAIN == BranchRef(name="main", physical=None, incarnation="main")
    assert not adapter.calls


@pytest.mark.parametrize("name", ["dev", "feature/x", "a b", "Ü", "..", "main ", "100%", "main.json", "x" * 60])
def test_a_branch_is_one_object_and_one_request(name):
    adapter = CountingAdapter(new_adapter())
    adapter.write(branch_key(adapter, name), json.dumps({"name": name, "physical": "b1", "incarnation": "i1"}).encode())
    adapter.calls.clear()
    assert resolve_branch(adapter, name) == BranchRef(name=name, physical="b1", incarnation="i1")
    assert adapter.calls == {"read": 1}


def test_names_are_told_apart_whatever_they_hold():
    adapter = new_adapter()
    names = ["a/b", "a%2Fb", "a", "a/b/c", "A"]
    assert len({branch_key(adapter, each).value for each in names}) == len(names)
    assert all(branch_key(adapter, each).value.count("/") == 2 for each in names)


def test_an_unknown_branch_is_not_found():
    with pytest.raises(NotFoundError, match='"dev"') as caught:
        resolve_branch(new_adapter(), "dev")
    assert caught.value.details["branch"] == "dev"


@pytest.mark.parametrize("name", ["", "  ", None, 7, b"main", "\ud800"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(InvalidInputError, match="no branch name"):
        resolve_branch(new_adapter(), name)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b"{}",
        b'{"name":"dev","physical":"b1"}',
        b'{"name":"dev","physical":null,"incarnation":"i1"}',
        b'{"name":"dev","physical":"b1","incarnation":7}',
        b'{"name":"dev","physical":"","incarnation":"i1"}',
        b'{"name":"other","physical":"b1","incarnation":"i1"}',
    ],
)
def test_a_damaged_branch_is_told(content):
    adapter = new_adapter()
    adapter.write(branch_key(adapter, "dev"), content)
    with pytest.raises(FormatError, match="damaged") as caught:
        resolve_branch(adapter, "dev")
    assert caught.value.details["branch"] == "dev"


def test_a_store_that_does_not_answer_is_no_missing_branch():
    adapter = FaultyAdapter(new_adapter(), Fault(verb="read", error=TimeoutError()))
    with pytest.raises(StorageError):
        resolve_branch(adapter, "dev")
