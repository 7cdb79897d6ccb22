"""Storage options: arguments before environment, typed, and silent about secrets."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.errors import InvalidInputError
from omnigraph.storage import StorageOption
from omnigraph.storage.options import GivenOptions, resolve_options

REGION = StorageOption(name="region", help="Where the bucket is.", environment=("AWS_REGION", "AWS_DEFAULT_REGION"))
SECRET = StorageOption(name="secret_key", help="The secret key.", environment=("AWS_SECRET",), is_secret=True)
PATH_STYLE = StorageOption(name="path_style", help="Bucket in the path.", kind="flag", environment=("PATH_STYLE",))
TIMEOUT = StorageOption(name="timeout", help="Per request.", kind="seconds", environment=("STORE_TIMEOUT",))
DECLARED = (REGION, SECRET, PATH_STYLE, TIMEOUT)


def resolve(given: dict[str, Any] | None = None, **environment: str) -> dict[str, Any]:
    return resolve_options(DECLARED, given or {}, environment)


# ── where a value comes from ─────────────────────────────────────────────────────────────────────────────────────


def test_an_argument_wins_over_the_environment() -> None:
    assert resolve({"region": "here"}, AWS_REGION="there") == {"region": "here"}


def test_the_first_variable_that_is_set_wins() -> None:
    assert resolve(AWS_REGION="first", AWS_DEFAULT_REGION="second") == {"region": "first"}
    assert resolve(AWS_DEFAULT_REGION="second") == {"region": "second"}


def test_an_empty_variable_counts_as_not_set() -> None:
    assert resolve(AWS_REGION="", AWS_DEFAULT_REGION="second") == {"region": "second"}
    assert resolve(AWS_REGION="", PATH_STYLE="") == {}


def test_an_argument_of_none_falls_back_to_the_environment() -> None:
    assert resolve({"region": None}, AWS_REGION="there") == {"region": "there"}


def test_an_empty_text_or_a_false_flag_as_argument_is_a_value() -> None:
    assert resolve({"region": "", "path_style": False}, AWS_REGION="there", PATH_STYLE="1") == {
        "region": "",
        "path_style": False,
    }


def test_options_that_nobody_set_are_left_out() -> None:
    assert resolve() == {}


def test_undeclared_variables_are_not_looked_at() -> None:
    assert resolve(REGION="there") == {}


def test_without_a_given_environment_that_of_the_process_is_read_at_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "one")
    assert resolve_options((REGION,), {}) == {"region": "one"}
    monkeypatch.setenv("AWS_REGION", "two")
    assert resolve_options((REGION,), {}) == {"region": "two"}


# ── what a value becomes ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("word", ["1", "true", "yes", "on", "TRUE", "Yes", "oN", " true ", True, 1])
def test_every_usual_spelling_of_yes_is_true(word: object) -> None:
    assert resolve({"path_style": word}) == {"path_style": True}


@pytest.mark.parametrize("word", ["0", "false", "no", "off", "FALSE", "No", "oFF", "", False, 0])
def test_every_usual_spelling_of_no_is_false(word: object) -> None:
    assert resolve({"path_style": word}) == {"path_style": False}


@pytest.mark.parametrize("word", ["maybe", "2", "y", "t", 2, 1.5, [], b"1"])
def test_any_other_flag_is_refused_with_the_spellings_there_are(word: object) -> None:
    with pytest.raises(InvalidInputError, match="expects one of 1, true, yes, on, 0, false, no, off"):
        resolve({"path_style": word})


@pytest.mark.parametrize(("value", "seconds"), [("2.5", 2.5), (3, 3.0), ("1e-3", 0.001), (" 4 ", 4.0)])
def test_seconds_are_a_positive_number(value: object, seconds: float) -> None:
    assert resolve({"timeout": value}) == {"timeout": seconds}


@pytest.mark.parametrize(
    "value", [0, -1, "soon", "", "inf", "nan", float("inf"), [], "1e999", pytest.param(10**400, id="huge")]
)
def test_anything_but_a_positive_finite_number_of_seconds_is_refused(value: object) -> None:
    with pytest.raises(InvalidInputError, match="expects a number of seconds above 0"):
        resolve({"timeout": value})


@pytest.mark.parametrize("value", [1, b"eu", True, ["eu"]])
def test_text_is_text(value: object) -> None:
    with pytest.raises(InvalidInputError, match='storage option "region" expects text'):
        resolve({"region": value})


# ── refusals ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_refusal_names_the_option_or_the_variable_that_held_the_value() -> None:
    with pytest.raises(InvalidInputError, match=r'^The storage option "timeout" expects .* got \'soon\'\.') as caught:
        resolve({"timeout": "soon"})
    assert caught.value.details == {"option": "timeout"}
    assert caught.value.help == "Per request."
    with pytest.raises(InvalidInputError, match=r"^The environment variable STORE_TIMEOUT expects .* got 'soon'\."):
        resolve(STORE_TIMEOUT="soon")


def test_an_unknown_option_is_refused_with_the_nearest_one_and_all_there_are() -> None:
    with pytest.raises(InvalidInputError) as caught:
        resolve({"regoin": "here"})
    assert str(caught.value) == (
        'There is no storage option "regoin" here. Did you mean "region"? '
        "Known options: path_style, region, secret_key, timeout."
    )
    assert caught.value.details == {"option": "regoin"}


def test_an_unknown_option_that_is_near_to_nothing_gets_no_guess() -> None:
    with pytest.raises(InvalidInputError) as caught:
        resolve({"zzzzzz": "here"})
    assert "Did you mean" not in str(caught.value)


def test_a_backend_without_options_says_so() -> None:
    with pytest.raises(InvalidInputError, match=r"Known options: none\."):
        resolve_options((), {"region": "here"})


@pytest.mark.parametrize("kind", ["text", "flag", "seconds"])
def test_the_value_of_a_secret_is_never_said_back(kind: Any) -> None:
    secret = StorageOption(name="token", help="The token.", kind=kind, environment=("TOKEN",), is_secret=True)
    value: Any = "hush-hush" if kind != "text" else ["hush-hush"]
    with pytest.raises(InvalidInputError) as caught:
        resolve_options((secret,), {"token": value}, {})
    said = [caught.value]
    if kind != "text":
        with pytest.raises(InvalidInputError) as from_environment:
            resolve_options((secret,), {}, {"TOKEN": "hush-hush"})
        said.append(from_environment.value)
    for error in said:
        assert "hush" not in f"{error} {error!r} {error.to_dict()}"
        assert error.__cause__ is None
        assert error.__context__ is None


def test_the_value_of_a_secret_beside_an_unknown_option_is_not_said_back() -> None:
    with pytest.raises(InvalidInputError) as caught:
        resolve({"secret_key": "hush-hush", "secret_kex": "hush-hush"})
    assert "hush" not in f"{caught.value} {caught.value.to_dict()}"


def test_parts_that_belong_together_never_come_from_two_sources():
    parts = tuple(
        StorageOption(name=name, help="", environment=(name.upper(),), group="credentials")
        for name in ("key", "secret", "token")
    )
    alone = StorageOption(name="region", help="", environment=("REGION",))
    variables = {"KEY": "k", "SECRET": "s", "TOKEN": "t", "REGION": "r"}
    declared = (*parts, alone)
    assert resolve_options(declared, {}, variables) == {"key": "k", "secret": "s", "token": "t", "region": "r"}
    assert resolve_options(declared, {"key": "mine", "secret": "own"}, variables) == {
        "key": "mine",
        "secret": "own",
        "region": "r",
    }
    assert resolve_options(declared, {"key": None}, variables)["key"] == "k"


def test_options_never_show_their_values():
    options = GivenOptions({"secret_key": "geheim", "region": "r"})
    assert repr(options) == "<options secret_key, region>"
    assert "geheim" not in f"{options} {options!r}"
    assert dict(options) == {"secret_key": "geheim", "region": "r"}
    assert repr(GivenOptions({})) == "<options none>"
