"""Random histories: which operations a writer is to do next, made from what the graph showed last.

A lane is a writer of a round. Names of branches and tags belong to one lane, so that it is known in which order they
were made and deleted; rows belong to nobody, and writers meet on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from outside_world import EMPTY, State

SHARES = {
    "mutate": 40,
    "delete": 9,
    "append": 10,
    "merge rows": 8,
    "overwrite": 5,
    "bulk": 2,
    "create branch": 9,
    "delete branch": 3,
    "merge": 10,
    "create tag": 3,
    "delete tag": 2,
    "ensure indices": 3,
    "query": 2,
}

STRATEGIES = ("fail", "ours", "theirs", "theirs")
PEOPLE = 30


@dataclass(slots=True)
class Planner:
    """Makes operations; ``states`` and ``tags`` are what was seen last, by branch and by name.

    Attributes:
        note_bytes: how long the texts of large loads are, for scripts in which the size counts.
    """

    random: Random
    states: Mapping[str, State] = field(default_factory=lambda: {"main": EMPTY})
    tags: Sequence[str] = ()
    shares: Mapping[str, int] = field(default_factory=lambda: SHARES)
    note_bytes: int = 8
    _number: int = 0

    def history(self, lane: int, count: int, **members: Any) -> list[dict[str, Any]]:
        """So many operations for one writer; ``members`` go into each of them, as a deadline."""
        return [self.operation(lane) | members for _ in range(count)]

    def numbered(self, **members: Any) -> dict[str, Any]:
        self._number += 1
        return {"number": self._number, **members}

    def opening(self) -> dict[str, Any]:
        return self.numbered(verb="open")

    def simple(self, branch: str = "main") -> dict[str, Any]:
        """A write that nothing but a fault can stop."""
        return self.numbered(verb="mutate", branch=branch, statements=[self._put(f"p{self.random.randrange(PEOPLE)}")])

    def operation(self, lane: int) -> dict[str, Any]:
        (verb,) = self.random.choices(list(self.shares), self.shares.values())
        branch = self._branch()
        state = self.states.get(branch, EMPTY)
        match verb:
            case "mutate":
                return self._mutation(branch, state)
            case "delete":
                return self.numbered(verb="mutate", branch=branch, statements=self._deletes(state))
            case "append":
                return self._load("append", branch, self._new_rows(state))
            case "merge rows":
                return self._load("merge", branch, self._known_rows(state))
            case "overwrite":
                return self._load("overwrite", branch, self._all_rows(state))
            case "bulk":
                return self._load("append", branch, self._many_memos())
            case "create branch":
                return self.numbered(verb=verb, name=f"side-{lane}/{self.random.randrange(2)}", branch=branch)
            case "delete branch":
                return self.numbered(verb=verb, name=f"side-{lane}/{self.random.randrange(2)}")
            case "merge":
                return self._merge(branch, state)
            case "create tag":
                self._number += 1
                return {"number": self._number, "verb": verb, "name": f"tag-{lane}-{self._number}", "branch": branch}
            case "delete tag":
                own = [name for name in self.tags if name.startswith(f"tag-{lane}-")]
                return self.numbered(verb=verb, name=self.random.choice(own)) if own else self.simple(branch)
            case "query":
                return self.numbered(verb=verb, branch=branch, than=self.random.randrange(90))
            case _:
                return self.numbered(verb=verb, branch=branch)

    # ── mutations ────────────────────────────────────────────────────────────────────────────────────────────────

    def _branch(self) -> str:
        others = [name for name in self.states if name != "main"]
        return self.random.choice(others) if others and self.random.random() < 0.35 else "main"

    def _merge(self, branch: str, state: State) -> dict[str, Any]:
        # Always towards main: then two heads have one nearest common ancestor, whatever was merged before.
        others = [name for name in self.states if name != "main"]
        if not others:
            return self._mutation(branch, state)
        return self.numbered(
            verb="merge",
            source=self.random.choice(others),
            branch="main",
            strategy=self.random.choice(STRATEGIES),
        )

    def _mutation(self, branch: str, state: State) -> dict[str, Any]:
        people = list(state["Person"]) or ["p0"]
        statements: list[dict[str, Any]] = []
        for _ in range(self.random.choice((1, 1, 2, 3))):
            match self.random.randrange(5):
                case 0:
                    statements.append(self._put(f"p{self.random.randrange(PEOPLE)}"))
                case 1:
                    statements.append({"do": "set age", "name": self.random.choice(people), "age": self._age()})
                case 2:
                    statements.append({"do": "note older", "than": self._age(), "note": self._word("note")})
                case 3:
                    statements.append({"do": "add memo", "text": self._word("t"), "stars": self.random.randrange(9)})
                case _:
                    one, other = self.random.choice(people), self._word("p")
                    statements.append(self._put(other))
                    statements.append(
                        {"do": "know", "label": self._word("e"), "from": one, "to": other, "weight": self._age()}
                    )
        operation = self.numbered(verb="mutate", branch=branch, statements=statements)
        if self.random.random() < 0.2:
            operation["on_conflict"] = "fail"
        return operation

    def _deletes(self, state: State) -> list[dict[str, Any]]:
        people, known = list(state["Person"]) or ["p0"], list(state["Knows"]) or ["e0"]
        choices = [
            {"do": "drop person", "name": self.random.choice(people)},
            {"do": "drop older", "than": self.random.randrange(60, 100)},
            {"do": "drop knows", "label": self.random.choice(known)},
            {"do": "drop knows from", "from": self.random.choice(people)},
            {"do": "drop memos", "stars": self.random.randrange(6, 10)},
        ]
        return self.random.sample(choices, self.random.choice((1, 1, 2)))

    def _put(self, name: str) -> dict[str, Any]:
        note = None if self.random.random() < 0.5 else self._word("note")
        return {"do": "put person", "name": name, "age": self._age(), "note": note}

    def _age(self) -> int:
        return self.random.randrange(100)

    def _word(self, start: str) -> str:
        """A word that no other operation has."""
        return f"{start}-{self._number + 1}-{self.random.randrange(10**6)}"

    # ── loads ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _load(self, mode: str, branch: str, records: list[dict[str, Any]]) -> dict[str, Any]:
        return self.numbered(verb="load", mode=mode, branch=branch, records=records)

    def _person(self, name: str) -> dict[str, Any]:
        return {"type": "Person", "data": {"name": name, "age": self._age(), "note": self._word("note")}}

    def _memo(self, text: str, stars: int) -> dict[str, Any]:
        return {"type": "Memo", "data": {"id": text, "text": text, "stars": stars}}

    def _edges(self, people: Sequence[str], memos: Sequence[str], count: int) -> Iterable[dict[str, Any]]:
        for _ in range(count):
            label, one = self._word("k"), self.random.choice(people)
            if memos and self.random.random() < 0.4:
                data = {"id": label, "label": label}
                yield {"edge": "Wrote", "from": one, "to": self.random.choice(memos), "data": data}
            else:
                data = {"id": label, "label": label, "weight": self._age()}
                yield {"edge": "Knows", "from": one, "to": self.random.choice(people), "data": data}

    def _new_rows(self, state: State) -> list[dict[str, Any]]:
        people = [self._word("p") for _ in range(self.random.randrange(1, 6))]
        memos = [self._word("m") for _ in range(self.random.randrange(3))]
        records = [self._person(name) for name in people] + [self._memo(text, 3) for text in memos]
        both = [*people, *list(state["Person"])[:3]]
        return [*records, *self._edges(both, memos, self.random.randrange(6))]

    def _known_rows(self, state: State) -> list[dict[str, Any]]:
        people = [*self.random.sample(list(state["Person"]), min(4, len(state["Person"]))), self._word("p")]
        memos = [*[text for text in state["Memo"] if text.startswith("m-")][:2], self._word("m")]
        records = [self._person(name) for name in people]
        records += [self._memo(text, self.random.randrange(9)) for text in memos]
        for label, (_, to, _) in list(state["Knows"].items())[:3]:
            # Only those that a load made have their label as id; such an edge is moved to another person.
            if label.startswith("k-") and to in state["Person"]:
                data = {"id": label, "label": label, "weight": self._age()}
                records.append({"edge": "Knows", "from": people[0], "to": to, "data": data})
        return [*records, *self._edges(people, memos, 2)]

    def _all_rows(self, state: State) -> list[dict[str, Any]]:
        people = [self._word("p") for _ in range(self.random.randrange(2, 8))]
        if self.random.random() < 0.5:
            # Edges alone, among those who are there.
            there = list(state["Person"])
            if there:
                return list(self._edges(there, (), self.random.randrange(1, 6)))
        memos = [self._word("m") for _ in range(2)]
        records = [self._person(name) for name in people] + [self._memo(text, 4) for text in memos]
        edges = list(self._edges(people, memos, 6))
        named = {record["edge"] for record in edges}
        # Every type has to occur, so that no edge of before stays without its nodes.
        while named != {"Knows", "Wrote"}:
            edges += self._edges(people, memos, 1)
            named = {record["edge"] for record in edges}
        return [*records, *edges]

    def _many_memos(self) -> list[dict[str, Any]]:
        start = self._word("m")
        more = self.note_bytes
        return [
            self._memo(f"{start}-{number}-{self.random.randbytes(more).hex()}", 9)
            for number in range(self.random.choice((300, 1000)))
        ]
