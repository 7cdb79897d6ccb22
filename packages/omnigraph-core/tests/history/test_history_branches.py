"""From the name of a branch to its incarnation and its line."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from publish_world import new_adapter

from omnigraph.errors import FormatError, InvalidInputError, NotFoundError, StorageError
from omnigraph.history.branches import MAIN, BranchRef, branch_key, list_branch_names, resolve_branch, spell_ref
from omnigraph.history.ulids import new_ulid
from omnigraph.tables.interface import TablePin
from omnigraph.testing.faults import CountingAdapter, Fault, FaultyAdapter


def test_main_is_an_object_as_every_other_branch():
    adapter = new_adapter()
    ref = BranchRef.new_main(new_ulid(), created_at=datetime(2026, 2, 3, tzinfo=UTC))
    adapter.write(branch_key(adapter, MAIN), spell_ref(ref))
    found = resolve_branch(adapter, "main")
    assert found == ref
    assert (found.physical, found.root, found.is_main) == (f"b{ref.incarnation}", f"b{ref.incarnation}", True)
    assert (found.base_commit, found.created_at) == (None, ref.created_at)


def test_the_object_of_a_branch_says_below_which_version_names_may_be_free():
    adapter, ref = new_adapter(), replace(new_ref(), reclaimed_below=17)
    adapter.write(branch_key(adapter, "dev"), spell_ref(ref))
    assert resolve_branch(adapter, "dev").reclaimed_below == 17


def test_members_of_a_branch_that_are_not_known_are_ignored():
    adapter, ref = new_adapter(), new_ref()
    facts = json.loads(spell_ref(ref)) | {"protected": True}
    del facts["reclaimed_below"]
    adapter.write(branch_key(adapter, "dev"), json.dumps(facts).encode())
    assert resolve_branch(adapter, "dev") == ref
    assert resolve_branch(adapter, "dev").reclaimed_below == 0


@pytest.mark.parametrize("name", ["dev", "feature/x", "a b", "Ü", "..", "main ", "100%", "main.json", "x" * 60])
def test_a_branch_is_one_object_and_one_request(name):
    adapter = CountingAdapter(new_adapter())
    adapter.write(branch_key(adapter, name), spell_ref(new_ref(name, "i1")))
    adapter.calls.clear()
    assert resolve_branch(adapter, name) == BranchRef(name=name, physical="bi1", incarnation="i1")
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
        b'{"name":"dev","physical":null,"incarnation":"i1","root":"b0"}',
        b'{"name":"dev","physical":"b7","incarnation":7,"root":"b0"}',
        b'{"name":"dev","physical":"","incarnation":"i1","root":"b0"}',
        b'{"name":"dev","physical":"bi1","incarnation":"i1"}',
        b'{"name":"dev","physical":"bi1","incarnation":"i1","root":""}',
        b'{"name":"dev","physical":"bi1","incarnation":"i1","root":"b0","reclaimed_below":-1}',
        b'{"name":"dev","physical":"bi1","incarnation":"i1","root":"b0","reclaimed_below":true}',
        b'{"name":"dev","physical":"bi1","incarnation":"i1","root":"b0","reclaimed_below":"7"}',
        # The line of another branch, or a place outside of the manifest.
        b'{"name":"dev","physical":"bi2","incarnation":"i1","root":"b0"}',
        b'{"name":"dev","physical":"../i1","incarnation":"i1","root":"b0"}',
        b'{"name":"other","physical":"bi1","incarnation":"i1","root":"b0"}',
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


# ── the object ───────────────────────────────────────────────────────────────────────────────────────────────────────


def new_ref(name: str = "dev", incarnation: str | None = None) -> BranchRef:
    began = datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
    return BranchRef.new(name, incarnation or new_ulid(), base_commit=new_ulid(), created_at=began, root="b0")


@pytest.mark.parametrize("name", ["dev", "a/b", "Ü", "日本", 'say "hi"'])
def test_what_is_written_of_a_branch_is_what_is_read_of_it(name):
    adapter, ref = new_adapter(), new_ref(name)
    adapter.write(branch_key(adapter, name), spell_ref(ref))
    found = resolve_branch(adapter, name)
    assert found == ref
    # What tells branches apart is who they are, and not what else is known of them.
    assert (found.base_commit, found.created_at) == (ref.base_commit, ref.created_at)
    assert json.loads(spell_ref(ref)) == {
        "name": name,
        "physical": f"b{ref.incarnation}",
        "incarnation": ref.incarnation,
        "root": "b0",
        "base_commit": ref.base_commit,
        "created_at": 1770091506000789,
        "reclaimed_below": 0,
    }


def test_names_are_listed_in_order_with_one_request_and_other_objects_are_none():
    adapter = CountingAdapter(new_adapter())
    # main is a branch that every graph has, so it is not listed.
    for name in ("b", "a/b", "a", "Ü", "%", "main"):
        adapter.write(branch_key(adapter, name), spell_ref(new_ref(name)))
    for stray in ("a.json.tmp", "a%2fb.json", ".json", "%FF.json", "deeper/a.json"):
        adapter.write(adapter.key(f"_refs/branches/{stray}"), b"{}")
    adapter.calls.clear()
    assert list_branch_names(adapter) == ["%", "a", "a/b", "b", "Ü"]
    assert adapter.calls == {"list_dir": 1}


def test_a_graph_without_branches_lists_none():
    assert list_branch_names(new_adapter()) == []


# ── lines ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def pin(line: str | None) -> TablePin:
    return TablePin(location="nodes/1-1", branch=line, version=3)


def test_a_branch_owns_the_forks_that_its_own_operations_made_and_no_others():
    dev, other = new_ref(), new_ref()
    own = dev.fork_name(new_ulid())
    assert own.startswith(f"{dev.physical}.")
    assert dev.owns(pin(own))
    # Neither the main line, nor another branch's, nor one whose name only begins alike.
    for line in (None, other.fork_name(new_ulid()), f"{dev.physical}X.{new_ulid()}", dev.physical):
        assert not dev.owns(pin(line))
    main = BranchRef.of_line("main", "b0")
    assert main.owns(pin(None))
    assert main.owns(pin(main.fork_name(new_ulid())))
    assert not main.owns(pin(own))


def test_two_operations_never_fork_under_one_name():
    dev = new_ref()
    assert dev.fork_name(new_ulid()) != dev.fork_name(new_ulid())


def test_a_line_says_whose_it_was_after_its_branch_is_gone():
    dev = new_ref()
    assert BranchRef.of_line("dev", dev.physical) == dev
