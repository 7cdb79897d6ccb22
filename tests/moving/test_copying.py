"""``omnigraph.copy``: the copy shows what the graph shows, names nothing of it, and is there whole or not at all."""

from __future__ import annotations

import asyncio
import errno
import json
import re
import shutil
import tempfile
import threading
from pathlib import Path

import pytest
from moving_world import ADD, DROP, SCHEMA, WHAT_BRANCHES_HOLD, codes, film, make, tell

import omnigraph as og
from omnigraph import aio, failpoints
from omnigraph.cancellation import CallCancelledError, CancellationToken, cancellable
from omnigraph.errors import (
    AlreadyExistsError,
    DeadlineError,
    FormatError,
    InvalidInputError,
    NotFoundError,
    OutcomeUnknownError,
    StorageCondition,
    StorageError,
)
from omnigraph.tables.table_files import TableFiles
from omnigraph.testing.faults import Call, Once, Raise, armed
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.write import copying
from omnigraph_storage_local.adapter import LocalAdapter

COPY_POINTS = [name for name in failpoints.FAILPOINTS if name.startswith("copy.")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph that no test changes, with indexes, deletions, a deleted branch and a recovery."""
    root = tmp_path_factory.mktemp("copied") / "a graph"
    make(root)
    with og.open(root) as graph:
        graph.mutate(DROP, params={"code": "m1"}, branch="deep")
        graph.maintain.ensure_indices()
        graph.maintain.ensure_indices("deep")
        graph.branches.create("gone", "review")
        graph.load([film("gone")], "append", branch="gone")
        graph.tags.create("gone too", graph.branches.show("gone").head)
        graph.branches.delete("gone")
        with armed({failpoints.PUBLISH_BEFORE_COMMIT: Raise(SystemError())}), pytest.raises(SystemError):
            graph.load([film("cut")], "append")
    og.open(root).close()
    return root


@pytest.fixture
def own(made: Path, tmp_path: Path) -> Path:
    """The same graph, as a copy that a test may change. What it is made by is tested first."""
    og.copy(made, tmp_path / "own")
    return tmp_path / "own"


def files(root: Path) -> dict[str, bytes]:
    return {str(each.relative_to(root)): each.read_bytes() for each in root.rglob("*") if each.is_file()}


def test_a_copy_shows_everything_that_the_graph_shows_and_needs_nothing_of_it(made: Path, tmp_path: Path):
    source, target = tmp_path / "source", tmp_path / "else where" / "copy"
    og.copy(made, source)
    with og.open(source) as graph:
        before = tell(graph)
    with og.open(made, mode="r") as graph:
        assert tell(graph) == before
        recoveries = graph.recoveries.list()
    done = og.copy(source, target)
    shutil.rmtree(source)
    with og.open(target) as graph:
        assert tell(graph) == before
        assert graph.recoveries.list() == recoveries != []
        assert codes(graph, snapshot="gone too") == ["gone", "m1", "review"]
        assert_graph_is_whole(graph)
    assert done.to_dict() == {
        "source": str(source),
        "target": str(target),
        "branches": ["main", "deep", "fresh", "review"],
        "tags": ["gone too", "reviewed", "second"],
        "files": done.files,
        "bytes": done.bytes,
        "lost": [],
    }
    there = {name: data for name, data in files(target).items() if "lock#" not in name}
    assert (done.files, done.bytes) == (len(there), sum(map(len, there.values())))
    assert not any(str(source).encode() in data for data in there.values())


def test_a_branch_reads_on_a_line_of_a_deleted_one_that_an_older_tag_shows(tmp_path: Path):
    """What such a tag shows is not the newest of its line that is needed."""
    with og.init(tmp_path / "graph", schema=SCHEMA) as graph:
        graph.branches.create("parent")
        graph.load([film("p1")], "append", branch="parent")
        graph.tags.create("older", graph.branches.show("parent").head)
        graph.load([film("p2")], "append", branch="parent")
        graph.branches.create("child", "parent")
        graph.branches.delete("parent")
        before = tell(graph)
    assert og.copy(tmp_path / "graph", tmp_path / "copy").lost == ()
    with og.open(tmp_path / "copy") as copy:
        assert codes(copy, "child") == ["p1", "p2"]
        assert tell(copy) == before
        assert_graph_is_whole(copy)


def test_the_copy_is_written_and_merged_and_the_graph_does_not_change(made: Path, own: Path):
    before = files(made)
    with og.open(own) as graph:
        graph.mutate(ADD, params={"code": "r2"}, branch="review")
        graph.branches.merge("review", "deep")
        graph.branches.merge("deep")
        assert codes(graph) == ["deep", "m2", "r2", "review"]
        graph.branches.create("deeper", "deep")
        graph.load([film("deeper")], "append", branch="deeper")
        assert_graph_is_whole(graph)
    assert files(made) == before


def test_files_are_copied_as_they_are_but_for_the_place_in_versions_of_branches(made: Path, own: Path):
    source, target = files(made), files(own)
    hints = {name for name in source if name.endswith(("latest_version_hint.json", "lock#0"))}
    left_out = source.keys() - target.keys() - hints
    # What was written and never published: versions above those that are shown, detached ones, plans.
    assert all("/_versions/" in name for name in left_out), left_out
    assert target.keys() - source.keys() <= {"lock#0"}
    changed = {name for name in target if name in source and target[name] != source[name]} - hints
    assert changed
    assert all("/tree/" in name and name.endswith(".manifest") for name in changed)


def test_a_copy_of_a_graph_that_is_written_to_is_one_of_its_states(tmp_path: Path):
    """What is published while files are on their way is not in it, or whole; nothing is torn."""
    root = make(tmp_path / "graph")
    with og.open(root) as graph:
        numbers = iter(range(1000))

        def write(_: str) -> None:
            number = next(numbers)
            graph.load([film(f"w{number}")], "append", branch=("main", "review", "fresh")[number % 3])

        points = {failpoints.COPY_CLAIMED, failpoints.COPY_MANIFESTS_COPIED, failpoints.COPY_VERIFIED}
        with armed({each: Call(write) for each in points} | {failpoints.COPY_FILE_COPIED: Once(Call(write))}):
            og.copy(root, tmp_path / "copy")
        heads = {each.name: {commit.id for commit in graph.commits.list(each.name)} for each in graph.branches.list()}
    with og.open(tmp_path / "copy") as copy:
        for each in copy.branches.list():
            assert each.head in heads[each.name]
            assert len(codes(copy, each.name)) >= len(WHAT_BRANCHES_HOLD[each.name])
        assert_graph_is_whole(copy)


def test_a_file_that_its_writer_takes_away_meanwhile_stays_behind(
    made: Path, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A load that fails removes its files, which were never published; whoever copies may have listed them."""
    stray = next(own.glob("nodes/*/data")) / "of a load that failed.lance"
    stray.write_bytes(b"rows")
    real = TableFiles.path

    def path(self: TableFiles, location: str, name: str) -> Path | None:
        if name.endswith(stray.name):
            stray.unlink(missing_ok=True)
        return real(self, location, name)

    monkeypatch.setattr(TableFiles, "path", path)
    done = og.copy(own, tmp_path / "copy")
    assert (done.lost, stray.exists()) == ((), False)
    with og.open(tmp_path / "copy") as copy, og.open(made, mode="r") as graph:
        assert tell(copy) == tell(graph)


def test_files_that_lance_is_writing_stay_behind(own: Path, tmp_path: Path):
    """On a disk it gives a file its name when it is whole; see tests/substrate."""
    for folder in ("data", "_indices/of a build"):
        unfinished = next(own.glob("nodes/*")) / folder / ".tmpAbCdEf"
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(b"the first")
    og.copy(own, tmp_path / "copy")
    assert not any(".tmp" in name for name in files(tmp_path / "copy"))


@pytest.mark.parametrize("branch", ["main", "deep"])
def test_a_data_file_that_is_cut_short_is_found(own: Path, tmp_path: Path, branch: str):
    """It is the same in the copy, so that reading it again finds nothing; its version says how long it was."""
    with og.open(own, mode="r") as graph:
        shown = {each["name"]: each["physical_branch"] for each in graph.snapshot(branch).to_dict()["types"]}
    line = shown["Film"]
    for each in own.glob(f"nodes/*/{'data' if line is None else f'tree/{line}/data'}/*.lance"):
        each.write_bytes(each.read_bytes()[:-1])
    problem = r"Film has a file .* of \d+ bytes instead of \d+"
    if branch == "main":
        with pytest.raises(FormatError, match=problem):
            og.copy(own, tmp_path / "copy")
        assert nothing_is_there(tmp_path / "copy")
        return
    (lost,) = og.copy(own, tmp_path / "copy").lost
    assert lost.name == "deep"
    assert re.search(problem, lost.reason)


def test_a_schema_that_is_missing_or_damaged_is_found(own: Path, tmp_path: Path):
    (schema,) = own.glob("__schema/*.json")
    for spoil in (lambda: schema.write_bytes(schema.read_bytes() + b" "), schema.unlink):
        spoil()
        with pytest.raises(FormatError, match="schema") as caught:
            og.copy(own, tmp_path / "copy")
        # What is damaged is there, and the copy is not.
        assert str(schema) in caught.value.message
        assert str(tmp_path / "copy") not in caught.value.message
        assert nothing_is_there(tmp_path / "copy")


def test_a_damaged_manifest_of_main_is_told_of_the_graph(own: Path, tmp_path: Path):
    newest = min(own.glob("__manifest/*/_versions/*.manifest"))
    newest.write_bytes(b"nothing of Lance")
    with pytest.raises(FormatError, match=r"main of .* is damaged") as caught:
        og.copy(own, tmp_path / "copy")
    assert str(own) in caught.value.message
    assert str(tmp_path / "copy") not in caught.value.message
    assert nothing_is_there(tmp_path / "copy")


# ── where it may go ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_at_the_target_is_never_touched(made: Path, tmp_path: Path):
    with og.init(tmp_path / "graph", schema=SCHEMA) as graph:
        graph.load([film("f1")], "append")
        before = codes(graph)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "note.txt").write_text("mine")
    for name in ("graph", "files"):
        there = files(tmp_path / name)
        for force in (False, True):
            with pytest.raises(AlreadyExistsError):
                og.copy(made, tmp_path / name, force=force)
        assert files(tmp_path / name) == there
    with og.open(tmp_path / "graph") as graph:
        assert codes(graph) == before
    (tmp_path / "empty").mkdir()
    og.copy(made, tmp_path / "empty")


