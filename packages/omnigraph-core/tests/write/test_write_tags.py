"""``Tags``: commits get names, keep them, and lose them when somebody says so."""

from __future__ import annotations

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from publish_world import PERSON, another_handle, appending, ids_at, ids_now, new_adapter, new_graph, plan, write

from omnigraph.errors import (
    AlreadyExistsError,
    ClosedError,
    InvalidInputError,
    NotFoundError,
    ReadOnlyError,
)
from omnigraph.history.branches import BranchRef
from omnigraph.history.repository import Repository
from omnigraph.history.tags import tag_key
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.counting import count_table_calls
from omnigraph.testing.faults import CountingAdapter
from omnigraph.write.branching import delete_branch, make_branch
from omnigraph.write.deadlines import Deadline
from omnigraph.write.publish import publish
from omnigraph.write.tags import Tags


def with_commits(count: int = 3) -> tuple[Repository, list]:
    """A graph, and its commits from the first on."""
    repository = new_graph()
    commits = [repository.newest().state.head]
    commits += [write(repository, {PERSON: appending(str(number))}).commit for number in range(count)]
    return repository, commits


def read_only(repository: Repository) -> Repository:
    adapter = MemoryAdapter(repository.adapter.root)
    adapter.is_read_only = True
    return another_handle(repository, adapter)


def test_a_tag_names_the_newest_commit_and_stays_there():
    repository, commits = with_commits()
    before = datetime.now(UTC)
    tag = Tags(repository, actor="ann").create("v1")
    assert (tag.name, tag.commit_id, tag.line, tag.manifest_version) == ("v1", commits[-1].id, commits[-1].line, 4)
    assert tag.actor == "ann"
    assert before <= tag.created_at <= datetime.now(UTC)
    write(repository, {PERSON: appending("later")})
    assert Tags(another_handle(repository)).show("v1") == tag
    # Where it says that the commit lies, the commit lies.
    assert repository.snapshot_of(at=tag.manifest_version).commit == repository.snapshot_of(at=tag.commit_id).commit


def test_a_tag_is_no_commit():
    repository, commits = with_commits()
    Tags(repository).create("v1")
    Tags(repository).delete("v1")
    assert list(repository.newest().commits()) == commits[::-1]


def test_any_commit_can_be_named_however_it_is_said():
    repository, commits = with_commits()
    tags = Tags(repository)
    for number, at in enumerate((commits[1], commits[1].id, 2, repository.snapshot_of(at=2))):
        tag = tags.create(f"v{number}", at, actor="bob")
        assert (tag.commit_id, tag.manifest_version, tag.actor) == (commits[1].id, 2, "bob")
    assert [each.name for each in tags.list()] == ["v0", "v1", "v2", "v3"]


def test_a_commit_of_a_branch_is_named_with_its_line():
    repository, commits = with_commits()
    make_branch(repository, "dev", repository.newest())
    inherited = Tags(repository).create("v1", branch="dev")
    assert (inherited.commit_id, inherited.line) == (commits[-1].id, commits[-1].line)
    log = repository.newest("dev")
    made = publish(repository, plan(repository, log, {PERSON: appending("ann")}), Deadline()).commit
    tag = Tags(repository).create("v2", branch="dev")
    assert (tag.commit_id, tag.line, tag.manifest_version) == (made.id, log.branch.physical, log.version + 1)
    delete_branch(repository, "dev")
    assert ids_at(repository, repository.log_of(at="v2"), PERSON) == [*ids_now(repository, PERSON), "ann"]


def test_a_tag_and_a_branch_of_one_name_would_not_be_told_apart():
    repository, _ = with_commits()
    make_branch(repository, "dev", repository.newest())
    for name in ("dev", "main"):
        with pytest.raises(AlreadyExistsError, match="branch"):
            Tags(repository).create(name)


def test_a_snapshot_whose_version_is_gone_is_not_named():
    repository, _ = with_commits()
    gone = BranchRef(name="dev", physical="b9", incarnation="i9")
    with pytest.raises(NotFoundError, match="reclaimed"):
        Tags(repository).create("v1", dataclasses.replace(repository.snapshot_of(), branch=gone))
    assert Tags(repository).list() == []


