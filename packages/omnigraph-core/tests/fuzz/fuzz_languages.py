"""Compiles broken texts and lets nothing pass but an answer or a ``CompileError``, within a second of processor time.

A text goes all the way: parse, check, and if it means something, plan and everything that is made of a plan. What is
wrong is rendered too, as people would see it. Run by hand, one input or many:

    python fuzz_languages.py query --seed 3 --first 1207 --inputs 1
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType

sys.path.append(str(Path(__file__).parents[1] / "oracle"))

from fuzz_inputs import CASES, Input, make_input

from omnigraph.errors import CompileError
from omnigraph.lang.decode import decode_source
from omnigraph.lang.diagnostics import Report, render
from omnigraph.lang.source import SourceText
from omnigraph.plan import explain, lower_query, optimize
from omnigraph.query import compile_queries, parse_queries
from omnigraph.query.describe import describe_query
from omnigraph.query.lint import lint
from omnigraph.query.printer import print_queries
from omnigraph.schema import Catalog, compile_schema, parse_schema, print_schema
from omnigraph.schema.diff import plan_migration
from omnigraph.schema.identity import assign_identities, resolve_identities
from omnigraph.schema.ir import ir_from_json, ir_to_json
from omnigraph.schema.ir_types import SchemaIR

MAX_SECONDS = 1.0
HANG_SECONDS = 20.0
DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


class HungError(BaseException):
    """An input that does not come to an end; no handler for ordinary errors may swallow it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An input that did something else than compile or be refused, and how to see it again."""

    language: str
    seed: int
    index: int
    text: str
    problem: str

    def __str__(self) -> str:
        again = f"python fuzz_languages.py {self.language} --seed {self.seed} --first {self.index} --inputs 1"
        return f"seed {self.seed}, input {self.index} ({again}):\n{self.text[:4000]!r}\n{self.problem}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many inputs of a run compiled, how many were refused, and which did neither."""

    compiled: int
    refused: int
    slowest: float
    failures: tuple[Failure, ...]


@cache
def schema_source(name: str) -> SourceText:
    return SourceText.of((CASES / "schema" / f"{name}.pg").read_text("utf-8"), f"{name}.pg")


@cache
def catalog_of(name: str) -> Catalog:
    return compile_schema(schema_source(name))


@cache
def accepted_ir(name: str) -> SchemaIR:
    return assign_identities(catalog_of(name), DOMAIN)


def compile_schema_all_the_way(source: SourceText, accepted: str) -> None:
    catalog = compile_schema(source)
    tree = parse_schema(source)
    if parse_schema(SourceText.of(print_schema(tree))) != tree:
        raise AssertionError("the printed schema reads back as another one")
    first = assign_identities(catalog, DOMAIN)
    if ir_from_json(ir_to_json(first)) != first:
        raise AssertionError("the stored schema reads back as another one")
    report = Report(source)
    desired = resolve_identities(catalog, accepted_ir(accepted), report)
    report.raise_if_errors()
    plan = plan_migration(accepted_ir(accepted), desired)
    plan.to_dict()
    plan.render()


def compile_queries_all_the_way(source: SourceText, schema: str) -> None:
    if len(source.text) % 16 == 0:
        lint(schema_source(schema), source).to_dict()
    catalog = catalog_of(schema)
    queries = compile_queries(source, catalog)
    tree = parse_queries(source)
    if parse_queries(SourceText.of(print_queries(tree))) != tree:
        raise AssertionError("the printed queries read back as others")
    for query in queries:
        describe_query(query, catalog)
        explain(optimize(lower_query(query, catalog), catalog))


COMPILERS: dict[str, Callable[[SourceText, str], None]] = {
    "schema": compile_schema_all_the_way,
    "query": compile_queries_all_the_way,
}


def compiles(language: str, given: Input) -> bool:
    """Whether the input means something. Anything but a ``CompileError`` passes through."""
    data = given.data
    try:
        source = decode_source(data, "input") if isinstance(data, bytes) else SourceText.of(data, "input")
        COMPILERS[language](source, given.schema)
    except CompileError as error:
        render(error.diagnostics).encode("utf-8", "surrogatepass")
        for each in error.diagnostics:
            each.to_dict()
        return False
    return True


def run(language: str, seed: int, first: int, count: int) -> Outcome:
    """Inputs ``first`` up to ``first + count``; stops at the fifth failure."""
    compiled, slowest = 0, 0.0
    failures: list[Failure] = []
    # What is made once is not the cost of the first input.
    for schema in ("film", "archive"):
        accepted_ir(schema)
    make_input(language, seed, first)
    previous = signal.signal(signal.SIGVTALRM, _hang)
    try:
        for index in range(first, first + count):
            given = make_input(language, seed, index)
            problem = None
            signal.setitimer(signal.ITIMER_VIRTUAL, HANG_SECONDS)
            started = time.process_time()
            try:
                compiled += compiles(language, given)
            except (Exception, HungError):  # noqa: BLE001 - whatever it is, it is what we look for
                problem = traceback.format_exc(limit=-8)
            spent = time.process_time() - started
            slowest = max(slowest, spent)
            if problem is None and spent > MAX_SECONDS:
                problem = f"took {spent:.1f} s of processor time"
            if problem is not None:
                data = given.data
                text = data if isinstance(data, str) else data.decode("utf-8", "backslashreplace")
                failures.append(Failure(language, seed, index, text, problem))
                if len(failures) == 5:
                    break
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)
    return Outcome(compiled, index - first + 1 - compiled - len(failures), slowest, tuple(failures))


def _hang(signum: int, frame: FrameType | None) -> None:
    raise HungError(f"did not come to an end within {HANG_SECONDS:.0f} s of processor time")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("language", choices=sorted(COMPILERS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--inputs", type=int, default=10_000)
    chosen = parser.parse_args()
    if chosen.inputs == 1:
        print(make_input(chosen.language, chosen.seed, chosen.first))
    outcome = run(chosen.language, chosen.seed, chosen.first, chosen.inputs)
    print(*outcome.failures, sep="\n\n")
    print(f"{outcome.compiled} compiled, {outcome.refused} refused, {len(outcome.failures)} failed, ", end="")
    print(f"the slowest took {outcome.slowest * 1000:.0f} ms")
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
