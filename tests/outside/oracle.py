"""The judge: holds what a graph shows against what its writers were promised, and against a model of its own.

It knows journals (``outside_journal``), a model (``outside_world``) and what an observer saw
(``outside_observer``), and nothing of the product. The history of the graph says in which order operations took
effect; whether that order is one that the writers could have seen, and whether each state follows from the one before
it, is judged here.

What it finds is one of:

    lost         an operation that was acknowledged is not there
    partial      a state is not what its operations make of the state before it; an edge lacks a node
    late         an operation shows that was gone when all writers were dead
    refused      an operation shows although its caller was told that nothing was written; or it was refused wrongly
    order        an operation shows before one that was over when it began; a history contradicts itself
    answers      a query says something else than the export of the same commit
    names        a branch or a tag is there, or is not, against what its writers were told
    recoveries   the list of recoveries says something that the history does not
    newest       the newest version of a table shows other Lance tools something else than the graph
    unreadable   the graph cannot be read or opened; a write that nothing speaks against fails
    untyped      the product raised something that is no error of its own
    unexpected   it raised an error of its own that this run gives no reason for
    overrun      a call did not end in its time
    full         a call that failed keeps the disk full
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from outside_journal import Entry, JournalReader
from outside_world import EMPTY, ImpossibleError, State, applied, difference, merged, seen_in

USUAL = frozenset(
    {
        "constraint",
        "head_moved",
        "contention",
        "conflict",
        "branch_replaced",
        "merge_conflict",
        "not_found",
        "already_exists",
    }
)
"""Kinds of errors that a random history among other writers may get."""

DATA = ("mutate", "load", "merge")


@dataclass(frozen=True, slots=True)
class Finding:
    kind: str
    text: str


@dataclass(slots=True)
class Oracle:
    """What is known of one graph so far.

    Attributes:
        allowed: kinds of errors that writers may get.
    """

    journal: JournalReader
    allowed: frozenset[str] = USUAL
    findings: list[Finding] = field(default_factory=list)
    states: dict[str, State] = field(default_factory=dict)
    commits: dict[str, dict[str, Any]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    heads: dict[str, State] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    recoveries: dict[str, dict[str, Any]] = field(default_factory=dict)
    is_made: bool = False
    _names: dict[str, set[bool]] = field(default_factory=dict)
    _told_tags: dict[str, str] = field(default_factory=dict)
    _gone: set[int] = field(default_factory=set)
    _commits_of: dict[int, str] = field(default_factory=dict)
    _told: set[tuple[str, str]] = field(default_factory=set)

    def find(self, kind: str, text: str) -> None:
        """Note something that is wrong, once."""
        if (kind, text) not in self._told:
            self._told.add((kind, text))
            self.findings.append(Finding(kind, text))

    def summary(self) -> Counter[str]:
        """What was counted, with how operations ended that nobody was told of, and what recoveries did."""
        counts = Counter(self.counts)
        for entry in self.journal.entries.values():
            if entry.is_open and entry.operation["verb"] in DATA:
                counts["open and there" if entry.number in self._commits_of else "open and not there"] += 1
        for each in self.recoveries.values():
            counts[each["recovery_kind"]] += 1
            counts["published after it was taken back"] += each["published_version"] is not None
        return counts

    # ── what writers were told ───────────────────────────────────────────────────────────────────────────────────

    def listen(self) -> list[Entry]:
        """Take in what the journals say since the last time."""
        entries = sorted(self.journal.read(), key=lambda entry: entry.begun)
        for entry in entries:
            verb = entry.operation["verb"]
            self.counts["operations"] += 1
            self.counts[f"{verb} done" if entry.is_acknowledged else "not acknowledged"] += 1
            if entry.is_acknowledged:
                self.counts["acknowledged"] += 1
                if verb == "init":
                    self.is_made = True
            self._hear_refusal(entry)
            if verb in ("create branch", "delete branch", "create tag", "delete tag"):
                self._hear_name(entry)
        return entries

    def _hear_refusal(self, entry: Entry) -> None:
        refusal = entry.refusal
        if refusal is None:
            return
        what = f"operation {entry.number} ({entry.operation['verb']}): {refusal['class']}: {refusal['text']}"
        self.counts[f"refused {refusal['kind'] or refusal['class']}"] += 1
        if refusal["kind"] is None:
            self.find("untyped", what)
        elif refusal["kind"] not in self.allowed:
            self.find("unexpected", what)

    def _hear_name(self, entry: Entry) -> None:
        verb, name = entry.operation["verb"], entry.operation["name"]
        thing, key = verb.split()[1], f"{verb.split()[1]} {name}"
        before, after = self._names.get(key, {False}), {verb.startswith("create")}
        if entry.is_acknowledged:
            self._names[key] = after
            if verb == "create tag" and entry.answer is not None:
                self._told_tags[name] = entry.answer["names"]
        elif entry.is_open:
            self._names[key] = before | after
        elif entry.refusal is not None:
            kind = entry.refusal["kind"]
            if kind == "already_exists" and before == {False}:
                self.find("refused", f"{thing} {name} was refused as already there (operation {entry.number})")
            # A create can also miss the branch that it was to begin from.
            if kind == "not_found" and verb.startswith("delete") and before == {True}:
                self.find("refused", f"{thing} {name} was refused as missing (operation {entry.number})")

    # ── what a reader saw ────────────────────────────────────────────────────────────────────────────────────────

    def judge(self, seen: Mapping[str, Any], *, is_settled: bool) -> None:
        """Hold one look at the graph against all that is known.

        Args:
            seen: what the observer wrote.
            is_settled: no writer lives, and the look opened the graph for writing: what is not there now, is gone.
        """
        self.counts["looks"] += 1
        if "error" in seen:
            self.find("unreadable", seen["error"])
            return
        if "missing" in seen:
            if self.is_made:
                self.find("lost", f"the graph itself: {seen['missing']}")
            return
        self.is_made = True
        branches = {each["name"]: each for each in seen["branches"]}
        self._learn(seen["commits"])
        self._judge_names("branch", set(branches) - {"main"})
        self._judge_names("tag", set(seen["tags"]))
        for name, commit_id in seen["tags"].items():
            if self._told_tags.get(name, commit_id) != commit_id:
                self.find("names", f"tag {name} names {commit_id}, and {self._told_tags[name]} was acknowledged")
        for branch in branches.values():
            self._judge_branch(branch, seen)
        for moment, lines in seen["past"].items():
            self._judge_state(f"the past commit {moment}", self.states[moment], lines)
        self._judge_entries(branches, is_settled=is_settled)
        self._judge_recoveries(seen, branches)
        if is_settled and seen["pending"]:
            self.find("recoveries", f"still pending although all writers are dead: {seen['pending']}")
        for table, count in seen.get("tables", {}).items():
            if count != len(self.heads["main"][table]):
                self.find(
                    "newest", f"{table} has {count} rows in its newest version, not {len(self.heads['main'][table])}"
                )
        self.tags = dict(seen["tags"])

    def _learn(self, commits: Mapping[str, dict[str, Any]]) -> None:
        """Work out the state after each commit that was not seen before, parents first."""
        for id_, commit in commits.items():
            known = self.commits.get(id_)
            if known is not None and known != commit:
                self.find("order", f"commit {id_} was {known} and is {commit}")
        self.commits.update(commits)
        waiting = [id_ for id_ in commits if id_ not in self.states]
        while waiting:
            id_ = waiting[-1]
            if id_ in self.states:
                waiting.pop()
                continue
            commit = self.commits[id_]
            needed = [each for each in (commit["parent_id"], commit["merged_parent_id"]) if each is not None]
            missing = [each for each in needed if each not in self.states]
            unknown = [each for each in missing if each not in self.commits]
            if unknown:
                self.find("order", f"commit {id_} has a parent {unknown[0]} that no history lists")
                self.states[id_] = EMPTY
            elif missing:
                waiting += missing
            else:
                self.states[id_] = self._state_after(commit)

    def _state_after(self, commit: Mapping[str, Any]) -> State:
        if commit["parent_id"] is None:
            return EMPTY
        before = self.states[commit["parent_id"]]
        if commit["kind"] in ("maintenance", "fence", "schema"):
            return before
        entry = self._entry_of(commit)
        if entry is None:
            self.find("order", f"commit {commit['id']} is of nobody: {commit}")
            return before
        try:
            if entry.operation["verb"] == "merge":
                after, affected = self._after_merge(commit, entry), None
            else:
                after, affected = applied(before, entry.operation)
        except ImpossibleError as error:
            self.find("partial", f"commit {commit['id']} of operation {entry.number} cannot be: {error}")
            return before
        told = (entry.answer or {}).get("affected")
        if affected is not None and told is not None and list(affected) != told:
            self.find("answers", f"operation {entry.number} told {told} affected, not {list(affected)}")
        # What did not change is kept once: there are many states.
        return {name: before[name] if before[name] == rows else rows for name, rows in after.items()}

    def _entry_of(self, commit: Mapping[str, Any]) -> Entry | None:
        actor = commit["actor"] or ""
        if not actor.startswith("op-"):
            return None
        entry = self.journal.entries.get(int(actor.removeprefix("op-")))
        if entry is None:
            return None
        other = self._commits_of.setdefault(entry.number, commit["id"])
        if other != commit["id"]:
            self.find("partial", f"operation {entry.number} made two commits: {other} and {commit['id']}")
        if commit["branch"] != entry.operation["branch"]:
            self.find("order", f"commit {commit['id']} of operation {entry.number} is on {commit['branch']}")
        return entry

    def _after_merge(self, commit: Mapping[str, Any], entry: Entry) -> State:
        source, target = commit["merged_parent_id"], commit["parent_id"]
        common = self._ancestors(source) & self._ancestors(target)
        nearest = [each for each in common if not any(each in self._ancestors(o) for o in common if o != each)]
        if len(nearest) != 1:
            raise ImpossibleError(f"a merge with {len(nearest)} nearest common ancestors")
        base = self.states[nearest[0]]
        return merged(base, self.states[source], self.states[target], entry.operation["strategy"])

    def _ancestors(self, commit_id: str) -> set[str]:
        found, waiting = set(), [commit_id]
        while waiting:
            each = waiting.pop()
            if each not in found:
                found.add(each)
                commit = self.commits[each]
                waiting += [up for up in (commit["parent_id"], commit["merged_parent_id"]) if up is not None]
        return found

    def _judge_branch(self, branch: Mapping[str, Any], seen: Mapping[str, Any]) -> None:
        name = branch["name"]
        if branch["problem"] is not None:
            self.find("unreadable", f"branch {name}: {branch['problem']}")
            return
        chain = [self.commits[branch["head"]]]
        while chain[-1]["parent_id"] is not None:
            chain.append(self.commits[chain[-1]["parent_id"]])
            if (
                chain[-1]["branch"] == chain[-2]["branch"]
                and chain[-1]["manifest_version"] >= chain[-2]["manifest_version"]
            ):
                self.find("order", f"{chain[-1]['id']} is the parent of {chain[-2]['id']} with a later version")
        latest, before = 0.0, 0
        for commit in reversed(chain):
            entry = self.journal.entries.get(self._number_of(commit))
            if entry is not None:
                if entry.is_acknowledged and entry.ended is not None and entry.ended < latest:
                    self.find("order", f"on {name} operation {before} comes before {entry.number}, and began after it")
                if entry.begun > latest:
                    latest, before = entry.begun, entry.number
        state = self.states[branch["head"]]
        self.heads[name] = state
        self._judge_state(f"branch {name}", state, seen["exports"][name])
        self._judge_answers(name, state, seen["answers"][name], seen)

    def _number_of(self, commit: Mapping[str, Any]) -> int:
        actor = commit["actor"] or ""
        return int(actor.removeprefix("op-")) if actor.startswith("op-") else -1

    def _judge_state(self, what: str, expected: State, lines: Iterable[str]) -> None:
        actual, wrong = seen_in(lines)
        for each in [*wrong, *difference(expected, actual)]:
            self.find("partial", f"{what}: {each}")

    def _judge_answers(self, name: str, state: State, answers: Mapping[str, Any], seen: Mapping[str, Any]) -> None:
        people = state["Person"]
        than, asked = seen["asked"]["than"], seen["asked"]["name"]
        expected = {
            "people": [(len(people),)],
            "memos": [(len(state["Memo"]),)],
            # A traversal gives each node at the other end once, however many edges lead there.
            "known": sorted({(row[0], row[1]) for row in state["Knows"].values()}),
            "written": sorted({(row[0], row[1]) for row in state["Wrote"].values()}),
            "older": sorted((each,) for each, (age, _) in people.items() if age > than),
            "named": [(people[asked][0],)] if asked in people else [],
        }
        for question, rows in expected.items():
            actual = sorted(tuple(row.values()) for row in answers[question])
            if actual != rows:
                self.find("answers", f"{question} on {name} gives {actual[:5]}…, not {rows[:5]}… ({than}, {asked})")

    def _judge_names(self, thing: str, there: set[str]) -> None:
        for key, possible in self._names.items():
            kind, name = key.split(" ", 1)
            if kind == thing:
                if (name in there) not in possible:
                    state = "there" if name in there else "not there"
                    self.find("lost" if possible == {True} else "names", f"{thing} {name} is {state}")
                self._names[key] = {name in there}
        unknown = there - {key.split(" ", 1)[1] for key in self._names if key.startswith(thing)}
        if unknown:
            self.find("names", f"nobody made these: {thing} {sorted(unknown)}")
        for name in set(self.heads) - there - {"main"} if thing == "branch" else ():
            del self.heads[name]

    def _judge_entries(self, branches: Mapping[str, Any], *, is_settled: bool) -> None:
        for entry in self.journal.entries.values():
            operation = entry.operation
            if operation["verb"] == "query" and entry.answer is not None:
                self._judge_read(entry)
            if operation["verb"] not in DATA:
                continue
            commit_id = self._commits_of.get(entry.number)
            told = (entry.answer or {}).get("commit")
            if entry.is_acknowledged:
                if told is None and commit_id is not None:
                    self.find("partial", f"operation {entry.number} told that nothing matched, and made {commit_id}")
                elif told is not None and commit_id is None and self._must_show(entry, branches):
                    self.find("lost", f"operation {entry.number} on {operation['branch']}, commit {told}")
                elif told is not None and commit_id not in (told, None):
                    self.find("partial", f"operation {entry.number} was told commit {told}, and made {commit_id}")
            elif commit_id is not None:
                if not entry.is_open:
                    self.find("refused", f"operation {entry.number} shows as {commit_id}: {entry.refusal}")
                if entry.number in self._gone:
                    self.find("late", f"operation {entry.number} shows as {commit_id}")
            elif is_settled:
                self._gone.add(entry.number)

    def _must_show(self, entry: Entry, branches: Mapping[str, Any]) -> bool:
        """Whether the branch that was written to is still the same one, so that its history has the commit."""
        branch = branches.get(entry.operation["branch"])
        return branch is not None and seconds_of(branch["created_at"]) < entry.begun_clock

    def _judge_read(self, entry: Entry) -> None:
        answer = entry.answer or {}
        state = self.states.get(answer["read"])
        if state is not None:
            older = sum(1 for age, _ in state["Person"].values() if age > entry.operation["than"])
            if older != answer["older"]:
                self.find(
                    "answers", f"operation {entry.number} read {answer['older']} at {answer['read']}, not {older}"
                )

    def _judge_recoveries(self, seen: Mapping[str, Any], branches: Mapping[str, Any]) -> None:
        gone = set(self.recoveries) - {each["operation_id"] for each in seen["recoveries"]}
        if gone:
            self.find("recoveries", f"these were listed and are not any more: {sorted(gone)}")
        for each in seen["recoveries"]:
            self.recoveries[each["operation_id"]] = each
            branch, known = branches.get(each["branch"]), seen["recovered"][each["graph_commit_id"]]
            # Histories of branches that are gone cannot be read.
            is_same = branch is not None and seconds_of(branch["created_at"]) < seconds_of(each["created_at"])
            what = f"{each['recovery_kind']} of {each['graph_commit_id']} ({each['operation_id']})"
            if each["recovery_kind"] == "RolledForward" and known is None and is_same:
                self.find("recoveries", f"{what}: there is no such commit")
            is_back = each["recovery_kind"] == "RolledBack"
            if is_back and each["published_version"] is None and known is not None:
                self.find("recoveries", f"{what}: the commit is there")
            shown = None if known is None else known["manifest_version"]
            is_published = is_back and each["published_version"] is not None
            if is_published and shown != each["published_version"]:
                self.find("recoveries", f"{what}: published as {each['published_version']}, but it is {shown}")


def seconds_of(moment: Any) -> float:
    """A moment as seconds since 1970, given in microseconds or as text."""
    if isinstance(moment, str):
        return datetime.fromisoformat(moment).timestamp()
    return float(moment) / 1e6
