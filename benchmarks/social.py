"""A generated social graph, the same for every system: people, whom they know, where they work."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

DIMENSION = 128
CITIES = tuple(f"city-{number:02d}" for number in range(20))
SCHEMA = f"""
node Person {{
    key: String @key
    name: String @index
    age: I32 @index
    city: enum({", ".join(CITIES)}) @index
    joined: Date @index
    bio: String @index
    taste: Vector({DIMENSION}) @index
}}
node Company {{ key: String @key  name: String }}
edge Knows: Person -> Person {{ since: I32 }}
edge WorksAt: Person -> Company
"""
_WORDS = 5_000
_WORDS_PER_BIO = 20
_SYLLABLES = ("ba", "co", "du", "fi", "go", "ka", "lo", "mu", "no", "po", "ra", "to", "vu", "zo", "ja", "xu")


@dataclass(frozen=True)
class Social:
    """People, companies and edges as Arrow. No one knows oneself, and nobody knows somebody twice."""

    people: pa.Table
    companies: pa.Table
    knows: pa.Table
    works_at: pa.Table

    @cached_property
    def keys(self) -> list[str]:
        return self.people["key"].to_pylist()


def make_social(people: int, edges: int, seed: int = 7) -> Social:
    random = np.random.default_rng(seed)
    keys = np.array([f"p{number:08d}" for number in random.permutation(people)])
    popularity = _power_law(people)
    city = random.choice(len(CITIES), size=people, p=_power_law(len(CITIES)))
    words = _vocabulary()
    chosen = random.choice(len(words), size=(people, _WORDS_PER_BIO), p=_power_law(len(words)))
    taste = random.standard_normal((people, DIMENSION)).astype(np.float32)
    table = pa.table(
        {
            "key": pa.array(keys),
            "name": pa.array([f"name {number % 50_021}" for number in range(people)]),
            "age": pa.array(random.integers(16, 96, size=people).astype(np.int32)),
            "city": pa.array(np.array(CITIES)[city]),
            "joined": pa.array(random.integers(14_000, 20_000, size=people).astype(np.int32)).cast(pa.date32()),
            "bio": pa.array([" ".join(row) for row in words[chosen]]),
            "taste": pa.FixedSizeListArray.from_arrays(pa.array(taste.reshape(-1)), DIMENSION),
        }
    )
    firms = max(10, people // 100)
    companies = pa.table(
        {
            "key": pa.array([f"c{number:06d}" for number in range(firms)]),
            "name": pa.array([f"firm {number}" for number in range(firms)]),
        }
    )
    drawn = random.choice(people, size=(2 * edges, 2), p=popularity)
    pairs = np.unique(drawn[drawn[:, 0] != drawn[:, 1]], axis=0)
    pairs = random.permutation(pairs)[:edges]
    since = random.integers(1990, 2026, size=len(pairs)).astype(np.int32)
    employed = np.flatnonzero(random.random(people) < 0.7)
    return Social(
        people=table,
        companies=companies,
        knows=pa.table({"src": keys[pairs[:, 0]], "dst": keys[pairs[:, 1]], "since": since}),
        works_at=pa.table(
            {
                "src": keys[employed],
                "dst": np.array(companies["key"])[random.integers(0, firms, size=len(employed))],
            }
        ),
    )


def _power_law(count: int) -> np.ndarray:
    weights = 1.0 / np.arange(1, count + 1) ** 0.6
    return weights / weights.sum()


def _vocabulary() -> np.ndarray:
    """Words that no English stemmer touches."""
    base = len(_SYLLABLES)
    return np.array(
        [
            "".join(_SYLLABLES[(number // base**place) % base] for place in range(4)) + "k"
            for number in range(1, 9 * _WORDS, 9)
        ][:_WORDS]
    )
