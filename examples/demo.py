"""OmniGraph at work: a graph of a film club, the storage below it in three places, and the two languages.

Each chapter states one promise and tries it; a promise of storage, in memory, on disk and on an S3 server. An outcome
that is not as it must be ends the demo with exit code 1. Everything happens in a temporary directory and on loopback,
and is gone afterwards.

Run it with: tox run -e demo
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

import omnigraph
from omnigraph.errors import HeadMovedError, OmnigraphError, StorageError
from omnigraph.plugins import open_adapter
from omnigraph.storage import ObjectKey, StorageAdapter, parse_uri, verify_honesty
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.testing.races import run_race
from omnigraph.testing.s3_servers import run_s3_server

OMNIGRAPH = Path(sys.executable).parent / "omnigraph"
EXAMPLES = Path(__file__).parent
WRITERS, ROUNDS = 4, 20

SCHEMA = """\
node Book { isbn: String @key  title: String  form: enum(novel, essay) }
node Member { card: I64 @key }
edge Borrowed: Member -> Book { due: Date? }
"""
WRONG_QUERY = """\
query overdue($day: Date) {
    match {
        $m: Member
        $m $loan:borrowed $b
        $b: Book { form: "thriller" }
        $loan.due < $day
    }
    return { $m, $b.titel }
}
"""

BAD_RECORDS = """\
{"type":"Film","data":{"code":"SF-099","title":"Late","genre":"sci-fi","released":"2026-13-01","minutes":90}}
{"type":"Film","data":{"code":"SF-100","title":"Later","genre":"sci-fi","released":"2026-02-01","length":90}}
{"edge":"Rentd","from":"1001","to":"SF-001","data":{"at":"2026-02-01T10:00:00Z","fee":3.0}}
"""

_outcomes = 0


@dataclass(frozen=True)
class Place:
    """One of the three, open for reading and writing."""

    name: str
    store: StorageAdapter
    writers_are: Literal["threads", "processes"]


class ForgetfulAdapter(MemoryAdapter):
    """A store like some servers that speak S3: it takes the condition "only if absent" and ignores it."""

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        self._write(key, data)
        return True


def main() -> None:
    """Thirteen promises of a graph, four of the storage below it, the command that tries those, three of languages."""
    print(f"OmniGraph {omnigraph.__version__}. A film club becomes a graph, in memory, on disk and on an S3 server:")
    print("ministack, a process on this machine.\n")
    with open_places() as places, tempfile.TemporaryDirectory(prefix="omnigraph-demo-") as folder:
        for place in places:
            print(f"    {place.name:<17}  {place.store.root}")
        here = Path(folder)
        (here / "examples").symlink_to(EXAMPLES)
        show_init(here)
        show_load(here)
        show_refusal(here)
        show_time_travel(here)
        show_queries(here)
        show_search(here, places)
        show_changes(here)
        show_lost_race(here, places)
        show_branches(here, places)
        show_feed(here)
        show_crash(here, places)
        show_copies(here, places)
        show_moves(here, places)
        print("\nBelow a graph is storage. Who moves a small object publishes; so all of it rests on a few promises.")
        show_create(places)
        show_replace(places)
        show_race(places)
        show_liar()
        show_check(places[1])
        show_lint(here)
        show_plan(here)
        show_migration(here)
    show_next()


# ── the graph ────────────────────────────────────────────────────────────────────────────────────────────────────────


def show_init(folder: Path) -> None:
    """A graph is made of a schema."""
    chapter("A graph begins with a schema", "It says which films, people, members and edges there may be.")
    shown = run_omnigraph(folder, 0, "init", "--schema", "examples/films/schema.pg", "films.omni")
    expect("3 node types and 6 edge types" in shown, "the types are not those of the schema")


def show_load(folder: Path) -> None:
    """A load is one commit."""
    chapter("A load is one commit", "1,242 nodes and edges become visible at once, and survive a loss of power.")
    words = ("load", "films.omni", "--data", "examples/films/seed.jsonl", "--mode", "append", "--as", "ann")
    shown = run_omnigraph(folder, 0, *words)
    expect("1,242 entities" in shown, "not every record was loaded")
    shown = run_omnigraph(folder, 0, "snapshot", "films.omni")
    expect("116" in shown and "version    2" in shown, "the counts are not those of the file")


def show_refusal(folder: Path) -> None:
    """A bad file changes nothing."""
    chapter(
        "A bad file is told in full and changes nothing",
        "Each of three records is wrong in its own way. All must be told with their lines, and nothing be loaded.",
    )
    (folder / "bad.jsonl").write_text(BAD_RECORDS, "utf-8")
    with omnigraph.open(folder / "films.omni", mode="r") as graph:
        before = graph.refresh()
        shown = run_omnigraph(folder, 3, "load", "films.omni", "--data", "bad.jsonl", "--mode", "append")
        for line, reason in enumerate(("bad_date", "unknown_field", "unknown_type"), 1):
            expect(f"bad.jsonl:{line}: error[{reason}]" in shown, f"line {line} was not told as {reason}")
        expect(graph.refresh() == before, "a commit appeared")


def show_time_travel(folder: Path) -> None:
    """Every commit can be read."""
    chapter(
        "Every commit can be read",
        "A month later films came back and opinions changed. The graph must show both states, each by its commit.",
    )
    words = ("load", "films.omni", "--data", "examples/films/update.jsonl", "--mode", "merge", "--as", "bo")
    run_omnigraph(folder, 0, *words)
    run_omnigraph(folder, 0, "commit", "list", "films.omni")
    with omnigraph.open(folder / "films.omni", mode="r") as graph:
        for commit, films, sequels in zip(reversed(graph.commits.list()), (0, 116, 118), (0, 1, 2), strict=True):
            seen = len(graph.table("Film", snapshot=commit.id)), len(graph.table("SequelOf", snapshot=commit.id))
            expect(seen == (films, sequels), f"{commit.id} shows {seen}")
            print(f"    ✓ {commit.id}  {seen[0]:>3} films, {seen[1]} sequels", flush=True)
        expect("\n".join(graph.export(snapshot=2)) != "\n".join(graph.export()), "the two exports are the same")
    print()
    shown = run_omnigraph(folder, 0, "export", "films.omni", "--snapshot", "2", "--type", "SequelOf")
    expect(len(shown.splitlines()) == 1, "the past has other sequels")


def show_queries(folder: Path) -> None:
    """Shapes, what is not there, and counts."""
    chapter(
        "One language asks",
        "Along edges, for what is not there, and counting; each answer is that of one commit.",
    )
    shown = ask(folder, "directed_by", '{"who": "jakub.dvorak"}')
    expect("5 rows" in shown and "The Violin Repairer" in shown, "these are not his films")
    shown = ask(folder, "overlooked", '{"stars": 4.0}')
    expect("The Keepers of Lighthouse Ten" in shown, "a film that nobody borrowed is missing")
    shown = ask(folder, "demand", '{"since": "2025-10-01T00:00:00Z"}')
    with omnigraph.open(folder / "films.omni", mode="r") as graph:
        since = sum(row["at"] >= "2025-10-01" for row in graph.table("Rented"))
        counted = sum(int(line.split("|")[1]) for line in shown.splitlines()[3:])
        expect(counted == since, f"{counted} loans were counted, and there are {since}")


def show_search(folder: Path, places: list[Place]) -> None:
    """Words and vectors together, with and without indexes, in every place."""
    chapter(
        "Search by words and by vectors at once",
        "The answer must be the same without an index and with one, in memory, on disk and on S3.",
    )
    params = {"words": "winter letters", "mood": [0.5, 0.6, 0.3, 0.2]}
    shown = ask(folder, "evening", json.dumps(params))
    expect("A Door in the Dike" in shown, "the best film is another one")
    run_omnigraph(folder, 0, "ensure-indices", "films.omni", "--json", shows=False)
    queries = folder / "examples" / "films" / "queries.gq"
    with omnigraph.open(folder / "films.omni", mode="r") as graph:
        best = graph.query(queries, "evening", params=params).rows()
        text, schema = "\n".join(graph.export()), graph.schema.text
    expect(all(row["f.title"] in shown for row in best), "an index changed the answer")
    for place in places:
        with omnigraph.init(f"{place.store.root}/search", schema=schema, options=place.store.options) as copy:
            copy.load(text, "append")
            must(
                copy.query(queries, "evening", params=params).rows() == best,
                place,
                "the same five films, in the same order",
                "another answer",
            )


def ask(folder: Path, name: str, params: str) -> str:
    """Run a query of the film club."""
    words = ("query", "films.omni", name, "--query", "examples/films/queries.gq", "--params", params)
    return run_omnigraph(folder, 0, *words)


def show_changes(folder: Path) -> None:
    """A mutation is one commit, or none."""
    chapter(
        "A change is one commit, or nothing",
        "A person and a first role; what the schema forbids; a member who leaves, with every edge at them.",
    )
    new = {"who": "ida.falk", "name": "Ida Falk", "code": "DR-014", "role": "the neighbour"}
    shown = change(folder, 0, "debut", new)
    expect("changed main via debut: 1 node, 1 edge" in shown, "it was not the person and the role")
    with omnigraph.open(folder / "films.omni", mode="r") as graph:
        before = graph.refresh()
        shown = change(folder, 3, "judge", {"code": "DR-014", "stars": 11.0})
        expect("statement 1: error[range]" in shown, "eleven stars of five were let through")
        shown = change(folder, 3, "debut", new | {"who": "per.falk", "name": "Per Falk", "code": "DR-999"})
        expect(
            "statement 2: error[endpoint]: dst 'DR-999' not found in Film" in shown,
            "a film that is not there was taken",
        )
        expect(graph.refresh() == before, "a commit appeared, or half of one")
        edges = member_edges(graph, "1022")
        shown = change(folder, 0, "forget", {"card": 1022})
        graph.refresh()
        expect(f"1 node, {edges} edges" in shown and edges > 3, f"the member had {edges} edges")
        expect(member_edges(graph, "1022") == 0, "edges of nobody are left")
        expect(member_edges(graph, "1022", snapshot=before.id) == edges, "the past changed")
    shown = change(folder, 0, "forget", {"card": 1022})
    expect("nothing matched" in shown, "somebody who is gone was found")


def show_lost_race(folder: Path, places: list[Place]) -> None:
    """Who writes for a commit is told when it is not the newest any more."""
    chapter(
        "Nobody writes over what they have not seen",
        "Two people read a film, and both write back for what they read. The slower one must be told, by code 4.",
    )
    queries = folder / "examples" / "films" / "queries.gq"
    with omnigraph.open(folder / "films.omni", mode="r") as graph:
        read_by_both = graph.query(queries, "directed_by", params={"who": "jakub.dvorak"}).commit_id
        words = ("--if-commit", read_by_both)
        change(folder, 0, "retag", {"code": "DR-014", "tags": ["strings", "rain"]}, *words, "--as", "ann")
        shown = change(folder, 4, "retag", {"code": "DR-014", "tags": ["winter"]}, *words, "--as", "bo")
        expect(f"and this write asks for {read_by_both}" in shown, "the slower one was told something else")
        graph.refresh()
        tags = {row["code"]: row["tags"] for row in graph.table("Film", columns=["code", "tags"])}
        expect(tags["DR-014"] == ["strings", "rain"], f"the tags are {tags['DR-014']}")
    for place in places:
        with omnigraph.open(f"{place.store.root}/search", options=place.store.options) as copy:
            seen = copy.snapshot().commit.id
            first = copy.mutate(queries, "judge", params={"code": "DR-014", "stars": 4.5}, if_commit=seen)
            try:
                copy.mutate(queries, "judge", params={"code": "DR-014", "stars": 1.5}, if_commit=seen)
            except HeadMovedError as late:
                is_told = first.commit is not None and late.actual == first.commit.id
            else:
                is_told = False
            must(
                is_told,
                place,
                "first writer: done; slower writer: refused, and told the newest commit",
                "both were done",
            )


def show_branches(folder: Path, places: list[Place]) -> None:
    """Two agents work apart, and what they did comes together or is told to contradict."""
    chapter(
        "Agents work on branches, and a merge lands whole or not at all",
        "Two agents change the graph at the same time, each on a branch. What they did to different films must come\n"
        "   together; of a film that both changed, nothing may be merged until somebody decides.",
    )
    run_omnigraph(folder, 0, "branch", "create", "films.omni", "agent/ann")
    run_omnigraph(folder, 0, "branch", "create", "films.omni", "agent/bo")
    change(folder, 0, "retag", {"code": "DR-014", "tags": ["strings"]}, "--branch", "agent/ann", "--as", "ann")
    change(folder, 0, "retag", {"code": "SF-001", "tags": ["slow"]}, "--branch", "agent/bo", "--as", "bo")
    shown = run_omnigraph(folder, 0, "diff", "films.omni", "main", "agent/bo")
    expect("~ Film SF-001" in shown and "0 inserted, 1 updated, 0 deleted" in shown, "the branch did something else")
    shown = run_omnigraph(folder, 0, "branch", "merge", "films.omni", "agent/ann", "--as", "eve")
    expect("fast-forwarded" in shown, "main had moved on")
    shown = run_omnigraph(folder, 0, "branch", "merge", "films.omni", "agent/bo", "--as", "eve")
    expect(shown.startswith("merged"), "the two did not come together")
    change(folder, 0, "retag", {"code": "DR-014", "tags": ["rain"]}, "--branch", "agent/ann", "--as", "ann")
    change(folder, 0, "retag", {"code": "DR-014", "tags": ["winter"]}, "--branch", "agent/bo", "--as", "bo")
    run_omnigraph(folder, 0, "branch", "merge", "films.omni", "agent/ann", "--delete-branch")
    shown = run_omnigraph(folder, 4, "branch", "merge", "films.omni", "agent/bo")
    expect("node Film 'DR-014': both branches changed it" in shown, "the conflict is not told")
    expect(tags_of(folder) == ["rain"], "something was merged all the same")
    shown = run_omnigraph(
        folder, 0, "branch", "merge", "films.omni", "agent/bo", "--strategy", "theirs", "--delete-branch"
    )
    expect("decided 1 conflict" in shown and tags_of(folder) == ["winter"], "nobody decided")
    shown = run_omnigraph(folder, 0, "commit", "graph", "films.omni", "--limit", "9")
    expect(shown.count("merge") == 4, "the history does not show the merges")
    queries = folder / "examples" / "films" / "queries.gq"
    for place in places:
        with omnigraph.open(f"{place.store.root}/search", options=place.store.options) as copy:
            copy.branches.create("agent")
            before = copy.snapshot()
            copy.mutate(queries, "judge", params={"code": "DR-014", "stars": 2.0}, branch="agent")
            merged = copy.branches.merge("agent", delete_branch=True)
            changes = [(each.op, each.id) for each in copy.diff(before, "main")]
        must(
            (merged.outcome, changes) == ("fast_forward", [("update", "DR-014")]),
            place,
            "a branch, a change on it, merged and deleted: that change and no other",
            f"{merged.outcome}, {changes}",
        )


def tags_of(folder: Path) -> list[str]:
    """The tags of the film that everybody changes, on main."""
    with omnigraph.open(folder / "films.omni", mode="r") as graph:
        film = graph.entity_at("Film", "DR-014", "main")
    return [] if film is None else list(film["tags"])


def show_feed(folder: Path) -> None:
    """Whoever follows a branch hears of every change once more than they remember, and of none less."""
    chapter(
        "Anybody can follow what changed",
        "A consumer takes a baseline and keeps its cursor. Every later change must come, in the order of commits.",
    )
    with omnigraph.open(folder / "films.omni") as graph:
        lines = [*graph.changes.baseline()]
        cursor = json.loads(lines[-1])["baseline"]["resume_cursor"]
        expect(len(lines) - 1 == sum(1 for _ in graph.export()), "the baseline is not the graph")
    change(folder, 0, "retag", {"code": "DR-014", "tags": ["strings", "rain"]}, "--as", "ann")
    shown = run_omnigraph(folder, 0, "changes", "poll", "films.omni", "--cursor", cursor)
    expect('~ Film DR-014 tags: ["winter"] -> ["strings","rain"]' in shown, "the change did not come")


def change(folder: Path, code: int, name: str, params: Mapping[str, object], *words: str) -> str:
    """Run a mutation of the film club; it must end with this code."""
    query = ("--query", "examples/films/queries.gq", "--params", json.dumps(params))
    return run_omnigraph(folder, code, "mutate", "films.omni", name, *query, *words)


def member_edges(graph: omnigraph.Graph, card: str, snapshot: str | None = None) -> int:
    """How many edges start or end at a member."""
    # Only Follows ends at one; no film has a number for a code.
    tables = [graph.table(name, columns=["src", "dst"], snapshot=snapshot) for name in ("Rented", "Rated", "Follows")]
    return sum(card in row.values() for rows in tables for row in rows)


def show_crash(folder: Path, places: list[Place]) -> None:
    """What a killed process left is finished or taken back."""
    chapter(
        "A writer that is killed loses nothing and leaves nothing half",
        "A member leaves, and the process that says so is killed: first when some of it is written, then when only\n"
        "   the commit is missing. The first must be taken back, the second be finished.",
    )
    films, card = folder / "films.omni", 1030
    for failpoint, outcome, is_gone in (
        ("publish.table_committed", "rolled back", False),
        ("publish.tables_durable", "rolled forward", True),
    ):
        print(f"    killed at {failpoint}: a process that forgets member {card}\n", flush=True)
        expect(is_killed(folder, str(films), {}, card, failpoint), "the process was not killed")
        shown = run_omnigraph(folder, 0, "recovery", "list", "films.omni")
        expect(shown.startswith("cut off") and "mutation to main by bo" in shown, "nobody sees that it was cut off")
        shown = run_omnigraph(folder, 0, "recovery", "run", "films.omni")
        expect(shown.startswith(outcome), f"it was not {outcome}")
        with omnigraph.open(films, mode="r") as graph:
            cards = {row["card"] for row in graph.table("Member", columns=["card"])}
            edges = member_edges(graph, str(card))
        expect((card not in cards, edges == 0) == (is_gone, is_gone), f"{card} is half there: {edges} edges")
    shown = run_omnigraph(folder, 0, "recovery", "list", "films.omni")
    expect([line[:8] for line in shown.splitlines()] == ["rolled f", "rolled b"], "the audit tells something else")
    shown = run_omnigraph(folder, 0, "commit", "list", "films.omni", "--actor", "omnigraph:recovery")
    expect(shown.rstrip().endswith("  bo"), "the commit is not of who began it")
    for place in places:
        if place.writers_are == "processes":
            uri, options = f"{place.store.root}/search", place.store.options
            expect(is_killed(folder, uri, options, card, "publish.tables_durable"), "the process was not killed")
            with omnigraph.open(uri, options=options) as again:
                kinds = [str(each.kind) for each in again.recoveries.settled()]
                edges = member_edges(again, str(card))
            must(
                (kinds, edges) == (["RolledForward"], 0),
                place,
                "killed before its commit; opened again: the commit is made, and nothing is half",
                f"{kinds}, {edges} edges",
            )


WRITER = """
import json, sys
import omnigraph
from omnigraph.testing.faults import Kill, armed