@pytest.mark.parametrize("inside", ["", "/below", "/.."])
def test_a_place_inside_of_the_other_one_is_refused(made: Path, inside: str):
    before = files(made)
    with pytest.raises(InvalidInputError, match="inside"):
        og.copy(made, f"{made}{inside}")
    assert files(made) == before


def test_a_graph_in_memory_is_refused(made: Path, tmp_path: Path):
    with (
        og.init("memory://to-be-copied", schema=SCHEMA) as graph,
        pytest.raises(InvalidInputError, match=r"in memory.*export"),
    ):
        og.copy(graph.uri, tmp_path / "copy")
    with pytest.raises(InvalidInputError, match=r"in memory.*export"):
        og.copy(made, "memory://copied")
    assert not (tmp_path / "copy").exists()


def test_where_there_is_no_graph_nothing_is_made(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFoundError, match="There is no graph"):
        og.copy(tmp_path / "empty", tmp_path / "copy")
    assert not files(tmp_path)


# ── what ends it ─────────────────────────────────────────────────────────────────────────────────────────────────────


def nothing_is_there(target: Path) -> bool:
    return not {name for name in files(target) if "lock#" not in name} if target.exists() else True


@pytest.mark.parametrize("name", COPY_POINTS[:-1])
def test_a_copy_that_fails_leaves_nothing(made: Path, tmp_path: Path, name: str):
    for problem in (StorageError("full", condition=StorageCondition.PERMANENT), KeyboardInterrupt()):
        with armed({name: Raise(problem)}), pytest.raises(type(problem)):
            og.copy(made, tmp_path / "copy")
        assert nothing_is_there(tmp_path / "copy")
    og.copy(made, tmp_path / "copy")


