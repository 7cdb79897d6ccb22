"""A consumer of the change feed in a process of its own, which dies where it is told to, and what it has stored.

    poll ── page ──> rows in SQLite, and the cursor ── poll ──> ...
      each arrow is a point where a life may end, and so is each row

    together    rows and cursor are stored in one transaction, at the ends of commits: each change comes once
    apart       every row is stored at once, and the cursor in a file of its own, later: changes may come again

The first kind begins with the first commit of the branch, the second with a baseline.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

import omnigraph as og
from omnigraph.engine.diff import Change
from omnigraph.engine.feed_pages import FeedPage
from omnigraph.testing.races import end_with_parent

Kind = Literal["together", "apart"]

IDLE_SECONDS = 0.02

LINE_ENDS = str.maketrans({each: f"\\u{ord(each):04x}" for each in "\x85\u2028\u2029"})
"""What some programs take for the end of a line; an export escapes it."""

TABLES = """
CREATE TABLE IF NOT EXISTS rows (kind TEXT, type TEXT, id TEXT, line TEXT, PRIMARY KEY (kind, type, id));
CREATE TABLE IF NOT EXISTS place (only_one INTEGER PRIMARY KEY, cursor TEXT, commit_id TEXT);
"""


@dataclass(frozen=True, kw_only=True)
class ConsumerJob:
    """What one life of a consumer is given.

    Attributes:
        directory: where it stores things; its lives share it.
        done: a file that is there when nobody writes any more.
        life: counts its lives.
        dies_at: the number of the point at which this life ends; None for one that is not to end by itself.
    """

    uri: str
    options: Mapping[str, Any]
    kind: Kind
    directory: Path
    done: Path
    seed: int
    life: int = 0
    dies_at: int | None = None

    @property
    def database(self) -> Path:
        return self.directory / "rows.sqlite"

    @property
    def cursor_file(self) -> Path:
        return self.directory / "cursor.json"

    @property
    def notes(self) -> Path:
        """What its lives did, in lines of JSON; written when one ends well or by its own hand."""
        return self.directory / "notes.jsonl"

    @property
    def ready(self) -> Path:
        """Is there when this life has begun to poll."""
        return self.directory / f"ready-{self.life}"


def consume(job: ConsumerJob) -> None:
    """One life: follow until nobody writes any more, or die."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    with closing(connect(job.database)) as database, og.open(job.uri, mode="r", options=job.options) as graph:
        life = _Life(job, database, graph)
        job.ready.touch()
        life.run()


def connect(file: Path) -> sqlite3.Connection:
    # Transactions are begun by hand. The process is killed and the machine is not, so nothing has to reach the disk.
    database = sqlite3.connect(file, isolation_level=None)
    database.execute("PRAGMA synchronous = OFF")
    database.executescript(TABLES)
    return database


def stored_lines(file: Path) -> list[str]:
    """What a consumer holds, in the order of an export."""
    with closing(connect(file)) as database:
        return [line for (line,) in database.execute("SELECT line FROM rows ORDER BY kind, type, id")]


def stored_commit(file: Path) -> str | None:
    """The commit up to which a consumer of the first kind has stored everything."""
    with closing(connect(file)) as database:
        found = database.execute("SELECT commit_id FROM place").fetchone()
        return None if found is None else found[0]