def test_the_object_of_a_tag_is_what_the_format_says():
    repository, commits = with_commits()
    tag = Tags(repository, actor="ann").create("größte/1", commits[0])
    data = repository.adapter.read(repository.adapter.key("_refs/tags/gr%C3%B6%C3%9Fte%2F1.json"))
    assert json.loads(data) == tag.to_dict()
    assert set(tag.to_dict()) == {"name", "commit_id", "line", "manifest_version", "created_at", "actor"}


@pytest.mark.parametrize("at", ["nowhere", 99, 0])
def test_what_never_was_is_not_named(at):
    repository, _ = with_commits()
    with pytest.raises(NotFoundError):
        Tags(repository).create("v1", at)
    with pytest.raises(NotFoundError, match="dev"):
        Tags(repository).create("v1", branch="dev")
    assert Tags(repository).list() == []


@pytest.mark.parametrize("name", ["", " a", "a//b", "01KA7X3J8Q0000000000000000", None, 7])
def test_what_is_no_name_is_refused(name):
    tags = Tags(new_graph())
    for ask in (tags.create, tags.show, tags.delete):
        with pytest.raises(InvalidInputError, match="no tag name"):
            ask(name)


@pytest.mark.parametrize("actor", ["", 7, "\ud800"])
def test_what_is_no_actor_is_refused(actor):
    tags = Tags(new_graph())
    with pytest.raises(InvalidInputError, match="no actor"):
        tags.create("v1", actor=actor)
    assert tags.list() == []


def test_a_tag_never_moves():
    repository, commits = with_commits()
    tags = Tags(repository)
    first = tags.create("v1", commits[0])
    with pytest.raises(AlreadyExistsError, match='"v1"') as caught:
        tags.create("v1")
    assert caught.value.details["tag"] == "v1"
    assert tags.list() == [first]
    tags.delete("v1")
    assert tags.create("v1").commit_id == commits[-1].id


def test_of_many_who_make_one_tag_exactly_one_does():
    repository, commits = with_commits(7)

    def make(number: int) -> str | None:
        try:
            return Tags(another_handle(repository)).create("v1", commits[number].id).commit_id
        except AlreadyExistsError:
            return None

    with ThreadPoolExecutor(8) as threads:
        (made,) = [each for each in threads.map(make, range(8)) if each]
    assert Tags(repository).show("v1").commit_id == made


def test_a_tag_that_is_not_there_cannot_be_seen_or_deleted():
    tags = Tags(new_graph())
    tags.create("v2")
    for ask in (tags.show, tags.delete):
        with pytest.raises(NotFoundError, match='"v1"'):
            ask("v1")
    assert [each.name for each in tags.list()] == ["v2"]


def test_a_damaged_tag_can_be_deleted_and_made_anew():
    repository, commits = with_commits()
    tags = Tags(repository)
    repository.adapter.write(tag_key(repository.adapter, "v1"), b"{")
    with pytest.raises(AlreadyExistsError):
        tags.create("v1")
    tags.delete("v1")
    assert tags.create("v1").commit_id == commits[-1].id


def test_a_handle_for_reading_sees_tags_and_changes_none():
    repository, _ = with_commits()
    tag = Tags(repository).create("v1")
    tags = Tags(read_only(repository))
    assert tags.list() == [tag]
    assert tags.show("v1") == tag
    for change in (lambda: tags.create("v2"), lambda: tags.delete("v1"), lambda: tags.delete("v2")):
        with pytest.raises(ReadOnlyError, match="opened for reading"):
            change()
    assert Tags(repository).list() == [tag]


def test_a_closed_graph_has_no_tags():
    repository, _ = with_commits(0)
    tags = Tags(repository)
    repository.lifetime.close(lambda: None)
    for ask in (tags.list, lambda: tags.create("v1"), lambda: tags.show("v1"), lambda: tags.delete("v1")):
        with pytest.raises(ClosedError):
            ask()


def test_a_tag_of_the_newest_commit_costs_a_probe_looks_for_a_branch_and_at_main_and_one_write():
    adapter = CountingAdapter(new_adapter())
    repository = new_graph(adapter)
    adapter.calls.clear()
    with count_table_calls() as counts:
        Tags(repository).create("v1")
    assert counts == {"log.probe": 1}
    assert adapter.calls == {"exists": 1, "write_if_absent": 1, "read": 1}