@pytest.mark.parametrize("name", COPY_POINTS[:-1])
def test_a_copy_that_was_given_up_leaves_nothing(made: Path, tmp_path: Path, name: str):
    token = CancellationToken()
    with armed({name: Call(lambda _: token.cancel())}), cancellable(token):
        if name == failpoints.COPY_BEFORE_MAIN:
            # Nothing is waited for any more.
            og.copy(made, tmp_path / "copy")
            return
        with pytest.raises(CallCancelledError):
            og.copy(made, tmp_path / "copy")
    assert nothing_is_there(tmp_path / "copy")


def test_a_deadline_ends_a_copy_and_leaves_nothing(made: Path, tmp_path: Path):
    with pytest.raises(DeadlineError, match="copy"):
        og.copy(made, tmp_path / "copy", deadline=0)
    assert nothing_is_there(tmp_path / "copy")
    og.copy(made, tmp_path / "copy", deadline=3600)


def test_it_is_awaited_and_cancelled(made: Path, tmp_path: Path):
    begun = threading.Event()

    async def work() -> None:
        with armed({failpoints.COPY_MANIFESTS_COPIED: Call(lambda _: begun.set())}):
            task = asyncio.create_task(aio.copy(made, tmp_path / "copy"))
            while not begun.is_set():
                await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert nothing_is_there(tmp_path / "copy")
        done = await aio.copy(made, tmp_path / "copy", verify=False)
        assert done.branches == ("main", "deep", "fresh", "review")
        async with await aio.open(tmp_path / "copy") as graph:
            assert (await graph.maintain.repair(relocate=True)).versions == 0

    asyncio.run(work())


