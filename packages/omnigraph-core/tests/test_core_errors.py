"""The error tree: stable words, one way to say the next move, and a safe trip through pickle.

``SAMPLES`` holds one instance of every error class that core defines; a new class without a sample fails here.
"""

from __future__ import annotations

import copy
import importlib
import json
import pickle
import pkgutil
from collections.abc import Iterator

import pytest

import omnigraph
from omnigraph.errors import (
    AlreadyExistsError,
    BackendConflictError,
    BackendFailedToLoadError,
    BackendNotInstalledError,
    CheckError,
    CompileError,
    ConflictError,
    ConstraintError,
    DeadlineError,
    EmbeddingError,
    ErrorKind,
    FormatError,
    InternalError,
    InvalidInputError,
    NotFoundError,
    OmnigraphError,
    OutcomeUnknownError,
    ParseError,
    ReadOnlyError,
    ResourceLimitError,
    StorageCondition,
    StorageError,
    UnsupportedCapabilityError,
)
from omnigraph.lang import Code, Diagnostic, SourceText, Span

# Programs branch on these words. New ones go to the end; none is renamed, moved or removed.
HELD_KINDS = [
    "invalid_input",
    "resource_limit",
    "storage",
    "backend_not_installed",
    "backend_failed_to_load",
    "backend_conflict",
    "unsupported_capability",
    "read_only",
    "compile",
    "constraint",
    "not_found",
    "already_exists",
    "conflict",
    "outcome_unknown",
    "format",
    "internal",
    "deadline",
    "embedding",
]
HELD_CONDITIONS = ["transient", "configuration", "not_found", "precondition", "permanent", "unknown"]


def diagnostic(code: Code, **more: str) -> Diagnostic:
    """What is wrong with "nme" in the second line of a small text."""
    source = SourceText.of("query q() {\n  nme }", "people.gq")
    return Diagnostic(code=code, message='no "nme"', source=source, span=Span(14, 17), **more)


SAMPLES: dict[type[OmnigraphError], OmnigraphError] = {
    InvalidInputError: InvalidInputError("A is wrong.", help="Write B.", details={"option": "region"}),
    ResourceLimitError: ResourceLimitError(
        "Too large.", resource="storage_object_bytes", limit=8, actual=9, help="Shrink it.", uri="s3://b/g/x"
    ),
    StorageError: StorageError(
        "Could not read.",
        condition=StorageCondition.TRANSIENT,
        uri="s3://b/g/x",
        help="Repeat it.",
        details={"verb": "read"},
    ),
    BackendNotInstalledError: BackendNotInstalledError("No backend.", uri="gs://b", help="Install it."),
    BackendFailedToLoadError: BackendFailedToLoadError("It broke.", plugin="gs", uri="gs://b", help="Reinstall it."),
    BackendConflictError: BackendConflictError("Two claim it.", providers=("a 1", "b 2"), help="Remove one."),
    ReadOnlyError: ReadOnlyError("Opened for reading.", uri="s3://b/g", help="Open it for writing."),
    UnsupportedCapabilityError: UnsupportedCapabilityError(
        "It cannot.", capability="write_if_match", uri="s3://b/g/x", help="Use another."
    ),
    CompileError: CompileError((diagnostic(Code.T6, help="Write name."), diagnostic(Code.T7))),
    ParseError: ParseError((diagnostic(Code.UNEXPECTED_TOKEN, label="a clause was expected"),)),
    CheckError: CheckError((diagnostic(Code.T1, label="a guess", help="Write name."),)),
    ConstraintError: ConstraintError("Two rows share a key.", help="Remove one.", details={"total": 1}),
    NotFoundError: NotFoundError("No branch.", help="Make it first.", details={"branch": "review"}),
    AlreadyExistsError: AlreadyExistsError("A graph is there.", help="Open it.", details={"uri": "s3://b/g"}),
    ConflictError: ConflictError("It moved.", expected="01A", actual="01B", help="Read it again.", details={"a": 1}),
    OutcomeUnknownError: OutcomeUnknownError("No answer.", commit_id="01A", help="Look for the commit."),
    FormatError: FormatError("Format 9.", help="Upgrade.", details={"found": 9, "expected": 1}),
    InternalError: InternalError("It cannot be.", help="Report it."),
    DeadlineError: DeadlineError("It took too long.", deadline=1.5, operator="NodeScan $a: A", help="Give it more."),
    EmbeddingError: EmbeddingError("Too busy.", provider="openai", model="e-1", status=429, help="Try again later."),
}

