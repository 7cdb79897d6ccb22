"""The error tree: stable words, one way to say the next move, and every fact for people and for programs."""

from __future__ import annotations

import importlib
import json
import pkgutil
import traceback
from collections.abc import Iterator

import pytest
from error_samples import EVERY_ERROR, SAMPLES

import omnigraph
from omnigraph.errors import (
    AlreadyExistsError,
    BackendConflictError,
    BackendFailedToLoadError,
    BackendNotInstalledError,
    BranchReplacedError,
    ChangeCursorRejectedError,
    ChangeFeedGapError,
    ChangeSchemaBoundaryError,
    CheckError,
    ClosedError,
    CompileError,
    ConflictError,
    ConstraintError,
    ContentionError,
    DeadlineError,
    EmbeddingError,
    ErrorKind,
    ForkedProcessError,
    FormatError,
    HeadMovedError,
    InternalError,
    InvalidInputError,
    LoadIdReusedError,
    MergeConflictError,
    NotFoundError,
    OmnigraphError,
    OutcomeUnknownError,
    ParseError,
    PluginError,
    ReadOnlyError,
    RecoveryRequiredError,
    RelocationRequiredError,
    ResourceLimitError,
    StorageCondition,
    StorageError,
    UnsupportedCapabilityError,
)
from omnigraph.lang import Code

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
    "head_moved",
    "branch_replaced",
    "contention",
    "merge_conflict",
    "recovery_required",
    "closed",
    "forked_process",
    "change_cursor_rejected",
    "change_feed_gap",
    "change_schema_boundary",
    "plugin",
    "load_id_reused",
    "relocation_required",
]
HELD_CONDITIONS = ["transient", "configuration", "not_found", "precondition", "permanent", "unknown"]


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
        (ClosedError, "closed", (OmnigraphError,)),
        (ForkedProcessError, "forked_process", (OmnigraphError,)),
        (CompileError, "compile", (OmnigraphError, ValueError)),
        (ParseError, "compile", (CompileError,)),
        (CheckError, "compile", (CompileError,)),
        (ConstraintError, "constraint", (OmnigraphError,)),
        (NotFoundError, "not_found", (OmnigraphError, LookupError)),
        (AlreadyExistsError, "already_exists", (OmnigraphError,)),
        (ConflictError, "conflict", (OmnigraphError,)),
        (HeadMovedError, "head_moved", (ConflictError,)),
        (BranchReplacedError, "branch_replaced", (ConflictError,)),
        (ContentionError, "contention", (ConflictError,)),
        (MergeConflictError, "merge_conflict", (ConflictError,)),
        (OutcomeUnknownError, "outcome_unknown", (OmnigraphError,)),
        (RecoveryRequiredError, "recovery_required", (OmnigraphError,)),
        (FormatError, "format", (OmnigraphError,)),
        (RelocationRequiredError, "relocation_required", (FormatError,)),
        (InternalError, "internal", (OmnigraphError,)),
        (DeadlineError, "deadline", (OmnigraphError, TimeoutError)),
        (EmbeddingError, "embedding", (OmnigraphError,)),
        (PluginError, "plugin", (OmnigraphError,)),
        (ChangeCursorRejectedError, "change_cursor_rejected", (InvalidInputError,)),
        (LoadIdReusedError, "load_id_reused", (InvalidInputError,)),
        (ChangeFeedGapError, "change_feed_gap", (OmnigraphError,)),
        (ChangeSchemaBoundaryError, "change_schema_boundary", (OmnigraphError,)),
    ],
)
def test_the_tree_is_as_documented(cls: type[OmnigraphError], kind: str, parents: tuple[type, ...]) -> None:
    assert cls.kind == kind
    assert cls.__bases__ == parents


@EVERY_ERROR
def test_a_traceback_names_an_error_as_people_import_it(error: OmnigraphError) -> None:
    shown = traceback.format_exception_only(error)[0]
    assert shown.startswith(f"omnigraph.errors.{type(error).__name__}: ")


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
def test_str_says_what_happened_and_then_the_next_move(error: OmnigraphError) -> None:
    if isinstance(error, CompileError):
        # Its diagnostics say the next move of each, see test_lang_compile_error.py.
        assert str(error).startswith(f"{error.message}\n\nerror[")
    else:
        # A list in the message ends its line.
        end = "\n" if isinstance(error, MergeConflictError) else " "
        assert str(error) == f"{error.message}{end}{error.help}"


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
        (
            HeadMovedError,
            {"expected": "01A", "actual": "01B", "branch": "main", "members": ["pin:node:Film", "schema"]},
        ),
        (BranchReplacedError, {"expected": "i1", "actual": "i2", "branch": "review"}),
        (
            ContentionError,
            {"expected": None, "actual": None, "branch": "main", "attempts": 3, "deadline_seconds": 1.5},
        ),
        (
            MergeConflictError,
            {
                "expected": None,
                "actual": None,
                "source": "review",
                "branch": "main",
                "conflicts": [
                    {
                        "kind": "divergent_update",
                        "entity": "node",
                        "type": "Film",
                        "id": "F1",
                        "message": "both changed it",
                        "base": {"stars": 1},
                        "source": {"stars": 2},
                        "target": {"stars": 3},
                    }
                ],
            },
        ),
        (RecoveryRequiredError, {"operation_id": "01C"}),
        (OutcomeUnknownError, {"commit_id": "01A"}),
        (DeadlineError, {"deadline": 1.5, "operator": "NodeScan $a: A"}),
        (EmbeddingError, {"provider": "openai", "model": "e-1", "status": 429}),
        (PluginError, {"plugins": ["a 1", "b 2"]}),
        (ChangeCursorRejectedError, {"reason": "filter"}),
        (
            LoadIdReusedError,
            {
                "load_id": "night",
                "branch": "main",
                "commit_id": "01A",
                "expected": "jsonl-sha256:1",
                "actual": "jsonl-sha256:2",
            },
        ),
        (ChangeFeedGapError, {"first_unreadable_commit_id": "01A", "cursor": "eyJ"}),
        (ChangeSchemaBoundaryError, {"commit_id": "01A"}),
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
