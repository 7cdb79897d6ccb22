"""What the compiler costs, as ratios within one run.

Parsing and checking are measured against the parse alone of the lark grammars that the tests use as oracles; a hit of
the plan cache is measured against a look-up in a dictionary with the same key. Rounds of both sides alternate, so that
a noisy machine disturbs both alike; the figure is the ratio of medians.

Run it with: tox run -e bench
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from omnigraph.lang.source import SourceText
from omnigraph.plan.compiler import Compiler
from omnigraph.query import compile_queries, parse_queries
from omnigraph.schema import compile_schema

sys.path.append(str(Path(__file__).parents[1] / "packages/omnigraph-core/tests/oracle"))

from language_oracle import query_oracle, schema_oracle

ROUNDS = 200
LARGE_ROUNDS = 9
HITS = 1000

SCHEMA = """
interface Titled { title: String @index }
node Film implements Titled {
    code: String @key
    genre: enum(drama, sci-fi, docu)
    tags: [String]?
    stars: F32?
    released: Date?
    plot: String? @index
    @range(stars, 0.0..5.0)
    @check(code, "^[A-Z]{2}-[0-9]+$")
}
node Person { handle: String @key  mail: String? @unique }
edge Directed: Person -> Film @card(0..)
edge Rented: Person -> Film { on: Date?  @unique(src, dst) }
edge Follows: Person -> Person
"""

QUERY = """// What people rent who follow the director, the best films first.
query popular_films($genre: String, $since: Date, $text: String)
    @description("Films of a genre, rented since a day by people who follow the director")
{
    match {
        $f: Film { genre: $genre, tags: "space" }
        $d directed $f
        $d: Person { handle: "cy" }
        $p $r:rented $f
        $r.on >= $since
        $p follows{1,3} $d
        $f.title contains $text
        $f.stars >= 3.5
        $f.released >= date("2020-01-01")
        search($f.plot, $text)
        not {
            $p <follows> $q
            $q rented $_
            $q.mail = "ann@x.org"
        }
    }
    return {
        $f.code
        $f.title as title
        $d.handle
        count($p) as people
        max($f.stars) as stars
    }
    order { people desc, stars desc, $f.code }
    limit 20
}
"""

Row = tuple[str, float, float]


def main() -> None:
    rows = [*query_rows(), schema_row(), file_row(), cache_row()]
    print(f"{'what':<52}{'ours':>12}{'bare':>12}{'ratio':>8}")
    for what, ours, bare in rows:
        print(f"{what:<52}{shown(ours):>12}{shown(bare):>12}{ours / bare:>8.2f}")


def query_rows() -> list[Row]:
    catalog, source = compile_schema(SCHEMA), SourceText.of(QUERY)
    # Our trees say where each node stands; the same of lark is the fair peer, and its bare parse the hard one.
    placed, bare = query_oracle(with_places=True), query_oracle()
    what = f"query of {len(QUERY.splitlines())} lines, parse"
    return [
        (
            f"{what} and check; lark with places",
            *compare(lambda: compile_queries(source, catalog), lambda: placed.parse(QUERY)),
        ),
        (
            f"{what} and check; lark without",
            *compare(lambda: compile_queries(source, catalog), lambda: bare.parse(QUERY)),
        ),
        (f"{what} alone; lark without", *compare(lambda: parse_queries(source), lambda: bare.parse(QUERY))),
    ]


def schema_row() -> Row:
    text = SCHEMA + "".join(
        f"edge Edge{number}: Person -> {'Film' if number % 2 else 'Person'} {{\n"
        f"    note: String? @index\n    weight: F64?\n    since: Date\n    @unique(src, dst)\n}}\n"
        for number in range(67)
    )
    source, lark = SourceText.of(text), schema_oracle()
    ours, bare = compare(lambda: compile_schema(source), lambda: lark.parse(text), rounds=ROUNDS // 10)
    return f"schema of {text.count('edge ')} edges, parse and check", ours, bare


def file_row() -> Row:
    count = 300
    text = "\n".join(QUERY.replace("popular_films", f"films_{number}") for number in range(count))
    catalog, source, lark = compile_schema(SCHEMA), SourceText.of(text), query_oracle()
    ours, bare = compare(lambda: compile_queries(source, catalog), lambda: lark.parse(text), rounds=LARGE_ROUNDS)
    return f"file of {count} queries, parse and check, per query", ours / count, bare / count


def cache_row() -> Row:
    plan = Compiler(compile_schema(SCHEMA)).plan
    known = {QUERY: plan(QUERY)}

    def hit() -> None:
        for _ in range(HITS):
            plan(QUERY)

    def look_up() -> None:
        for _ in range(HITS):
            known[QUERY]

    ours, bare = compare(hit, look_up)
    return "plan cache, a hit against a look-up in a dictionary", ours / HITS, bare / HITS


def compare(ours: Callable[[], object], bare: Callable[[], object], rounds: int = ROUNDS) -> tuple[float, float]:
    """Median seconds of both sides, measured in turns."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for act in (ours, bare):
        act()
    for _ in range(rounds):
        for side, act in enumerate((ours, bare)):
            started = time.perf_counter()
            act()
            seconds[side].append(time.perf_counter() - started)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def shown(seconds: float) -> str:
    return f"{seconds * 1e9:.0f} ns" if seconds < 1e-6 else f"{seconds * 1e6:.0f} µs"


if __name__ == "__main__":
    main()
