"""The names that a query can use at one place of its text: parameters, bound variables and the properties behind them.

A ``Scope`` belongs to one match block; the block of a ``not`` has its own and sees the outer ones. Blocks are checked
in the order of the text, so a name is there only behind the clause that introduces it. A name whose introduction was
refused is ``UNKNOWN``: it exists, nothing is known of it, and nothing more is said about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import Related, Report, did_you_mean, listed
from omnigraph.lang.source import Name, Span
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.query import ast
from omnigraph.query.checked import BoundVariable, EntityRef, ParameterRef, PropertyRef
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType

UNKNOWN: Final = BoundVariable("", "")
"""A variable of which the type is not known because its introduction was refused."""


class Scope:
    """The names of one block, and where problems go.

    Attributes:
        variables: bound by this block itself.
        mentioned: variables of outer blocks that this block or one inside it uses.
        is_anchored: whether a clause of this very block uses a variable of an outer one.
        refusal_count: of the outermost scope only: how many problems the whole query has so far.
    """

    __slots__ = (
        "catalog",
        "is_anchored",
        "mentioned",
        "outer",
        "outermost",
        "parameters",
        "refusal_count",
        "report",
        "variables",
    )

    def __init__(self, catalog: Catalog, report: Report, parameters: Mapping[str, ValueType]) -> None:
        self.catalog = catalog
        self.report = report
        self.parameters = parameters
        self.variables: dict[str, BoundVariable] = {}
        self.mentioned: set[str] = set()
        self.is_anchored = False
        self.outer: Scope | None = None
        self.outermost = self
        self.refusal_count = 0

    def inside(self) -> Scope:
        """The scope of a block within this one."""
        inner = Scope(self.catalog, self.report, self.parameters)
        inner.outer = self
        inner.outermost = self.outermost
        return inner

    def find(self, name: str) -> BoundVariable | None:
        """The variable of this name. Looking one up in an outer block counts as a mention of it."""
        variable = self.variables.get(name)
        if variable is None and self.outer is not None:
            variable = self.outer.find(name)
            if variable is not None:
                self.mentioned.add(name)
                self.is_anchored = True
        return variable

    def bind(self, name: str, type_name: str, *, is_edge: bool = False) -> None:
        """Introduce a variable into this block."""
        self.variables[name] = BoundVariable(name, type_name, is_edge)

    def bind_unknown(self, name: str) -> None:
        """Introduce a variable of which nothing will be known, unless it is there already."""
        if name != ast.ANONYMOUS and self.find(name) is None:
            self.variables[name] = UNKNOWN

    def refuse(
        self,
        code: Code,
        span: Span,
        message: str,
        *,
        label: str | None = None,
        help: str | None = None,
        related: Iterable[Related] = (),
    ) -> None:
        """Say what is wrong; the query is not usable from here on."""
        self.outermost.refusal_count += 1
        self.report.add(code, span, message, label=label, help=help, related=related)

    def visible_names(self) -> list[str]:
        """Every variable that can be used here, with its ``$``."""
        names = [f"${name}" for name in self.variables]
        return names if self.outer is None else names + self.outer.visible_names()


def owner_of(scope: Scope, variable: BoundVariable) -> NodeType | EdgeType:
    """The type of which a variable is."""
    catalog = scope.catalog
    return catalog.edges[variable.type_name] if variable.is_edge else catalog.nodes[variable.type_name]


def find_property(
    scope: Scope, variable_name: Name, property_name: Name, *, code: Code = Code.T6, is_searched: bool = False
) -> PropertyRef | None:
    """What ``$variable.property`` means; None when that was refused.

    Args:
        scope: where it stands.
        variable_name: without ``$``; a parameter of this name is not meant.
        property_name: the property.
        code: what an unbound variable or an unknown property is refused with.
        is_searched: whether it is the subject of a search function, which takes nodes only.
    """
    variable = scope.find(variable_name.text)
    if variable is None:
        refuse_unbound(scope, variable_name.text, variable_name.span, code)
        return None
    if variable is UNKNOWN:
        return None
    if is_searched and variable.is_edge:
        scope.refuse(
            Code.T23,
            variable_name.span,
            f"${variable.name} is bound to the edge {variable.type_name}, and only nodes can be searched",
            label="an edge binding",
            help="Search a property of one of the nodes that the edge connects.",
        )
        return None
    owner = owner_of(scope, variable)
    found = owner.by_name.get(property_name.text)
    if found is None:
        refuse_property(scope, code, owner, property_name, variable)
        return None
    if found.type.scalar is Scalar.BLOB:
        scope.refuse(
            Code.T24,
            property_name.span,
            f"{owner.name}.{found.name} is a Blob, which a query cannot read",
            label="a Blob can only be assigned",
        )
        return None
    return PropertyRef(variable.name, found.name, found.type, variable.is_edge)


def find_value(scope: Scope, variable: ast.Variable, code: Code) -> ParameterRef | EntityRef | None:
    """What ``$variable`` by itself means: a parameter before anything else, else a bound node.

    Args:
        scope: where it stands.
        variable: the variable.
        code: what a variable that is neither is refused with.
    """
    name = variable.name
    declared = scope.parameters.get(name)
    if declared is not None:
        return ParameterRef(name, declared)
    bound = scope.find(name)
    if bound is None:
        refuse_unbound(scope, name, variable.span, code)
    elif bound is not UNKNOWN:
        if not bound.is_edge:
            return EntityRef(name, bound.type_name)
        scope.refuse(
            Code.T23,
            variable.span,
            f"${name} is bound to the edge {bound.type_name} and has no value of its own",
            label="an edge binding",
            help=_property_advice(scope, bound),
        )
    return None


def refuse_unbound(scope: Scope, name: str, span: Span, code: Code) -> None:
    """Say that nothing of this name is there yet."""
    if name == ast.ANONYMOUS:
        scope.refuse(code, span, "$_ is not bound: it stands for any node", help="Give the variable a name.")
        return
    bound = scope.visible_names()
    parameters = [f"${each}" for each in scope.parameters]
    choices = bound if code in (Code.T6, Code.T15) else bound + parameters
    advice = f"Bound here: {listed(bound)}. " if bound else ""
    if choices is not bound:
        advice += f"Parameters: {listed(parameters)}." if parameters else f"Declare it as a parameter: ${name}: String."
    elif name in scope.parameters:
        advice += f"${name} is a parameter, and parameters have no properties."
    else:
        advice += "A variable can be used behind the clause that introduces it."
    message = f"${name} is no declared parameter" if code is Code.T14 else f"${name} is not bound"
    scope.refuse(code, span, message, label=did_you_mean(f"${name}", choices), help=advice)


def refuse_property(
    scope: Scope, code: Code, owner: NodeType | EdgeType, name: Name, variable: BoundVariable | None = None
) -> None:
    """Say that a type has no such property, and which it has."""
    advice = f"{owner.name} has: {listed(owner.by_name)}" if owner.by_name else f"{owner.name} has no properties."
    if variable is not None and not variable.is_edge and name.text == "id":
        advice = f"The id of a node is the value of its variable: ${variable.name}."
    scope.refuse(
        code,
        name.span,
        f'{owner.name} has no property "{name.text}"',
        label=did_you_mean(name.text, owner.by_name),
        help=advice,
    )


def describe_node(scope: Scope, entity: EntityRef) -> tuple[str, str]:
    """What a node variable is, and what to write where a value is wanted."""
    bound = BoundVariable(entity.variable, entity.type_name)
    return f"${entity.variable} is a node ({entity.type_name})", _property_advice(scope, bound)


def _property_advice(scope: Scope, variable: BoundVariable) -> str:
    names = [each.name for each in owner_of(scope, variable).properties if each.type.scalar is not Scalar.BLOB]
    if not names:
        return f"{variable.type_name} has no properties to use instead."
    return f"Use one of its properties: {listed((f'${variable.name}.{name}' for name in names), at_most=6)}"