@pytest.mark.parametrize("step", ["copyfile", "mkdtemp"])
def test_a_full_disk_is_told_and_leaves_nothing(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    real = {"copyfile": shutil.copyfile, "mkdtemp": tempfile.mkdtemp}[step]
    calls = iter(range(1000))
    owner = shutil if step == "copyfile" else tempfile
    monkeypatch.setattr(owner, step, lambda *given, **named: (full if next(calls) > 9 else real)(*given, **named))
    with pytest.raises(StorageError, match=r"(?i)no space left") as caught:
        og.copy(made, tmp_path / "copy")
    assert (caught.value.condition, caught.value.help) == (StorageCondition.CONFIGURATION, "Free space on the device.")
    assert nothing_is_there(tmp_path / "copy")
    monkeypatch.undo()
    og.copy(made, tmp_path / "copy")


class DiedHereError(BaseException):
    """Stands for the end of the process: nothing is tidied up after it."""


@pytest.fixture
def cut_off(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a copy left that died when all refs but main's were there."""
    target = tmp_path / "cut off"
    with monkeypatch.context() as patch:
        patch.setattr(copying, "_remove", lambda _: None)
        patch.setattr(LocalAdapter, "delete", lambda *_: None)
        with armed({failpoints.COPY_BEFORE_MAIN: Raise(DiedHereError())}), pytest.raises(DiedHereError):
            og.copy(made, target)
    return target


def test_what_a_dead_copy_left_is_no_graph_and_force_begins_anew(made: Path, cut_off: Path):
    with pytest.raises(NotFoundError, match=r"a copy.*cut off.*copy\(\.\.\., force=True\)"):
        og.open(cut_off)
    left = files(cut_off)
    for again in (lambda: og.copy(made, cut_off), lambda: og.init(cut_off, schema=SCHEMA)):
        with pytest.raises(AlreadyExistsError, match="force"):
            again()
    assert files(cut_off) == left
    stale = cut_off / "nodes" / "of another graph" / "data" / "x.lance"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"")
    og.copy(made, cut_off, force=True)
    assert not stale.exists()
    with og.open(cut_off) as copy, og.open(made, mode="r") as graph:
        assert tell(copy) == tell(graph)
    with pytest.raises(AlreadyExistsError):
        og.copy(made, cut_off, force=True)


@pytest.mark.parametrize("is_made", [True, False])
def test_an_answer_that_is_lost_at_the_end_is_looked_for(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_made: bool
):
    real = LocalAdapter.write_if_absent

    def lose(self: LocalAdapter, key: object, data: bytes) -> bool:
        if str(key).endswith("main.json"):
            if is_made:
                real(self, key, data)  # type: ignore[arg-type]
            raise StorageError("lost", condition=StorageCondition.UNKNOWN)
        return real(self, key, data)  # type: ignore[arg-type]

    monkeypatch.setattr(LocalAdapter, "write_if_absent", lose)
    if is_made:
        og.copy(made, tmp_path / "copy")
    else:
        with pytest.raises(OutcomeUnknownError, match="--force"):
            og.copy(made, tmp_path / "copy")
    monkeypatch.undo()
    if not is_made:
        og.copy(made, tmp_path / "copy", force=True)
    og.open(tmp_path / "copy").close()


# ── what it sees ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def garbled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that keeps another byte than it was given, in one data file."""
    real = TableFiles.send

    def send(self: TableFiles, source: Path, location: str, name: str) -> None:
        real(self, source, location, name)
        path = self.path(location, name)
        if path is not None and location.startswith("nodes") and "data/" in name:
            path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])

    monkeypatch.setattr(TableFiles, "send", send)


