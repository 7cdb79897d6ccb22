"""``validate_changes``: whether a change set may become a commit; the one evaluator for every kind of write.

    1  values of each row    required, enum, @range, @check         validate_values
    2  per node type         key and ids, each @unique              validate_unique
    3  per edge type         ids, each @unique                      validate_unique
                             endpoints, edges that stay             validate_edges
                             cardinality                            validate_cards

Every stage looks at the whole change set, whatever an earlier one found, so that one run tells everything; a row with a
wrong value still counts as a row in later stages, so that one mistake is told once. Within a stage types come in the
order of their keys, rules in that of the schema, rows in that of the input. Committed rows are read only through
``CommittedRows``, so its note of tables looked at is the read set of the judgement.

Of rows that are removed only what they leave behind is judged: cardinality, and where they go beside others, edges that
would lose an end. A mutation that removes nodes also removes their edges.
"""

from __future__ import annotations

from omnigraph.cancellation import check_cancelled
from omnigraph.history.schemas import GraphSchema
from omnigraph.write.changeset import ChangeMode, ChangeSet
from omnigraph.write.committed import CommittedRows
from omnigraph.write.problems import ProblemLog
from omnigraph.write.validation.cardinality import check_cardinality
from omnigraph.write.validation.change_rows import ChangedRows
from omnigraph.write.validation.edges import NodesAfter, check_endpoints, check_orphans, expect_endpoints
from omnigraph.write.validation.sets import LIMITS, Limits
from omnigraph.write.validation.unique import check_ids, check_unique
from omnigraph.write.validation.values import check_changed_values


def validate_changes(
    changes: ChangeSet,
    schema: GraphSchema,
    committed: CommittedRows,
    problems: ProblemLog,
    *,
    values_are_checked: bool = False,
    limits: Limits = LIMITS,
) -> None:
    """Add a problem for everything that breaks a rule; raises nothing of its own but ``ResourceLimitError``.

    With ``values_are_checked`` stage 1 is left out, because ``check_values`` has judged all rows already.
    """
    rows = {each.target.key: ChangedRows(each, committed.tables, limits) for each in changes.changes}
    removed = {key: each.removed_ids for key, each in rows.items() if each.change.removed}
    if removed:
        committed = committed.without(removed)
    written = [each for each in rows.values() if each.mode is not ChangeMode.REMOVE]
    if not values_are_checked:
        for changed in written:
            check_cancelled()
            check_changed_values(changed, problems)
    for changed in (each for each in written if each.target.kind == "node"):
        check_cancelled()
        check_ids(changed, committed, problems, limits)
        check_cancelled()
        check_unique(changed, committed, problems, limits)
    nodes = NodesAfter(rows, committed, limits)
    edges = [each for each in schema.tables.values() if each.kind == "edge"]
    for changed in (each for each in written if each.target.kind == "edge"):
        expect_endpoints(changed, schema, nodes)
    for edge in edges:
        check_cancelled()
        changed_edges = rows.get(edge.key)
        if changed_edges is not None and changed_edges.mode is not ChangeMode.REMOVE:
            check_ids(changed_edges, committed, problems, limits)
            check_unique(changed_edges, committed, problems, limits)
            check_endpoints(changed_edges, schema, nodes, problems)
        check_orphans(edge, schema, rows, committed, problems, limits)
        if changed_edges is not None:
            check_cardinality(changed_edges, schema, nodes, committed, problems, limits)
