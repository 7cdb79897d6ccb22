"""One instance of every error class that core defines; ``test_errors_tree.py`` fails for a class without one."""

from __future__ import annotations

import pytest

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
    ForkedProcessError,
    FormatError,
    HeadMovedError,
    InternalError,
    InvalidInputError,
    LoadIdReusedError,
    MergeConflict,
    MergeConflictError,
    MergeConflictKind,
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
from omnigraph.lang import Code, Diagnostic, SourceText, Span


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
    ClosedError: ClosedError("Closed.", help="Open it again.", details={"uri": "s3://b/g"}),
    ForkedProcessError: ForkedProcessError("Forked.", help="Spawn.", details={"uri": "s3://b/g"}),
    UnsupportedCapabilityError: UnsupportedCapabilityError(
        "It cannot.", capability="write_if_match", uri="s3://b/g/x", help="Use another."
    ),
    CompileError: CompileError((diagnostic(Code.T6, help="Write name."), diagnostic(Code.T7))),
    ParseError: ParseError((diagnostic(Code.UNEXPECTED_TOKEN, label="a clause was expected"),)),
    CheckError: CheckError((diagnostic(Code.T1, label="a guess", help="Write name."),)),
    ConstraintError: ConstraintError(
        "Two rows share a mail.",
        help="Remove one.",
        details={
            "problems": [
                {"reason": "unique", "message": "Two rows share a mail.", "type_key": "node:Person", "id": "bo"}
                | {"constraint": "@unique(mail)", "holders": ["ann", "bo"]}
            ]
        },
    ),
    NotFoundError: NotFoundError("No branch.", help="Make it first.", details={"branch": "review"}),
    AlreadyExistsError: AlreadyExistsError("A graph is there.", help="Open it.", details={"uri": "s3://b/g"}),
    ConflictError: ConflictError("It moved.", expected="01A", actual="01B", help="Read it again.", details={"a": 1}),
    HeadMovedError: HeadMovedError(branch="main", expected="01A", actual="01B", members=("pin:node:Film", "schema")),
    BranchReplacedError: BranchReplacedError(branch="review", expected="i1", actual="i2"),
    ContentionError: ContentionError(purpose="load it", attempts=3, deadline_seconds=1.5, branch="main"),
    MergeConflictError: MergeConflictError(
        (
            MergeConflict(
                kind=MergeConflictKind.DIVERGENT_UPDATE,
                entity="node",
                type="Film",
                id="F1",
                message="both changed it",
                base={"stars": 1},
                source={"stars": 2},
                target={"stars": 3},
            ),
        ),
        source="review",
        branch="main",
    ),
    RecoveryRequiredError: RecoveryRequiredError("It was cut off.", operation_id="01C", help="Open it for writing."),
    OutcomeUnknownError: OutcomeUnknownError("No answer.", commit_id="01A", help="Look for the commit."),
    FormatError: FormatError("Format 9.", help="Upgrade.", details={"found": 9, "expected": 1}),
    RelocationRequiredError: RelocationRequiredError("review", uri="/b", found="/a/nodes/1", branch="review"),
    InternalError: InternalError("It cannot be.", help="Report it."),
    DeadlineError: DeadlineError("It took too long.", deadline=1.5, operator="NodeScan $a: A", help="Give it more."),
    EmbeddingError: EmbeddingError("Too busy.", provider="openai", model="e-1", status=429, help="Try again later."),
    PluginError: PluginError("It is broken.", plugins=("a 1", "b 2"), help="Repair it."),
    ChangeCursorRejectedError: ChangeCursorRejectedError("filter"),
    LoadIdReusedError: LoadIdReusedError(
        load_id="night", branch="main", commit_id="01A", expected="jsonl-sha256:1", actual="jsonl-sha256:2"
    ),
    ChangeFeedGapError: ChangeFeedGapError(first_unreadable_commit_id="01A", cursor="eyJ"),
    ChangeSchemaBoundaryError: ChangeSchemaBoundaryError(commit_id="01A"),
}

EVERY_ERROR = pytest.mark.parametrize("error", SAMPLES.values(), ids=lambda error: type(error).__name__)