EVERY_ERROR = pytest.mark.parametrize("error", SAMPLES.values(), ids=lambda error: type(error).__name__)


def subclasses_in_core() -> set[type[OmnigraphError]]:
    for module in pkgutil.walk_packages(omnigraph.__path__, "omnigraph."):
        importlib.import_module(module.name)

    def below(cls: type[OmnigraphError]) -> Iterator[type[OmnigraphError]]:
        for each in cls.__subclasses__():
            yield each
            yield from below(each)

    return {cls for cls in below(OmnigraphError) if cls.__module__.partition(".")[0] == "omnigraph"}


def test_error_kinds_are_append_only() -> None:
    assert [kind.value for kind in ErrorKind] == HELD_KINDS


def test_storage_conditions_are_the_six_of_the_specification() -> None:
    assert [condition.value for condition in StorageCondition] == HELD_CONDITIONS


def test_every_error_class_of_core_has_a_sample_here() -> None:
    assert subclasses_in_core() == set(SAMPLES)


@pytest.mark.parametrize(
    ("cls", "kind", "parents"),
    [
        (InvalidInputError, "invalid_input", (OmnigraphError, ValueError)),
        (ResourceLimitError, "resource_limit", (OmnigraphError,)),
        (StorageError, "storage", (OmnigraphError,)),
        (BackendNotInstalledError, "backend_not_installed", (StorageError, ImportError)),
        (BackendFailedToLoadError, "backend_failed_to_load", (StorageError,)),
        (BackendConflictError, "backend_conflict", (StorageError,)),
        (UnsupportedCapabilityError, "unsupported_capability", (StorageError,)),
        (ReadOnlyError, "read_only", (OmnigraphError,)),
        (CompileError, "compile", (OmnigraphError, ValueError)),
        (ParseError, "compile", (CompileError,)),
        (CheckError, "compile", (CompileError,)),
        (ConstraintError, "constraint", (OmnigraphError,)),
        (NotFoundError, "not_found", (OmnigraphError, LookupError)),
        (AlreadyExistsError, "already_exists", (OmnigraphError,)),
        (ConflictError, "conflict", (OmnigraphError,)),
        (OutcomeUnknownError, "outcome_unknown", (OmnigraphError,)),
        (FormatError, "format", (OmnigraphError,)),
        (InternalError, "internal", (OmnigraphError,)),
        (DeadlineError, "deadline", (OmnigraphError, TimeoutError)),
        (EmbeddingError, "embedding", (OmnigraphError,)),
    ],
)
def test_the_tree_is_as_documented(cls: type[OmnigraphError], kind: str, parents: tuple[type, ...]) -> None:
    assert cls.kind == kind
    assert cls.__bases__ == parents


def test_no_two_error_classes_share_a_kind_except_those_of_the_compiler() -> None:
    own = [cls for cls in SAMPLES if cls not in (ParseError, CheckError)]
    assert len({cls.kind for cls in own}) == len(own)


def test_a_compile_error_says_the_first_thing_with_its_place_and_how_many_more_there_are() -> None:
    error = SAMPLES[CompileError]
    assert error.message == 'type error: T6: no "nme" (people.gq:2:3), and 1 more'
    assert error.help == "Write name."
    assert SAMPLES[ParseError].message == 'parse error: OG-L-007: no "nme" (people.gq:2:3)'
    assert SAMPLES[ParseError].help == "a clause was expected"
    assert SAMPLES[CheckError].help == "Write name."


def test_a_compile_error_holds_every_diagnostic_for_people_and_for_programs() -> None:
    error = SAMPLES[CompileError]
    assert isinstance(error, CompileError)
    assert [each.code for each in error.diagnostics] == [Code.T6, Code.T7]
    assert [(each["code"], each["file"], each["line"], each["column"]) for each in error.details["diagnostics"]] == [
        ("T6", "people.gq", 2, 3),
        ("T7", "people.gq", 2, 3),
    ]


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


