"""Reads beside what people would use instead, as ratios within one run, with answers compared for equality.

    ladybug     an embedded graph database: hops, groups, order, negation
    duckdb      an embedded relational database: the same
    lancedb     search: nearest neighbours with a filter, full text
    lance       a bare BTREE look-up
    numpy       breadth-first search over a bare CSR

Everything is warm: each side runs its query a few times before it is measured, then rounds of all sides alternate, so
that a noisy machine disturbs them alike. The figure is the ratio of the medians. Last, our reads of
the graph as it was loaded alternate with those of a copy that got 200 one-row writes and one ``ensure_indices``.

Run it with: tox run -e bench-read
"""

from __future__ import annotations

import argparse
import gc
import shutil
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import ladybug
import lance
import lancedb
import numpy as np
import pyarrow as pa
from lance.dataset import Session
from social import CITIES, SCHEMA, Social, make_social

import omnigraph as og

# Two peers call what is quickest here old-fashioned.
warnings.simplefilter("ignore", DeprecationWarning)

Answer = list[tuple[Any, ...]]
Side = Callable[..., Answer]


@dataclass(frozen=True)
class Question:
    """One query, put to every side that can answer it."""

    name: str
    sides: dict[str, Side]
    aim: tuple[str, float] | None
    compare: Callable[[Answer], Any] = sorted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--edges", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--writes", type=int, default=200)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="omnigraph-read-"))
    try:
        run(folder, given.people, given.edges, given.rounds, given.writes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(folder: Path, people: int, edges: int, rounds: int, writes: int) -> None:
    social = make_social(people, edges)
    graph = load_omnigraph(folder, social)
    questions = ask(folder, social, graph)
    print(f"\n{social.people.num_rows:,} people, {social.knows.num_rows:,} edges; medians of {rounds} rounds, warm\n")
    print("| query | ours | " + " | ".join(SIDES) + " | figure | aim | |")
    print("|---|---|" + "---|" * (len(SIDES) + 3))
    for question in questions:
        print(line(question, measure(question, rounds)))
    shutil.copytree(folder / "graph.omni", folder / "written.omni")
    written = og.open(folder / "written.omni")
    for number in range(writes):
        write_one(written, social, number)
    written.maintain.ensure_indices()
    print(f"\nAs it was loaded, and after {writes} one-row writes and one ensure_indices, ours alone:\n")
    print("| query | fresh | after | figure | aim | |\n|---|---|---|---|---|---|")
    for question in questions:
        ours = question.sides["ours"]
        both = {"ours": ours, "after": partial(ours, written)}
        times = measure(Question(question.name, both, None, lambda _: None), rounds)
        ratio = times["after"] / times["ours"]
        cells = [question.name, shown(times["ours"]), shown(times["after"]), f"{ratio:.2f}", "<= 2", mark(ratio <= 2)]
        print("| " + " | ".join(cells) + " |")


SIDES = ("ladybug", "duckdb", "lancedb", "lance", "numpy")


def measure(question: Question, rounds: int) -> dict[str, float]:
    answers = {name: question.compare(side()) for name, side in question.sides.items()}
    for name, answer in answers.items():
        if answer != answers["ours"]:
            raise SystemExit(f"{question.name}: {name} answers {str(answer)[:400]}, ours {str(answers['ours'])[:400]}")
    for side in question.sides.values():
        side(), side()
    times: dict[str, list[float]] = {name: [] for name in question.sides}
    gc.disable()
    try:
        for _ in range(rounds):
            for name, side in question.sides.items():
                began = time.perf_counter()
                side()
                times[name].append(time.perf_counter() - began)
    finally:
        gc.enable()
    return {name: statistics.median(each) for name, each in times.items()}


def line(question: Question, times: dict[str, float]) -> str:
    cells = [question.name, shown(times["ours"]), *(shown(times[name]) if name in times else "" for name in SIDES)]
    if question.aim is None:
        return "| " + " | ".join([*cells, "", "", ""]) + " |"
    peer, most = question.aim
    ratio = times["ours"] / times[peer]
    return "| " + " | ".join([*cells, f"{ratio:.2f} x {peer}", f"<= {most:g}", mark(ratio <= most)]) + " |"


def shown(seconds: float) -> str:
    return f"{1e6 * seconds:,.0f} µs" if seconds < 1e-3 else f"{1e3 * seconds:,.2f} ms"


def mark(holds: bool) -> str:
    return "holds" if holds else "missed"


# ── the sides ────────────────────────────────────────────────────────────────────────────────────────────────────


def load_omnigraph(folder: Path, social: Social) -> og.Graph:
    graph = og.init(folder / "graph.omni", schema=SCHEMA)
    graph.load(
        {"Person": social.people, "Company": social.companies, "Knows": social.knows, "WorksAt": social.works_at},
        "append",
    )
    graph.maintain.ensure_indices()
    return graph


def write_one(graph: og.Graph, social: Social, number: int) -> None:
    keys = social.keys
    if number % 2:
        edge = {"edge": "Knows", "from": keys[number], "to": keys[-1 - number], "data": {"since": 2026}}
        graph.load([edge], "append")
        return
    row = social.people.slice(number, 1).to_pylist()[0]
    row["key"], row["joined"] = f"new{number:05d}", row["joined"].isoformat()
    graph.load([{"type": "Person", "data": row}], "append")


def load_ladybug(folder: Path, social: Social) -> Any:
    import pyarrow.parquet as pq

    connection = ladybug.Connection(ladybug.Database(str(folder / "ladybug.db")))
    files = {}
    for name, table in (
        ("people", social.people.drop_columns(["taste"])),
        ("companies", social.companies),
        ("knows", social.knows),
        ("works_at", social.works_at),
    ):
        files[name] = str(folder / f"{name}.parquet")
        pq.write_table(table, files[name])
    connection.execute(
        "CREATE NODE TABLE Person(key STRING PRIMARY KEY, name STRING, age INT32, city STRING, joined DATE, bio STRING)"
    )
    connection.execute("CREATE NODE TABLE Company(key STRING PRIMARY KEY, name STRING)")
    connection.execute("CREATE REL TABLE Knows(FROM Person TO Person, since INT32)")
    connection.execute("CREATE REL TABLE WorksAt(FROM Person TO Company)")
    connection.execute(f"COPY Person FROM '{files['people']}'")
    connection.execute(f"COPY Company FROM '{files['companies']}'")
    connection.execute(f"COPY Knows FROM '{files['knows']}'")
    connection.execute(f"COPY WorksAt FROM '{files['works_at']}'")
    return connection


def load_duckdb(social: Social) -> Any:
    connection = duckdb.connect()
    people, knows, works_at = social.people.drop_columns(["taste"]), social.knows, social.works_at  # noqa: F841 - by name
    for name in ("people", "knows", "works_at"):
        connection.execute(f"CREATE TABLE {name}_ AS SELECT * FROM {name}")
    connection.execute("CREATE UNIQUE INDEX people_key ON people_(key)")
    connection.execute("CREATE INDEX knows_src ON knows_(src)")
    connection.execute("CREATE INDEX works_src ON works_at_(src)")
    return connection


class Csr:
    """What a traversal cannot do without: offsets, neighbours and a set of seen nodes."""

    def __init__(self, social: Social) -> None:
        self.number = {key: number for number, key in enumerate(social.keys)}
        ids = social.people["key"].combine_chunks()
        import pyarrow.compute as pc

        src = pc.index_in(social.knows["src"], value_set=ids).to_numpy()
        dst = pc.index_in(social.knows["dst"], value_set=ids).to_numpy()
        order = np.argsort(src, kind="stable")
        self.neighbours = dst[order].astype(np.int32)
        self.offsets = np.concatenate([[0], np.cumsum(np.bincount(src, minlength=len(ids)))])

    def reached(self, key: str, hops: int) -> Answer:
        seen = np.zeros(len(self.offsets) - 1, bool)
        frontier = np.array([self.number[key]])
        seen[frontier] = True
        count = 0
        for _ in range(hops):
            starts, ends = self.offsets[frontier], self.offsets[frontier + 1]
            sizes = ends - starts
            places = np.arange(sizes.sum()) + np.repeat(starts - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
            found = self.neighbours[places]
            found = np.unique(found[~seen[found]])
            seen[found] = True
            count += len(found)
            frontier = found
        return [(count,)]


# ── the questions ────────────────────────────────────────────────────────────────────────────────────────────────


def ask(folder: Path, social: Social, graph: og.Graph) -> list[Question]:
    lady, duck, csr = load_ladybug(folder, social), load_duckdb(social), Csr(social)
    bare = lance.write_dataset(social.people, str(folder / "bare.lance"))
    bare.create_scalar_index("key", "BTREE")
    bare = lance.dataset(str(folder / "bare.lance"), session=Session())
    search = lancedb.connect(str(folder / "lancedb")).create_table("people", social.people)
    search.create_scalar_index("city")
    search.create_fts_index("bio", use_tantivy=False)
    degree = np.diff(csr.offsets)
    key = social.keys[int(np.argsort(degree)[len(degree) // 2])]
    vector = np.random.default_rng(3).standard_normal(128).astype(np.float32)
    words = " ".join(social.people["bio"][0].as_py().split()[:2])
    city = CITIES[3]

    def ours(text: str, **params: Any) -> Side:
        query = f"query q({', '.join(f'${name}: {kind}' for name, (kind, _) in params.items())}) {{ {text} }}"
        values = {name: value for name, (_, value) in params.items()}

        def side(asked: og.Graph = graph) -> Answer:
            table = asked.query(query, params=values).to_arrow()
            return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

        return side

    def cypher(text: str, **params: Any) -> Side:
        prepared = lady.prepare(text)
        return lambda: [tuple(row) for row in lady.execute(prepared, params).get_all()]

    def sql(text: str, **params: Any) -> Side:
        return lambda: [tuple(row) for row in duck.execute(text, params).fetchall()]

    person = {"k": ("String", key)}
    return [
        Question(
            "point look-up by key",
            {
                "ours": ours("match { $p: Person { key: $k } } return { $p.name, $p.age }", **person),
                "lance": lambda: rows(bare.to_table(columns=["name", "age"], filter=f"key = '{key}'")),
                "ladybug": cypher("MATCH (p:Person {key: $k}) RETURN p.name, p.age", k=key),
                "duckdb": sql("SELECT name, age FROM people_ WHERE key = $k", k=key),
            },
            ("lance", 0.5),
        ),
        Question(
            "one hop",
            {
                "ours": ours("match { $p: Person { key: $k }  $p knows $q } return { $q.key, $q.name }", **person),
                "ladybug": cypher("MATCH (p:Person {key: $k})-[:Knows]->(q:Person) RETURN q.key, q.name", k=key),
                "duckdb": sql(
                    "SELECT q.key, q.name FROM knows_ e JOIN people_ q ON q.key = e.dst WHERE e.src = $k", k=key
                ),
            },
            ("ladybug", 5),
        ),
        hops(2, ours, cypher, sql, csr, key, 1.5),
        hops(3, ours, cypher, sql, csr, key, 1.0),
        Question(
            "group by city: count, average age",
            {
                "ours": ours("match { $p: Person } return { $p.city, count($p) as n, avg($p.age) as a }"),
                "ladybug": cypher("MATCH (p:Person) RETURN p.city, count(p), avg(p.age)"),
                "duckdb": sql("SELECT city, count(*), avg(age) FROM people_ GROUP BY city"),
            },
            ("ladybug", 1.0),
            rounded,
        ),
        Question(
            "top 10 by age",
            {
                "ours": ours("match { $p: Person } return { $p.key, $p.age } order { $p.age desc } limit 10"),
                "ladybug": cypher("MATCH (p:Person) RETURN p.key, p.age ORDER BY p.age DESC, p.key LIMIT 10"),
                "duckdb": sql("SELECT key, age FROM people_ ORDER BY age DESC, key LIMIT 10"),
            },
            ("ladybug", 1.0),
            list,
        ),
        Question(
            "anti-join: people without a firm",
            {
                "ours": ours("match { $p: Person  not { $p worksAt $_ } } return { count($p) as n }"),
                "ladybug": cypher(
                    "MATCH (p:Person) WHERE NOT EXISTS { MATCH (p)-[:WorksAt]->(:Company) } RETURN count(p)"
                ),
                "duckdb": sql(
                    "SELECT count(*) FROM people_ p WHERE NOT EXISTS (SELECT 1 FROM works_at_ w WHERE w.src = p.key)"
                ),
            },
            ("ladybug", 1.0),
        ),
        Question(
            "nearest 10 with a filter",
            {
                "ours": ours(
                    "match { $p: Person { city: $c } } return { $p.key } order { nearest($p.taste, $v) } limit 10",
                    c=("String", city),
                    v=("Vector(128)", vector),
                ),
                "lancedb": lambda: rows(
                    search.search(vector, vector_column_name="taste")
                    .distance_type("cosine")
                    .where(f"city = '{city}'", prefilter=True)
                    .select(["key", "_distance"])
                    .limit(10)
                    .to_arrow()
                    .select(["key"])
                ),
            },
            ("lancedb", 1.0),
            list,
        ),
        Question(
            "full text, best 10",
            {
                "ours": ours(
                    "match { $p: Person } return { $p.key, bm25($p.bio, $w) as s } order { bm25($p.bio, $w) } limit 10",
                    w=("String", words),
                ),
                "lancedb": lambda: rows(
                    search.search(words, query_type="fts", fts_columns="bio")
                    .select(["key", "_score"])
                    .limit(10)
                    .to_arrow()
                ),
            },
            ("lancedb", 1.0),
            scores,
        ),
    ]


def hops(count: int, ours: Any, cypher: Any, sql: Any, csr: Csr, key: str, aim: float) -> Question:
    joins = " UNION ".join(
        f"SELECT e{number}.dst FROM knows_ e1 "
        + " ".join(f"JOIN knows_ e{each} ON e{each}.src = e{each - 1}.dst" for each in range(2, number + 1))
        + " WHERE e1.src = $k"
        for number in range(1, count + 1)
    )
    counted = f"SELECT count(*) FROM ({joins}) WHERE dst <> $k"
    return Question(
        f"{count} hops, distinct count",
        {
            "ours": ours(
                f"match {{ $p: Person {{ key: $k }}  $p knows{{1,{count}}} $q }} return {{ count($q) as n }}",
                k=("String", key),
            ),
            "ladybug": cypher(
                f"MATCH (p:Person {{key: $k}})-[:Knows* SHORTEST 1..{count}]->(q:Person) WHERE q.key <> $k "
                "RETURN count(DISTINCT q.key)",
                k=key,
            ),
            "duckdb": sql(counted, k=key),
            "numpy": lambda: csr.reached(key, count),
        },
        ("ladybug", aim),
    )


def rows(table: pa.Table) -> Answer:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def rounded(answer: Answer) -> Answer:
    return sorted((city, count, round(average, 6)) for city, count, average in answer)


def scores(answer: Answer) -> list[float]:
    """Ties may come in any order at the end of a list: the scores must be the same."""
    return [round(float(score), 3) for _, score in answer]


if __name__ == "__main__":
    main()
