"""A generated graph for the benchmark of branches: people in a ring, the changes that branches make, and their number.

Every round changes other people, so that what it does to main does not disturb the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

CITIES = 20
SINCE = 2026
LEAVING = "leaving-"
"""Cities of those whom deltas delete, with the number of the delta."""

KEYS = {"person": ("key",), "knows": ("src", "dst")}


class Changes(NamedTuple):
    """How much differs between main and a branch."""

    inserts: int
    updates: int
    deletes: int


@dataclass(frozen=True)
class Delta:
    """Many changes at once. Whoever leaves takes two edges along.

    Attributes:
        people: some are there already, and change.
        leaving: the city of those who leave.
    """

    people: pa.Table
    knows: pa.Table
    leaving: str
    changes: Changes


@dataclass(frozen=True)
class Ring:
    """People in a ring: each of them knows the next one."""

    size: int

    MOVED: ClassVar[int] = 3_000
    NEW: ClassVar[int] = 2_000
    LEFT: ClassVar[int] = 1_000
    MOST_DELTAS: ClassVar[int] = 5

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        numbers = np.arange(self.size)
        city = np.char.mod("city-%02d", numbers % CITIES).astype("U16")
        for delta in range(self.MOST_DELTAS):
            city[self._leaving(delta)] = f"{LEAVING}{delta}"
        keys = np.array([self.key(each) for each in numbers])
        knows = {"src": keys, "dst": np.roll(keys, -1), "since": np.full(self.size, 2000, np.int32)}
        return {"person": people(keys, 16 + numbers % 80, city), "knows": pa.table(knows)}

    def delta(self, number: int) -> Delta:
        """Of 10,000 rows: people who change, come and leave, with their edges, and edges that come."""
        moved = 4 * (number * self.MOVED + np.arange(self.MOVED)) + 1
        new = self.size + number * self.NEW + np.arange(self.NEW)
        keys = np.array([self.key(each) for each in (*moved, *new)])
        sources = 4 * (number * self.NEW + np.arange(self.NEW)) + 3
        ends = {"src": [self.key(each) for each in sources], "dst": [self.key(each + 4) for each in sources]}
        return Delta(
            people=people(keys, np.full(len(keys), 99), np.full(len(keys), f"city-{number:02d}")),
            knows=pa.table({**ends, "since": np.full(self.NEW, SINCE, np.int32)}),
            leaving=f"{LEAVING}{number}",
            changes=Changes(2 * self.NEW, self.MOVED, 3 * self.LEFT),
        )

    def single(self, number: int) -> str:
        """Somebody whom no delta and no other number is about."""
        return self.key(self.size - 1 - 4 * number)

    def _leaving(self, delta: int) -> np.ndarray:
        return 20 * (delta * self.LEFT + np.arange(self.LEFT)) + 10

    @staticmethod
    def key(number: int) -> str:
        return f"p{number:08d}"


def people(keys: np.ndarray, ages: np.ndarray, cities: np.ndarray) -> pa.Table:
    names = np.char.add("name ", keys)
    return pa.table({"key": keys, "name": names, "age": ages.astype(np.int32), "city": cities})
