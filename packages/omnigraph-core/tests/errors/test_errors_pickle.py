"""Errors on their way from one process to another: every class, with its fields, details and notes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest
from error_samples import EVERY_ERROR, SAMPLES

from omnigraph.errors import BackendNotInstalledError, OmnigraphError


@EVERY_ERROR
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_error_survives_pickle_with_fields_details_and_notes(error: OmnigraphError, protocol: int) -> None:
    sent = copy.deepcopy(error)
    sent.add_note("while loading people.jsonl")

    got = pickle.loads(pickle.dumps(sent, protocol=protocol))

    assert type(got) is type(error)
    assert got.args == error.args
    assert got.__dict__ == error.__dict__ | {"__notes__": ["while loading people.jsonl"]}
    assert (str(got), got.help, got.kind) == (str(error), error.help, error.kind)
    assert got.details == error.details
    assert got.to_dict() == error.to_dict()


def test_an_import_error_keeps_what_import_errors_carry_through_pickle() -> None:
    error = SAMPLES[BackendNotInstalledError]
    assert isinstance(error, ImportError)
    assert error.msg == "No backend."
    assert pickle.loads(pickle.dumps(error)).msg == "No backend."


@EVERY_ERROR
def test_a_pickled_error_can_be_pickled_again(error: OmnigraphError) -> None:
    twice = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(error))))
    assert twice.__dict__ == error.__dict__


def test_every_error_that_is_raised_in_another_process_arrives_as_it_was() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        raised = "error.add_note('while loading people.jsonl')\nraise error"
        sent = [(error, processes.submit(exec, raised, {"error": error})) for error in SAMPLES.values()]
        for error, call in sent:
            got = call.exception()
            assert type(got) is type(error)
            assert isinstance(got, OmnigraphError)
            assert got.args == error.args
            assert got.__dict__ == error.__dict__ | {"__notes__": ["while loading people.jsonl"]}
            assert (str(got), got.to_dict()) == (str(error), error.to_dict())
