"""Compiling ends when the time of its caller is over, and takes time in proportion to the text."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from itertools import count

import pytest

from omnigraph.cancellation import CallCancelledError, CancellationToken, TimeLimit, cancellable
from omnigraph.errors import DeadlineError, ResourceLimitError
from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import SourceText
from omnigraph.lang.tokens import END, LOOKAHEAD, MAX_CHARACTERS, scan
from omnigraph.plan.compiler import Compiler
from omnigraph.schema import compile_schema

SCHEMA = "node P { slug: String @key  age: I64  v: Vector(2) }\nedge K: P -> P\n"


def lines(form: str, number: int) -> str:
    return "".join(form.format(n=each, m=each % 20) + "\n" for each in range(number))


def read(clauses: str, more: str = "") -> str:
    return f"query q($v: Vector(2)) {{ match {{ $p: P\n{clauses}}} return {{ $p.slug }} {more} }}"


TEXTS: dict[str, Callable[[int], str]] = {
    "conditions": lambda n: read(lines("$p.age > {n}", n)),
    "conditions of what is ranked": lambda n: read(lines("$p.age > {n}", n), "order { nearest($p.v, $v) } limit 3"),
    "conditions along a path": lambda n: read(
        "$p k $p0\n" + "".join(f"$p{each} k $p{each + 1}\n" for each in range(20)) + lines("$p{m}.age > {n}", n)
    ),
    "equalities between parts": lambda n: read(lines("$q{n}: P", 20) + lines("$q{m}.age = $p.age", n)),
    "conditions of a negation": lambda n: read("not { $p k $x\n" + lines("$x.age > {n}", n) + "}\n"),
    "matches of a binding": lambda n: read("$x: P { " + ", ".join(f"age: {each}" for each in range(n)) + " }\n"),
    "columns and orderings": lambda n: (
        "query q() { match { $p: P } return {\n"
        + lines("$p.age as a{n}", n)
        + "} order { "
        + ", ".join(f"a{each}" for each in range(n))
        + " } }"
    ),
    "parameters": lambda n: (
        "query q(" + ", ".join(f"$a{each}: I64" for each in range(n)) + ") { match { $p: P } return { $p.slug } }"
    ),
    "inserts": lambda n: "query q() {\n" + lines('insert P {{ slug: "a{n}", age: {n}, v: [1.0, 0.0] }}', n) + "}",
    "mistakes": lambda n: read(lines("$p.nothing > {n}", n)),
    "queries": lambda n: (
        "query q() { match { $p: P } return { $p.slug } }\n"
        + lines("query q{n}() {{ match {{ $p: P }} return {{ $p.slug }} }}", n)
    ),
}


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    return Compiler(compile_schema(SCHEMA), max_plans=0)


def limit_of_looks(number: int) -> TimeLimit:
    """A limit that is reached at the look of this number: its clock goes on by one with each look."""
    ticks = count()
    return TimeLimit(number, "query", clock=lambda: float(next(ticks)))


@pytest.mark.parametrize("name", TEXTS)
def test_a_compiler_looks_at_the_time_at_least_once_for_each_thing_that_is_written(name: str, compiler: Compiler):
    with pytest.raises(DeadlineError) as told, limit_of_looks(300):
        compiler.plan(TEXTS[name](300), "q")
    assert told.value.deadline == 300


def test_every_step_of_a_compilation_looks(compiler: Compiler):
    text = TEXTS["conditions along a path"](300)
    # Reading, checking, taking apart and pushing down look at each condition.
    with pytest.raises(DeadlineError), limit_of_looks(900):
        compiler.plan(text, "q")


def test_a_compilation_with_time_enough_gives_the_plan_that_it_gives_without_a_limit(compiler: Compiler):
    text = TEXTS["equalities between parts"](50)
    with TimeLimit(3600.0, "query"):
        assert compiler.plan(text, "q") == compiler.plan(text, "q")


def test_a_compilation_that_was_given_up_ends(compiler: Compiler):
    token = CancellationToken()
    token.cancel()
    with cancellable(token), pytest.raises(CallCancelledError):
        compiler.plan(TEXTS["conditions"](10), "q")


@pytest.mark.parametrize("name", TEXTS)
def test_twice_the_text_takes_about_twice_the_calls(name: str, compiler: Compiler):
    few, many = (_calls(lambda number=number: compiler.plan(TEXTS[name](number), "q")) for number in (1000, 2000))
    assert many < 2.5 * few


def _calls(make: Callable[[], object]) -> int:
    profile = cProfile.Profile()
    profile.enable()
    try:
        make()
    except Exception:  # noqa: BLE001 - texts with mistakes are compiled too
        pass
    finally:
        profile.disable()
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


# ── tokens ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("pieces", [1, 2, 3, 7])
def test_a_long_text_that_is_cut_some_pieces_at_a_time_has_the_same_tokens(
    pieces: int, monkeypatch: pytest.MonkeyPatch
):
    for text in (
        TEXTS["inserts"](5),
        "",
        " ",
        "a",
        "a b",
        "a b ",
        'a /* " */ "x\\"y" // end',
        "$p.age >= 1.5..2 -> {}",
    ):
        monkeypatch.setattr("omnigraph.lang.tokens._PIECES_AT_A_TIME", 10**9)
        whole = _up_to_end(text)
        monkeypatch.setattr("omnigraph.lang.tokens._PIECES_AT_A_TIME", pieces)
        assert _up_to_end(text) == whole


def _up_to_end(text: str) -> list[tuple[str, str, int, int]]:
    """The tokens and one end; more ends follow it, at least as many as a parser looks ahead."""
    found = scan(Report(SourceText.of(text)))
    first = found.kinds.index(END)
    assert found.kinds[first:] == [END] * (len(found.kinds) - first)
    assert len(found.kinds) - first > LOOKAHEAD
    return list(zip(*found, strict=True))[: first + 1]


def test_a_text_that_is_too_long_is_refused_before_it_is_read(compiler: Compiler):
    with pytest.raises(ResourceLimitError) as told:
        compiler.plan("/" + "/" * MAX_CHARACTERS)
    assert (told.value.resource, told.value.limit, told.value.actual) == (
        "source_characters",
        MAX_CHARACTERS,
        MAX_CHARACTERS + 1,
    )
    with pytest.raises(ResourceLimitError):
        compile_schema("/" + "/" * MAX_CHARACTERS)
