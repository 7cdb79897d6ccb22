"""No text makes the compiler do anything but answer or refuse, and none takes it longer than a second.

The usual run is short; ``tox run -e fuzz`` sets ``OMNIGRAPH_FUZZ_INPUTS`` and uses every processor. A failure names its
seed and its number, from which the input can be made again.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor

import fuzz_languages
import pytest
from fuzz_inputs import make_input
from fuzz_languages import Outcome, run

from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import SourceText
from omnigraph.lang.tokens import scan, tokenize

INPUTS = int(os.environ.get("OMNIGRAPH_FUZZ_INPUTS", "6000"))
SLICES = 4
MANY = 20_000


def spread(language: str, seed: int, count: int) -> list[Outcome]:
    """One process for a few inputs, all processors for many."""
    if count < MANY:
        return [run(language, seed, 0, count)]
    step = 5_000
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = [pool.submit(run, language, seed, first, min(step, count - first)) for first in range(0, count, step)]
        return [job.result() for job in jobs]


@pytest.mark.parametrize("seed", range(SLICES))
@pytest.mark.parametrize("language", ["schema", "query"])
def test_a_mutated_text_compiles_or_is_refused_and_nothing_else(language: str, seed: int):
    outcomes = spread(language, seed, INPUTS // SLICES)
    failures = [each for outcome in outcomes for each in outcome.failures]
    assert not failures, "\n\n".join(map(str, failures))
    compiled = sum(outcome.compiled for outcome in outcomes)
    done = compiled + sum(outcome.refused for outcome in outcomes)
    assert done == INPUTS // SLICES
    # A run in which nothing compiles would never come as far as a plan.
    assert compiled > done // 50


@pytest.mark.parametrize("language", ["schema", "query"])
def test_an_input_follows_from_its_seed_and_number_alone(language: str):
    assert [make_input(language, 1, index) for index in range(50)] == [
        make_input(language, 1, index) for index in range(50)
    ]
    assert len({make_input(language, seed, index) for seed in range(3) for index in range(100)}) > 250


@pytest.mark.parametrize("language", ["schema", "query"])
def test_the_fast_tokenizer_and_the_careful_one_cut_alike(language: str):
    for index in range(600):
        data = make_input(language, 9, index).data
        source = SourceText.of(data if isinstance(data, str) else data.decode("utf-8", "replace"))
        fast, careful = Report(source), Report(source)
        found, tokens = scan(fast), tokenize(careful)
        assert list(zip(*found, strict=True))[: len(tokens)] == [tuple(each) for each in tokens], source.text


def crash(source: SourceText, schema: str) -> None:
    raise KeyError("crash")


def hang(source: SourceText, schema: str) -> None:
    while True:
        pass


def dawdle(source: SourceText, schema: str) -> None:
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass


@pytest.mark.parametrize(("broken", "words"), [(crash, "KeyError"), (hang, "HungError"), (dawdle, "of processor time")])
def test_a_compiler_that_crashes_hangs_or_dawdles_is_caught(broken, words: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(fuzz_languages.COMPILERS, "query", broken)
    monkeypatch.setattr(fuzz_languages, "HANG_SECONDS", 0.2)
    monkeypatch.setattr(fuzz_languages, "MAX_SECONDS", 0.04)
    outcome = run("query", 4, 0, 1)
    (failure,) = outcome.failures
    assert words in failure.problem
    assert "--seed 4 --first 0 --inputs 1" in str(failure)
