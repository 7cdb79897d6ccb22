"""Where a table is: schemes, odd names, shared memory; and what handles and sessions share (DESIGN 7, 14).

A backend's ``lance_location()`` has to spell names as Lance reads them; the engine keeps one handle per version and one
session per graph. substrate.md 6 and 9.
"""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import threading

import lance
import pytest
from lance.dataset import Session
from substrate_steps import Place, commit, ids, rows, stage_append

from omnigraph.storage.backend import LANCE_SCHEMES


def test_lance_names_exactly_the_schemes_that_a_backend_may_declare():
    with pytest.raises(ValueError, match="Valid schemes") as caught:
        lance.dataset("no-such-scheme://host/table")
    listed = re.search(r"Valid schemes: (.*?), /", str(caught.value), re.DOTALL)
    assert listed is not None, str(caught.value)
    assert set(listed.group(1).split(", ")) == LANCE_SCHEMES


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_unquoted_hash_ends_a_shared_memory_path():
    """Why MemoryAdapter quotes: two names, one place."""
    host = "shared-memory://substrate-hash"
    lance.write_dataset(rows(1), f"{host}/a#b")
    with pytest.raises(OSError, match="already exists"):
        lance.write_dataset(rows(2), f"{host}/a#c")
    lance.write_dataset(rows(3), f"{host}/a%23d")
    assert ids(lance.dataset(f"{host}/a%23d")) == ["k3"]


def test_local_paths_are_taken_literally(tmp_path):
    for name in ("a#b", "a%20b", "a b", "a?b"):
        lance.write_dataset(rows(1), str(tmp_path / name))
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(["a#b", "a%20b", "a b", "a?b"])


def test_a_control_character_in_a_local_path_is_refused(tmp_path):
    with pytest.raises(OSError, match="illegal character"):
        lance.write_dataset(rows(1), str(tmp_path / "new\nline"))


def test_a_table_that_is_not_there_is_told_by_a_value_error(place: Place):
    with pytest.raises(ValueError, match="not found"):
        place.open()
    place.create(rows(1))
    with pytest.raises(ValueError, match="not found"):
        place.open(2)


# ── shared memory ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_shared_memory_outlives_every_handle_and_belongs_to_the_process():
    uri = "shared-memory://substrate-process/t"
    lance.write_dataset(rows(1), uri)
    gc.collect()
    assert ids(lance.dataset(uri)) == ["k1"]
    code = f"import lance; lance.dataset({uri!r})"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert other.returncode != 0
    assert "not found" in other.stderr


def test_hosts_in_shared_memory_are_apart():
    lance.write_dataset(rows(1), "shared-memory://substrate-one/t")
    lance.write_dataset(rows(2), "shared-memory://substrate-two/t")
    assert ids(lance.dataset("shared-memory://substrate-one/t")) == ["k1"]
    assert ids(lance.dataset("shared-memory://substrate-two/t")) == ["k2"]


# ── handles and sessions ─────────────────────────────────────────────────────────────────────────────────────────────


def test_staging_and_committing_leave_a_handle_at_its_version(place: Place):
    """A handle is one version of one table for as long as it lives."""
    base = place.create(rows(1))
    commit(base, stage_append(base, rows(2)))
    assert (base.version, ids(base)) == (1, ["k1"])


def test_a_session_is_shared_by_handles_of_all_versions_and_branches(place: Place):
    base = place.create(rows(1))
    base.create_branch("b1", 1)
    commit(base, stage_append(base, rows(2)))
    session = Session()
    for _ in range(2):
        assert ids(place.open(1, session=session)) == ["k1"]
        assert ids(place.open(2, session=session)) == ["k1", "k2"]
        assert ids(place.open(1, branch="b1", session=session)) == ["k1"]


def test_a_session_never_shows_an_older_newest_version(place: Place):
    session = Session()
    dataset = place.create(rows(1))
    for key in range(2, 6):
        dataset = commit(dataset, stage_append(dataset, rows(key)))
        assert place.open(session=session).version == key


def test_threads_read_through_one_handle(place: Place):
    place.create(rows(*range(200)))
    dataset = place.open(1)
    wrong: list[object] = []

    def read(start: int) -> None:
        for key in range(start, 200, 8 * 5):
            found = dataset.to_table(filter=f"id = 'k{key}'")["id"].to_pylist()
            if found != [f"k{key}"]:
                wrong.append(found)

    threads = [threading.Thread(target=read, args=(start,)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
