"""The operations of a mutation with values in them: all that does not depend on what is committed, done once per call.

    plan, parameters, now ── convert, embed ──> BoundMutation ── run_statements(snapshot) ──> changes

Parameters and literals become stored values, inserts become rows, and vectors that are left out are made of their
texts. Everything that is wrong is told at once, with the number of the statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.history.schemas import GraphSchema, TypeTable
from omnigraph.lang.types import ValueType
from omnigraph.plan.changes import (
    Cascade,
    DeleteEdges,
    DeleteNodes,
    Embedding,
    InsertEdge,
    InsertNode,
    MutationPlan,
    Operation,
    UpdateNodes,
)
from omnigraph.query.ast import Operator
from omnigraph.query.checked import Constant, ConstantValue, CurrentTime, Given, ParameterRef, Predicate
from omnigraph.write.embedding import embed_documents
from omnigraph.write.problems import Problem, ProblemLog
from omnigraph.write.records.ids import mint_ulids
from omnigraph.write.records.reasons import Misfit, Reason
from omnigraph.write.records.row_reader import TypeRows

AGAIN = "Correct the mutation or its values, and run it again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """``column operator value``, with the value; null is never true."""

    column: str
    type: ValueType
    operator: Operator
    value: ConstantValue


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertRow:
    """One row.

    Attributes:
        number: of the statement, from 1.
        is_fresh: the id was minted, so no other row has it.
    """

    number: int
    target: TypeTable
    row: pa.Table
    is_fresh: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateRows:
    """Every row for which the condition holds gets these values, each a column of one row."""

    number: int
    target: TypeTable
    values: Mapping[str, pa.Array]
    condition: Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRows:
    """Every row for which the condition holds goes, and with nodes the edges at them."""

    number: int
    target: TypeTable
    condition: Condition
    cascades: tuple[tuple[TypeTable, Cascade], ...] = ()


BoundStatement = InsertRow | UpdateRows | DeleteRows


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundMutation:
    """A mutation that needs nothing but a snapshot.

    Attributes:
        is_strict: it changes or removes rows that its caller has seen.
    """

    name: str
    schema: GraphSchema
    statements: tuple[BoundStatement, ...]

    @property
    def is_strict(self) -> bool:
        return any(not isinstance(each, InsertRow) for each in self.statements)

    @property
    def written_types(self) -> frozenset[str]:
        """Keys of the types that it may write."""
        cascades = (edge.key for each in self.statements if isinstance(each, DeleteRows) for edge, _ in each.cascades)
        return frozenset({*(each.target.key for each in self.statements), *cascades})


def bind_mutation(
    plan: MutationPlan, schema: GraphSchema, parameters: Mapping[str, ConstantValue], *, now: int
) -> BoundMutation:
    """The statements of a plan with the values of one call.

    Args:
        plan: compiled against this schema.
        schema: of the graph.
        parameters: by name, as ``bind_parameters`` gives them.
        now: the moment of the call, in milliseconds since 1970.

    Raises:
        InvalidInputError: values that their properties cannot hold, or an embedder that is not configured.
        EmbeddingError: the embedder failed.
    """
    binder = _Binder(schema, parameters, now)
    statements = [binder.bind(number, each) for number, each in enumerate(plan.operations, 1)]
    # Whatever can be known without an embedder is told before one is asked.
    binder.problems.raise_invalid(advice="")
    made = _make_vectors([each for each in statements if isinstance(each, _OpenInsert)])
    bound = [binder.finish(each, made) if isinstance(each, _OpenInsert) else each for each in statements]
    binder.problems.raise_invalid(advice="")
    return BoundMutation(name=plan.name, schema=schema, statements=tuple(each for each in bound if each is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenInsert:
    """An insert of which vectors may still be missing.

    Attributes:
        embeddings: vectors that are to be made of the texts in ``data``.
    """

    number: int
    target: TypeTable
    data: Mapping[str, Any]
    ends: tuple[str, str]
    embeddings: tuple[Embedding, ...] = ()


_Vectors = Mapping[tuple[str, str, str], Any]
"""By name of the type, property and text."""


def _make_vectors(inserts: Sequence[_OpenInsert]) -> _Vectors:
    """Every vector that is left out, in one request for each property."""
    texts: dict[tuple[str, Embedding], dict[str, None]] = {}
    for insert in inserts:
        for each in insert.embeddings:
            texts.setdefault((insert.target.name, each), {})[insert.data[each.source]] = None
    made = {}
    for (name, embedding), wanted in texts.items():
        vectors = embed_documents([*wanted], embedding, type_name=name)
        made.update({(name, embedding.property, text): each for text, each in zip(wanted, vectors, strict=True)})
    return made


class _Binder:
    """Binds the statements of one call; what is wrong is in ``problems``."""

    def __init__(self, schema: GraphSchema, parameters: Mapping[str, ConstantValue], now: int) -> None:
        self.problems = ProblemLog(again=AGAIN)
        self._schema = schema
        self._parameters = parameters
        self._now = now

    def bind(self, number: int, operation: Operation) -> BoundStatement | _OpenInsert | None:
        """The statement, or an insert whose vectors are to be made; None when something is wrong with it."""
        match operation:
            case InsertNode():
                found = self._insert(number, self._schema.node(operation.type_name), operation)
                return found if found is None or found.embeddings else self.finish(found, {})
            case InsertEdge():
                found = self._insert(number, self._schema.edge(operation.type_name), operation)
                return None if found is None else self.finish(found, {})
            case UpdateNodes():
                return self._update(number, self._schema.node(operation.type_name), operation)
            case DeleteNodes():
                cascades = tuple((self._schema.edge(each.edge), each) for each in operation.cascades)
                target = self._schema.node(operation.type_name)
                condition = self._condition(operation.predicate, target)
                return DeleteRows(number=number, target=target, condition=condition, cascades=cascades)
            case DeleteEdges():
                target = self._schema.edge(operation.type_name)
                return DeleteRows(number=number, target=target, condition=self._condition(operation.predicate, target))

    def _insert(self, number: int, target: TypeTable, operation: InsertNode | InsertEdge) -> _OpenInsert | None:
        data: dict[str, Any] = dict.fromkeys(operation.unset)
        data |= {each.property: self._value(each.value) for each in operation.assignments}
        if isinstance(operation, InsertEdge):
            ends = self._value(operation.source), self._value(operation.target)
            for end, value in zip(("from", "to"), ends, strict=True):
                if not isinstance(value, str):
                    text = f"{target.name}.{end} is null: give the id of a node"
                    self._refuse(number, target, Misfit(Reason.MISSING_REQUIRED, text, name=end))
            return _OpenInsert(number=number, target=target, data=data, ends=(str(ends[0]), str(ends[1])))
        for each in operation.embeddings:
            if not isinstance(data.get(each.source), str):
                text = f"{target.name}.{each.property} is made from '{each.source}', which is null"
                self._refuse(number, target, Misfit(Reason.MISSING_REQUIRED, text, name=each.property))
                return None
        return _OpenInsert(number=number, target=target, data=data, ends=("", ""), embeddings=operation.embeddings)

    def finish(self, insert: _OpenInsert, vectors: _Vectors) -> InsertRow | None:
        """The row of an insert, with its vectors and its id; None when something is wrong with it."""
        number, target = insert.number, insert.target
        made = {
            each.property: vectors[target.name, each.property, insert.data[each.source]] for each in insert.embeddings
        }
        rows = TypeRows(target)
        for misfit in rows.add({**insert.data, **made}, *insert.ends, number) or ():
            self._refuse(number, target, misfit)
        if self.problems:
            return None
        (typed,) = rows.finish(self.problems, None)
        row = pa.Table.from_batches([typed.rows])
        is_fresh = row["id"].null_count > 0
        if is_fresh:
            row = row.set_column(0, target.schema.field(0), mint_ulids(1))
        return InsertRow(number=number, target=target, row=row, is_fresh=is_fresh)

    def _update(self, number: int, target: TypeTable, operation: UpdateNodes) -> UpdateRows | None:
        rows = TypeRows(target)
        values: dict[str, pa.Array] = {}
        for each in operation.assignments:
            try:
                values[each.property] = rows.value(each.property, self._value(each.value))
            except Misfit as misfit:
                self._refuse(number, target, misfit)
        if self.problems:
            return None
        condition = self._condition(operation.predicate, target)
        return UpdateRows(number=number, target=target, values=values, condition=condition)

    def _condition(self, predicate: Predicate, target: TypeTable) -> Condition:
        value = self._value(predicate.value)
        column = predicate.column
        if target.key_columns == (column,) and isinstance(value, str) and predicate.operator is Operator.EQ:
            # A key that is one text is the id, which is indexed and kept in memory.
            column = "id"
        return Condition(column=column, type=predicate.type, operator=predicate.operator, value=value)

    def _value(self, given: Given) -> ConstantValue:
        match given:
            case Constant():
                return given.value
            case ParameterRef():
                return self._parameters[given.name]
            case CurrentTime():
                return self._now

    def _refuse(self, number: int, target: TypeTable, misfit: Misfit) -> None:
        self.problems.add(
            Problem(
                reason=misfit.reason,
                message=misfit.text,
                type_key=target.key,
                property=misfit.name,
                source=place_of(number),
            )
        )


def place_of(number: int) -> str:
    """A statement as messages name it."""
    return f"statement {number}"