@pytest.mark.usefixtures("garbled")
def test_a_file_that_arrived_as_another_one_is_noticed(made: Path, tmp_path: Path):
    with pytest.raises(StorageError, match=r"data/.*not what is there") as caught:
        og.copy(made, tmp_path / "copy")
    assert caught.value.condition is StorageCondition.PERMANENT
    assert nothing_is_there(tmp_path / "copy")


def test_a_graph_without_a_file_that_main_needs_is_refused(own: Path, tmp_path: Path):
    data = min(own.glob("nodes/*/data/*.lance"), key=lambda each: each.stat().st_mtime_ns)
    for each in own.glob("nodes/*/data/*.lance"):
        each.unlink()
    with pytest.raises(FormatError, match=r"has no file nodes/.*/data/"):
        og.copy(own, tmp_path / "copy")
    assert not data.exists()
    assert nothing_is_there(tmp_path / "copy")


def test_what_cannot_be_read_of_other_branches_is_told_and_the_rest_is_copied(own: Path, tmp_path: Path):
    refs = {each.stem: json.loads(each.read_text()) for each in (own / "_refs" / "branches").iterdir()}
    newest = min(own.glob(f"__manifest/*/tree/{refs['fresh']['physical']}/_versions/*.manifest"))
    newest.write_bytes(newest.read_bytes()[:-100])
    for each in own.glob(f"nodes/*/tree/{refs['review']['physical']}.*/data/*.lance"):
        each.unlink()
    for kind in ("branches", "tags"):
        (own / "_refs" / kind / "odd.json").write_text("{")
    done = og.copy(own, tmp_path / "copy")
    assert {(each.kind, each.name) for each in done.lost} == {
        ("branch", "deep"),
        ("branch", "fresh"),
        ("branch", "odd"),
        ("branch", "review"),
        ("tag", "gone too"),
        ("tag", "odd"),
        ("tag", "reviewed"),
    }
    assert (done.branches, done.tags) == (("main", "deep", "fresh", "review"), ("gone too", "reviewed", "second"))
    assert all(each.reason for each in done.lost)
    with og.open(tmp_path / "copy") as graph:
        assert codes(graph) == WHAT_BRANCHES_HOLD["main"]
        assert [each.name for each in graph.branches.list()] == ["main", "deep", "fresh", "review"]


def test_a_graph_that_was_moved_is_copied_with_its_branches(made: Path, tmp_path: Path):
    """Where its branches were made does not matter to a copy: it knows where their files are."""
    there = Path(shutil.copytree(made, tmp_path / "there"))
    og.copy(there, tmp_path / "copy")
    with og.open(made, mode="r") as graph, og.open(tmp_path / "copy") as copy:
        assert tell(copy) == tell(graph)


def test_a_copy_of_a_copy_is_the_same(made: Path, own: Path, tmp_path: Path):
    og.copy(own, tmp_path / "second")
    shutil.rmtree(own)
    with og.open(made, mode="r") as graph, og.open(tmp_path / "second") as copy:
        assert tell(copy) == tell(graph)
