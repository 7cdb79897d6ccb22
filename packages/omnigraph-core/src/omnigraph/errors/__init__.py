"""The error tree: one base, a stable ``kind`` for programs, a next move for people.

    OmnigraphError
    ├── CompileError (ValueError)              .diagnostics: everything wrong with a schema or query, not the first only
    │   ├── ParseError                              it cannot be read
    │   └── CheckError                              it can be read and means nothing
    ├── InvalidInputError (ValueError)         a URI, option, row or parameter is wrong
    │   ├── ChangeCursorRejectedError               a cursor does not belong here; .reason
    │   └── LoadIdReusedError                       a load has the name of another one; .commit_id .expected .actual
    ├── ConstraintError                        well-formed rows break a rule; .type_key .id .constraint .holders
    ├── NotFoundError (LookupError)            there is no such graph, branch, commit or type
    ├── AlreadyExistsError                     there is one already
    ├── ResourceLimitError                     a bound was reached before anything was done
    ├── DeadlineError (TimeoutError)           a query took longer than its budget allows
    ├── EmbeddingError                         a text could not be turned into a vector
    ├── PluginError                            a verb that a plugin offers cannot be had; .plugins
    ├── ChangeSchemaBoundaryError              the schema changed at a commit of the feed; .commit_id
    ├── ChangeFeedGapError                     history that the feed needs was reclaimed; .first_unreadable_commit_id
    ├── ReadOnlyError                          it was opened for reading
    ├── ClosedError                            it was closed
    ├── ForkedProcessError                     this process is a copy of one that used Lance, which cannot be copied
    ├── ConflictError                          the graph moved on meanwhile; .expected and .actual
    │   ├── HeadMovedError                          what a write was built on moved; .branch and .members
    │   ├── BranchReplacedError                     the branch was deleted and made anew
    │   ├── ContentionError                         others published first until the deadline; .attempts
    │   └── MergeConflictError                      two branches changed the same things; .conflicts
    ├── OutcomeUnknownError                    it may have happened; says how to find out
    ├── RecoveryRequiredError                  an interrupted write must be finished first; .operation_id
    ├── FormatError                            a graph of another format, or a damaged one
    │   └── RelocationRequiredError                 its files were moved or copied, and a branch names the old place
    ├── InternalError                          a mistake of ours
    └── StorageError                           .condition says what the evidence is
        ├── BackendNotInstalledError (ImportError)  no installed plugin serves this scheme
        ├── BackendFailedToLoadError                the plugin is there and broken, see __cause__
        ├── BackendConflictError                    two plugins claim the same name or scheme
        └── UnsupportedCapabilityError              the backend does not offer this verb

``ErrorKind`` is append-only. Every error pickles, notes included, because Spark workers and process pools
send errors across process boundaries.
"""

from __future__ import annotations

from omnigraph.errors.bounds import DeadlineError, ResourceLimitError
from omnigraph.errors.changes import (
    ChangeCursorRejectedError,
    ChangeFeedGapError,
    ChangeSchemaBoundaryError,
)
from omnigraph.errors.embedding import EmbeddingError
from omnigraph.errors.handles import ClosedError, ForkedProcessError
from omnigraph.errors.inputs import (
    CheckError,
    CompileError,
    ConstraintError,
    InvalidInputError,
    LoadIdReusedError,
    ParseError,
)
from omnigraph.errors.places import (
    AlreadyExistsError,
    FormatError,
    NotFoundError,
    ReadOnlyError,
    RelocationRequiredError,
)
from omnigraph.errors.plugins import PluginError
from omnigraph.errors.root import ErrorKind, InternalError, OmnigraphError
from omnigraph.errors.storage import (
    BackendConflictError,
    BackendFailedToLoadError,
    BackendNotInstalledError,
    StorageCondition,
    StorageError,
    UnsupportedCapabilityError,
)
from omnigraph.errors.writes import (
    BranchReplacedError,
    ConflictError,
    ContentionError,
    HeadMovedError,
    MergeConflict,
    MergeConflictError,
    MergeConflictKind,
    OutcomeUnknownError,
    RecoveryRequiredError,
)

__all__ = [
    "AlreadyExistsError",
    "BackendConflictError",
    "BackendFailedToLoadError",
    "BackendNotInstalledError",
    "BranchReplacedError",
    "ChangeCursorRejectedError",
    "ChangeFeedGapError",
    "ChangeSchemaBoundaryError",
    "CheckError",
    "ClosedError",
    "CompileError",
    "ConflictError",
    "ConstraintError",
    "ContentionError",
    "DeadlineError",
    "EmbeddingError",
    "ErrorKind",
    "ForkedProcessError",
    "FormatError",
    "HeadMovedError",
    "InternalError",
    "InvalidInputError",
    "LoadIdReusedError",
    "MergeConflict",
    "MergeConflictError",
    "MergeConflictKind",
    "NotFoundError",
    "OmnigraphError",
    "OutcomeUnknownError",
    "ParseError",
    "PluginError",
    "ReadOnlyError",
    "RecoveryRequiredError",
    "RelocationRequiredError",
    "ResourceLimitError",
    "StorageCondition",
    "StorageError",
    "UnsupportedCapabilityError",
]

# A traceback names the module that people import from.
for _each in [each for each in vars().values() if isinstance(each, type) and issubclass(each, OmnigraphError)]:
    _each.__module__ = __name__
del _each