@EVERY_ERROR
def test_str_says_what_happened_and_then_the_next_move(error: OmnigraphError) -> None:
    if isinstance(error, CompileError):
        # Its diagnostics say the next move of each, see test_lang_compile_error.py.
        assert str(error).startswith(f"{error.message}\n\nerror[")
    else:
        assert str(error) == f"{error.message} {error.help}"


def test_str_ends_a_phrase_before_the_next_move() -> None:
    assert str(InvalidInputError("$n expects I32, got 1.5", help="Write 1.")) == "$n expects I32, got 1.5. Write 1."


def test_str_without_help_is_the_message_alone() -> None:
    assert str(InvalidInputError("A is wrong.")) == "A is wrong."


@EVERY_ERROR
def test_the_dictionary_form_is_json_with_the_four_fields_of_the_command_line(error: OmnigraphError) -> None:
    assert json.loads(json.dumps(error.to_dict())) == {
        "kind": str(error.kind),
        "message": error.message,
        "help": error.help,
        "details": dict(error.details),
    }


@pytest.mark.parametrize(
    ("cls", "details"),
    [
        (InvalidInputError, {"option": "region"}),
        (
            ResourceLimitError,
            {"resource": "storage_object_bytes", "limit": 8, "actual": 9, "uri": "s3://b/g/x"},
        ),
        (StorageError, {"condition": "transient", "uri": "s3://b/g/x", "verb": "read"}),
        (BackendNotInstalledError, {"condition": "configuration", "uri": "gs://b"}),
        (BackendFailedToLoadError, {"condition": "configuration", "uri": "gs://b", "plugin": "gs"}),
        (BackendConflictError, {"condition": "configuration", "providers": ["a 1", "b 2"]}),
        (
            UnsupportedCapabilityError,
            {"condition": "configuration", "uri": "s3://b/g/x", "capability": "write_if_match"},
        ),
        (ConflictError, {"expected": "01A", "actual": "01B", "a": 1}),
        (OutcomeUnknownError, {"commit_id": "01A"}),
        (DeadlineError, {"deadline": 1.5, "operator": "NodeScan $a: A"}),
        (EmbeddingError, {"provider": "openai", "model": "e-1", "status": 429}),
    ],
)
def test_details_carry_every_fact_for_programs(cls: type[OmnigraphError], details: dict[str, object]) -> None:
    assert dict(SAMPLES[cls].details) == details


def test_facts_are_attributes_as_well() -> None:
    limit = SAMPLES[ResourceLimitError]
    assert isinstance(limit, ResourceLimitError)
    assert (limit.resource, limit.limit, limit.actual, limit.uri) == ("storage_object_bytes", 8, 9, "s3://b/g/x")
    storage = SAMPLES[StorageError]
    assert isinstance(storage, StorageError)
    assert (storage.condition, storage.uri) == (StorageCondition.TRANSIENT, "s3://b/g/x")
    conflict = SAMPLES[BackendConflictError]
    assert isinstance(conflict, BackendConflictError)
    assert conflict.providers == ("a 1", "b 2")
    moved = SAMPLES[ConflictError]
    assert isinstance(moved, ConflictError)
    assert (moved.expected, moved.actual) == ("01A", "01B")
    unknown = SAMPLES[OutcomeUnknownError]
    assert isinstance(unknown, OutcomeUnknownError)
    assert unknown.commit_id == "01A"


@pytest.mark.parametrize(
    "cls",
    [BackendNotInstalledError, BackendFailedToLoadError, BackendConflictError, UnsupportedCapabilityError],
)
def test_a_missing_or_wrong_backend_is_a_matter_of_configuration(cls: type[StorageError]) -> None:
    error = SAMPLES[cls]
    assert isinstance(error, StorageError)
    assert error.condition is StorageCondition.CONFIGURATION


def test_an_absent_uri_is_left_out_of_the_details() -> None:
    assert "uri" not in StorageError("It broke.", condition=StorageCondition.UNKNOWN).details
    assert "uri" not in ResourceLimitError("Too many.", resource="rows", limit=1, actual=2).details


def test_details_cannot_be_changed_by_whoever_catches_the_error() -> None:
    given = {"option": "region"}
    error = InvalidInputError("A is wrong.", details=given)
    given["option"] = "other"
    assert error.details == {"option": "region"}
    with pytest.raises(TypeError):
        error.details["option"] = "other"  # type: ignore[index]
    error.to_dict()["details"]["option"] = "other"
    assert error.details == {"option": "region"}