class _Life:
    def __init__(self, job: ConsumerJob, database: sqlite3.Connection, graph: og.Graph) -> None:
        self.job = job
        self.database = database
        self.graph = graph
        self.points = self.pages = self.inside = self.changes = 0
        random = Random(f"{job.seed}.{job.kind}.{job.life}")
        # A life that dies soon may take its time.
        small = {"limit": random.choice([1, 2, 7]), "max_commits": random.choice([1, 3, 128])}
        large = {"limit": random.choice([20, 1_000]), "max_bytes": random.choice([2_000, 4_000_000])}
        self.bounds = small if (job.dies_at or 1_000) < 60 and random.random() < 0.5 else large

    def run(self) -> None:
        cursor = self._begin()
        page_token: str | None = None
        while True:
            is_done = self.job.done.exists()
            begin = {"start": "beginning"} if cursor is None else {"cursor": cursor}
            page = self.graph.changes(**({"page_token": page_token} if page_token else begin), **self.bounds)
            page_token = page.page_token
            if page.blocks:
                self._take(page)
            cursor = page.cursor or cursor
            if page.caught_up and is_done:
                break
            if page.caught_up:
                time.sleep(IDLE_SECONDS)
        self._note("done")

    def _begin(self) -> str | None:
        """The cursor that is stored; a consumer of the second kind that has none takes a baseline."""
        if self.job.kind == "together":
            found = self.database.execute("SELECT cursor FROM place").fetchone()
            return None if found is None else str(found[0])
        if not self.job.cursor_file.exists():
            self.database.execute("DELETE FROM rows")
            self._store_cursor(self._load(self.graph.changes.baseline()))
        return str(json.loads(self.job.cursor_file.read_text())["cursor"])

    def _load(self, lines: Iterable[str]) -> str:
        """Store the rows of a baseline; its cursor."""
        for line in lines:
            record = json.loads(line)
            if "baseline" in record:
                return str(record["baseline"]["resume_cursor"])
            self._may_die()
            kind = "edge" if "edge" in record else "node"
            values = (kind, record.get("edge") or record["type"], record["data"]["id"], line)
            self.database.execute("INSERT INTO rows VALUES (?, ?, ?, ?)", values)
        raise RuntimeError("a baseline without its last line")

    def _take(self, page: FeedPage) -> None:
        together = self.job.kind == "together"
        self.pages += 1
        self.inside += page.cursor is None
        self._may_die()
        if together and not self.database.in_transaction:
            self.database.execute("BEGIN")
        for change in (each for block in page.blocks for each in block.changes):
            self._apply(change, is_strict=together)
            self._may_die()
        if page.cursor is None:
            # A transaction stays open until the commit is told to its end.
            return
        if together:
            place = (1, page.cursor, page.blocks[-1].cause.commit_id)
            self.database.execute("INSERT OR REPLACE INTO place VALUES (?, ?, ?)", place)
            self._may_die()
            self.database.execute("COMMIT")
        else:
            self._store_cursor(page.cursor)
        self._may_die()

    def _apply(self, change: Change, *, is_strict: bool) -> None:
        """Make one change; strictly, it must be about what is there."""
        self.changes += 1
        name = (change.entity, change.type, change.id)
        if is_strict:
            found = self.database.execute("SELECT line FROM rows WHERE (kind, type, id) = (?, ?, ?)", name).fetchone()
            held = None if found is None else {**json.loads(found[0])["data"]}
            before = None if change.before is None else {"id": change.id, **change.before}
            if held != before:
                raise RuntimeError(f"{change} comes where {held} is held")
        if change.after is None:
            self.database.execute("DELETE FROM rows WHERE (kind, type, id) = (?, ?, ?)", name)
        else:
            self.database.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)", (*name, export_line(change)))

    def _store_cursor(self, cursor: str) -> None:
        new = self.job.cursor_file.with_suffix(".new")
        new.write_text(json.dumps({"cursor": cursor}))
        self._may_die()
        new.replace(self.job.cursor_file)

    def _may_die(self) -> None:
        self.points += 1
        if self.points == self.job.dies_at:
            self._note("died")
            os.kill(os.getpid(), signal.SIGKILL)

    def _note(self, ended: str) -> None:
        names = ("points", "pages", "inside", "changes")
        facts = {"life": self.job.life, "ended": ended, **{each: getattr(self, each) for each in names}}
        with self.job.notes.open("a") as file:
            file.write(json.dumps(facts) + "\n")


def export_line(change: Change) -> str:
    """The line of an export for what a row became."""
    ends = {"from": change.from_id, "to": change.to_id} if change.entity == "edge" else {}
    key = "edge" if change.entity == "edge" else "type"
    record = {key: change.type, **ends, "data": {"id": change.id, **(change.after or {})}}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).translate(LINE_ENDS)