uri, options, card, failpoint = json.load(sys.stdin)
with omnigraph.open(uri, actor="bo", options=options) as graph, armed({failpoint: Kill()}):
    graph.mutate("examples/films/queries.gq", "forget", params={"card": card})
"""


def is_killed(folder: Path, uri: str, options: Mapping[str, object], card: int, failpoint: str) -> bool:
    """Let another process forget a member and be killed at a failpoint; whether that happened."""
    job = json.dumps([uri, dict(options), card, failpoint])
    done = subprocess.run([sys.executable, "-c", WRITER], cwd=folder, input=job, encoding="utf-8", check=False)
    return done.returncode == -signal.SIGKILL


def show_copies(folder: Path, places: list[Place]) -> None:
    """The same graph has the same text everywhere."""
    chapter(
        "A graph is the same everywhere",
        "Its export is loaded into a new graph in each place. What these export must be the same, byte by byte.",
    )
    with omnigraph.open(folder / "films.omni", mode="r") as graph:
        text = "\n".join(graph.export())
        schema = graph.schema.text
    for place in places:
        uri, options = f"{place.store.root}/copy", place.store.options
        with omnigraph.init(uri, schema=schema, options=options) as copy:
            copy.load(text, "overwrite")
            again = "\n".join(copy.export())
        must(
            again == text, place, f"{len(text.splitlines()):,} lines, {len(text):,} characters: the same", "they differ"
        )


def show_moves(folder: Path, places: list[Place]) -> None:
    """A copy has every branch, and a graph that was moved says what it needs."""
    chapter(
        "A graph is copied whole, and one that was moved is repaired",
        "Copied to disk and to S3 with its branches, from where it was renamed to: the branch must be the same there.",
    )
    run_omnigraph(folder, 0, "branch", "create", "films.omni", "club/new")
    change(folder, 0, "retag", {"code": "DR-014", "tags": ["moving"]}, "--branch", "club/new", "--as", "ann")
    with omnigraph.open(folder / "films.omni", mode="r") as graph:
        text = "\n".join(graph.export(branch="club/new"))
    (folder / "films.omni").rename(folder / "moved.omni")
    shown = run_omnigraph(folder, 1, "diff", "moved.omni", "main", "club/new")
    expect("omnigraph repair" in shown and "--relocate" in shown, "the way out is not told")
    shown = run_omnigraph(folder, 0, "repair", "moved.omni", "--relocate")
    expect("relocated club/new" in shown, "the branch was not relocated")
    for place in places[1:]:
        target, options = f"{place.store.root} copied", place.store.options
        done = omnigraph.copy(folder / "moved.omni", target, options=options)
        with omnigraph.open(target, mode="r", options=options) as copy:
            is_same = "\n".join(copy.export(branch="club/new")) == text and not done.lost
        must(is_same, place, f"{done.files} files, {len(done.branches)} branches: the same", "they differ")
    (folder / "moved.omni").rename(folder / "films.omni")


# ── the storage ──────────────────────────────────────────────────────────────────────────────────────────────────────


def show_create(places: list[Place]) -> None:
    """One name is created once."""
    chapter("A name is taken once", "Two writers create the branch refs/main. The second one must be told no.")
    for place in places:
        main_branch = place.store.key("refs/main")
        first = place.store.write_if_absent(main_branch, b"commit 1")
        second = place.store.write_if_absent(main_branch, b"commit 1, by somebody else")
        must(
            first and not second and place.store.read(main_branch) == b"commit 1",
            place,
            "first create: done; second create: refused, as it must be",
            f"the two creates were told {first} and {second}",
        )


def show_replace(places: list[Place]) -> None:
    """A replacement counts only against the version that was read."""
    chapter(
        "Nobody's commit is lost",
        "Two writers read refs/main, then both move it. The slower one must be told no: what it read is old.",
    )
    for place in places:
        main_branch = place.store.key("refs/main")
        read_by_both = place.store.read_versioned(main_branch)
        moved = place.store.write_if_match(main_branch, b"commit 2", read_by_both.token)
        late = place.store.write_if_match(main_branch, b"commit 2, by somebody else", read_by_both.token)
        must(
            moved is not None and late is None and place.store.read(main_branch) == b"commit 2",
            place,
            "first writer: moved it to commit 2; slower writer: refused, as it must be",
            f"the two writers were told {moved} and {late}",
        )


def show_race(places: list[Place]) -> None:
    """The same with many writers at once."""
    chapter("One winner, also when all come at once", f"{WRITERS} writers start together, {ROUNDS} times over.")
    for place in places:
        report = run_race(place.store, "replace", writers=WRITERS, rounds=ROUNDS, place=place.writers_are)
        must(
            report.is_exact,
            place,
            f"{WRITERS} {place.writers_are}, {ROUNDS} rounds: one winner each time, and its bytes are there",
            f"not one winner each time: {report.winners} {report.errors[:3]}",
        )


def show_liar() -> None:
    """A store that ignores conditions is found out before it is used."""
    chapter(
        "A store that lies is found out",
        "Some servers take the condition of a write and ignore it. A store of that kind, made here, must be refused.",
    )
    liar = ForgetfulAdapter(parse_uri("memory://forgetful/graph"))
    try:
        verify_honesty(liar)
    except StorageError as error:
        print(f"    ✓ refused, as it must be: {error.message}", flush=True)
        count()
    else:
        give_up("the lying store was accepted")


def show_check(place: Place) -> None:
    """The command that tries a place."""
    command = ["omnigraph", "storage", "check", str(place.store.root), "--rounds", "20"]
    chapter("Your own disk or bucket", "One command tries these promises at any place, and cleans up behind itself:")
    print(f"    $ {shlex.join(command)}", flush=True)
    done = subprocess.run([OMNIGRAPH, *command[1:]], capture_output=True, encoding="utf-8", check=False)
    print("".join(f"    {line}\n" for line in done.stdout.splitlines()), end="", flush=True)
    if done.returncode != 0:
        give_up(f"the check ended with code {done.returncode}: {done.stderr}")
    count()


# ── the languages ────────────────────────────────────────────────────────────────────────────────────────────────────


def show_lint(folder: Path) -> None:
    """Every mistake is told in one run, with its place and a code."""
    chapter(
        "All mistakes at once, each with its place",
        "A schema and a query with two mistakes. Both must be found, at the right word, without a graph.",
    )
    (folder / "library.pg").write_text(SCHEMA, "utf-8")
    (folder / "overdue.gq").write_text(WRONG_QUERY, "utf-8")
    shown = run_omnigraph(folder, 3, "lint", "--schema", "library.pg", "--query", "overdue.gq")
    for word, code in (('"thriller"', "T3"), ("titel", "T6")):
        line, column = place_of(word, WRONG_QUERY)
        if f"error[{code}]" not in shown or f"overdue.gq:{line}:{column}" not in shown:
            give_up(f"{code} was not told at line {line}, column {column}")
        count()


def show_plan(folder: Path) -> None:
    """The query that is right has a plan."""
    chapter(
        "The plan begins where least is read",
        "Mended, the query passes. It names members first; its plan must begin at the books, which have a condition.",
    )
    right = WRONG_QUERY.replace("thriller", "novel").replace("titel", "title")
    (folder / "overdue.gq").write_text(right, "utf-8")
    run_omnigraph(folder, 0, "lint", "--schema", "library.pg", "--query", "overdue.gq")
    shown = run_omnigraph(folder, 0, "explain", "--schema", "library.pg", "--query", "overdue.gq")
    if not shown.splitlines()[-1].strip().startswith('NodeScan $b: Book where $b.form = "novel"'):
        give_up("the plan begins elsewhere")
    count()


def show_migration(folder: Path) -> None:
    """The way from one schema to the next is known before anything is done."""
    chapter(
        "A change of schema is planned before it is made",
        "Books get pages and a new name, members a phone that must not be null. The last one must be refused.",
    )
    later = SCHEMA.replace("node Book {", 'node Work @rename_from("Book") { pages: I32? ').replace("-> Book", "-> Work")
    (folder / "later.pg").write_text(later, "utf-8")
    shown = run_omnigraph(folder, 0, "schema", "plan", "--from", "library.pg", "--schema", "later.pg")
    if "rename node type 'Book' -> 'Work'" not in shown or "drop" in shown:
        give_up("the rename was not recognised")
    count()
    too_late = later.replace(' @rename_from("Book")', "").replace("card: I64 @key", "card: I64 @key  phone: String")
    (folder / "too-late.pg").write_text(too_late, "utf-8")
    shown = run_omnigraph(folder, 3, "schema", "plan", "--from", "later.pg", "--schema", "too-late.pg")
    if "OG-MF-103" not in shown:
        give_up("the property that must not be null was let through")
    count()


def run_omnigraph(folder: Path, code: int, *words: str, shows: bool = True) -> str:
    """Show a command and, unless that is long, what it prints; it must end with this code."""
    print(f"    $ {shlex.join(['omnigraph', *words])}", flush=True)
    done = subprocess.run([OMNIGRAPH, *words], cwd=folder, capture_output=True, encoding="utf-8", check=False)
    # What it is about to do is said on stderr too, and is on the screen already.
    told = "".join(line for line in done.stderr.splitlines(keepends=True) if not line.endswith("(direct, local)\n"))
    printed = done.stdout if code == 0 or done.stdout else told
    print("".join(f"    {line}".rstrip() + "\n" for line in printed.splitlines() if shows), flush=True)
    if done.returncode != code:
        give_up(f"it ended with code {done.returncode} and not {code}: {done.stderr}")
    return printed


def place_of(word: str, text: str) -> tuple[int, int]:
    """The line and column at which a word stands."""
    before = text[: text.index(word)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def show_next() -> None:
    """What was shown and where to go."""
    here = Path.cwd()
    command = OMNIGRAPH.relative_to(here) if OMNIGRAPH.is_relative_to(here) else OMNIGRAPH
    print(f"\nAll {_outcomes} outcomes are as they must be. Try next:\n")
    for what, why in (
        (
            f"{command} init --schema examples/films/schema.pg films.omni",
            "this graph, to keep; docs/tutorial goes on",
        ),
        (f"{command} lint --schema F.pg --query F.gq", "the same for your files; docs/reference has both languages"),
        (f"{command} recovery list films.omni", "what killed writers left, and what was done about it"),
        (f"{command} storage check graph.omni", "the same on a place of yours; s3://bucket/graph works too"),
        (f"{command} plugins", "the backends that are installed, and their options"),
        ("docs/how-to/write-a-storage-backend.md", "a backend of your own; the smallest one has six methods"),
        ("tox run", "everything that must hold, tested"),
    ):
        print(f"    {what}\n        {why}")


# ── the places ───────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def open_places() -> Iterator[list[Place]]:
    """The three, for as long as the demo runs."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="omnigraph-demo-"))
        server = stack.enter_context(run_s3_server("ministack"))
        s3_uri = f"s3://{server.create_bucket('demo')}/graph"
        yield [
            Place("in memory", stack.enter_context(open_adapter("memory://demo/graph")), "threads"),
            Place("on disk", stack.enter_context(open_adapter(Path(folder) / "team graph")), "processes"),
            Place(
                "on S3 (ministack)", stack.enter_context(open_adapter(s3_uri, options=server.options())), "processes"
            ),
        ]


# ── what is printed ──────────────────────────────────────────────────────────────────────────────────────────────────


def chapter(promise: str, what: str) -> None:
    """Print a promise and how it is tried."""
    print(f"\n── {promise} {'─' * max(2, 100 - len(promise))}\n   {what}\n", flush=True)


def must(holds: bool, place: Place, good: str, bad: str) -> None:
    """Print an outcome; one that is not as it must be is the end."""
    if not holds:
        give_up(f"{place.name}: {bad}")
    print(f"    ✓ {place.name:<17}  {good}", flush=True)
    count()


def expect(holds: bool, bad: str) -> None:
    """Count an outcome that the screen shows already; one that is not as it must be is the end."""
    if not holds:
        give_up(bad)
    count()


def count() -> None:
    """One more outcome that is as it must be."""
    global _outcomes
    _outcomes += 1


def give_up(why: str) -> NoReturn:
    """Say what is wrong, loudly, and end with code 1."""
    raise SystemExit(f"\n✗ NOT as it must be: {why}")


if __name__ == "__main__":
    try:
        main()
    except OmnigraphError as error:
        give_up(str(error))
