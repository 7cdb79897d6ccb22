"""OmniGraph at work: storage in memory, on disk and on an S3 server of this machine, then the two languages.

Each chapter states one promise and tries it; a promise of storage, in every place. An outcome that is not as it must be
ends the demo with exit code 1. Everything happens in a temporary directory and on loopback, and is gone afterwards.

Run it with: tox run -e demo
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

import omnigraph
from omnigraph.errors import OmnigraphError, ReadOnlyError, StorageError
from omnigraph.plugins import open_adapter
from omnigraph.storage import ObjectKey, StorageAdapter, parse_uri, verify_honesty
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.testing.races import run_race
from omnigraph.testing.s3_servers import run_s3_server

OMNIGRAPH = Path(sys.executable).parent / "omnigraph"
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
    """Six promises of storage in every place, the command that tries them on yours, and three of the languages."""
    print(f"OmniGraph {omnigraph.__version__}. Storage first. A branch of a graph is one small object; who moves it")
    print("publishes. So everything rests on a few promises about small objects, kept alike in three places.")
    print("The S3 server is ministack, a process on this machine.\n")
    with open_places() as places:
        for place in places:
            print(f"    {place.name:<17}  {place.store.root}")
        show_create(places)
        show_replace(places)
        show_race(places)
        show_tables(places)
        show_reading(places)
        show_liar()
        show_check(places[1])
    with tempfile.TemporaryDirectory(prefix="omnigraph-demo-") as folder:
        show_lint(Path(folder))
        show_plan(Path(folder))
        show_migration(Path(folder))
    show_next()


# ── the promises ─────────────────────────────────────────────────────────────────────────────────────────────────────


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


def show_tables(places: list[Place]) -> None:
    """Lance keeps tables beside the objects; its versions stay readable."""
    # Importing Lance takes longer than the demo so far.
    import lance
    import pyarrow as pa

    chapter(
        "Tables live in the same place",
        "The adapter says where; Lance creates a table of people there, then adds a row. Both versions stay.",
    )
    ada_and_grace = pa.table({"name": ["Ada", "Grace"], "born": [1815, 1906]})
    alan = pa.table({"name": ["Alan"], "born": [1912]})
    for place in places:
        location = place.store.lance_location(place.store.key("nodes/person"))
        options = dict(location.storage_options)
        lance.write_dataset(ada_and_grace, location.uri, mode="create", storage_options=options)
        lance.write_dataset(alan, location.uri, mode="append", storage_options=options)
        versions = [lance.dataset(location.uri, version=number, storage_options=options) for number in (1, 2)]
        before, after = (version.to_table().to_pylist() for version in versions)
        must(
            before == ada_and_grace.to_pylist() and after == before + alan.to_pylist(),
            place,
            f"{location.uri}\n{' ' * 25}version 1: {people(before)}; version 2: {people(after)}",
            f"Lance read back {before} and {after}",
        )


def show_reading(places: list[Place]) -> None:
    """A reader cannot change anything."""
    chapter("A reader is only a reader", 'Opened with mode="r", the adapter must refuse to delete refs/main.')
    for place in places:
        with open_adapter(str(place.store.root), options=place.store.options, mode="r") as reader:
            main_branch = reader.key("refs/main")
            try:
                reader.delete(main_branch)
            except ReadOnlyError:
                was_refused = True
            else:
                was_refused = False
            must(
                was_refused and reader.read_if_exists(main_branch) is not None,
                place,
                "delete: refused, as it must be; refs/main is still there",
                "the delete was let through",
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


def run_omnigraph(folder: Path, code: int, *words: str) -> str:
    """Show a command and what it prints; it must end with this code."""
    print(f"    $ {shlex.join(['omnigraph', *words])}", flush=True)
    done = subprocess.run([OMNIGRAPH, *words], cwd=folder, capture_output=True, encoding="utf-8", check=False)
    print("".join(f"    {line}".rstrip() + "\n" for line in done.stdout.splitlines()), flush=True)
    if done.returncode != code:
        give_up(f"it ended with code {done.returncode} and not {code}: {done.stderr}")
    return done.stdout


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
        (f"{command} lint --schema F.pg --query F.gq", "the same for your files; docs/reference has both languages"),
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


def count() -> None:
    """One more outcome that is as it must be."""
    global _outcomes
    _outcomes += 1


def give_up(why: str) -> NoReturn:
    """Say what is wrong, loudly, and end with code 1."""
    raise SystemExit(f"\n✗ NOT as it must be: {why}")


def people(rows: list[dict[str, Any]]) -> str:
    """Rows as a person reads them."""
    return ", ".join(f"{row['name']} {row['born']}" for row in rows)


if __name__ == "__main__":
    try:
        main()
    except OmnigraphError as error:
        give_up(str(error))
