"""A load that takes long says where its files lie, while it lives and when it was cut off."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = "node Note { text: String }\nnode Other { text: String }"


@pytest.fixture
def graph() -> og.Graph:
    return og.init(f"memory://leases-{uuid.uuid4().hex}", schema=SCHEMA)


def test_a_load_holds_its_lease_until_it_is_over(graph: og.Graph):
    ticket = graph.bulk(["Note"], load_id="night 7/a")
    with graph.bulk_lease(ticket):
        (lease,) = graph.recoveries.loads()
        assert (lease.load_id, lease.branch, lease.state) == ("night 7/a", "main", "under_way")
        assert lease.manifest_version == ticket.manifest_version
        assert lease.lines == {"node:Note": ticket.pins["node:Note"].location}
        assert json.loads(json.dumps(lease.to_dict()))["lines"] == dict(lease.lines)
    assert graph.recoveries.loads() == []


def test_a_load_that_fails_gives_its_lease_back(graph: og.Graph):
    with pytest.raises(KeyError), graph.bulk_lease(graph.bulk()):
        raise KeyError("task")
    assert graph.recoveries.loads() == []


def test_a_lease_on_a_branch_names_the_forks_that_files_lie_below(graph: og.Graph):
    graph.branches.create("side")
    ticket = graph.bulk(["Note"], branch="side")
    with graph.bulk_lease(ticket):
        (lease,) = graph.recoveries.loads()
    base = ticket.bases["node:Note"]
    assert lease.lines == {"node:Note": f"{base.location}/tree/{base.branch}"}


def test_the_same_load_sent_twice_at_once_has_two_leases(graph: og.Graph):
    ticket = graph.bulk(load_id="x")
    with graph.bulk_lease(ticket), graph.bulk_lease(ticket):
        assert [each.load_id for each in graph.recoveries.loads()] == ["x", "x"]


def test_what_is_no_lease_is_passed_over(graph: og.Graph):
    adapter = graph._repository.adapter
    for name, data in (("a", b"{"), ("b", b'{"format": 9}'), ("c", b"[]")):
        adapter.write(adapter.key(f"__loads/{name}.json"), data)
    assert graph.recoveries.loads() == []


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes can be told apart by /proc only")
def test_the_lease_of_a_killed_load_says_what_it_left(graph: og.Graph):
    words = [sys.executable, "-c", "from omnigraph.history.whereabouts import whereabouts as w; print(w().to_dict())"]
    gone = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip().replace("'", '"')
    lease = graph.bulk_lease(graph.bulk(["Note"], load_id="killed"))
    with lease:
        adapter = graph._repository.adapter
        (key,) = adapter.list_dir(adapter.key("__loads"))
        facts = json.loads(adapter.read(key)) | {"process": json.loads(gone)}
        adapter.write(adapter.key("__loads/left.json"), json.dumps(facts).encode())
    (left,) = graph.recoveries.loads()
    assert (left.load_id, left.state) == ("killed", "cut_off")
