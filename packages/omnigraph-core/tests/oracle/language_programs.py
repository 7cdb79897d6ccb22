"""Hypothesis strategies for whole schemas and query files as trees, in every form that their grammars allow.

The trees have no places: every span is the same. They say nothing sensible, so they are for parsers and printers, not
for checks. What two trees can only say with the same words is left out; the comments say where.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from omnigraph.lang.source import Name, Span
from omnigraph.lang.types import MAX_VECTOR_DIMENSION, SCALAR_NAMES, Scalar, ValueType
from omnigraph.query import ast as q
from omnigraph.schema import ast as s

NOWHERE = Span(0, 0)
MAX_INTEGER = 2**63 - 1
CONSTRAINT_NAMES = ("key", "unique", "index", "range", "check")
KEYWORDS = (
    "node", "edge", "interface", "implements", "enum", "card", *CONSTRAINT_NAMES, "embed", "query", "match", "return",
    "order", "limit", "not", "not_x", "nothing", "contains", "starts_with", "as", "asc", "desc", "now", "nearest",
    "search", "fuzzy", "match_text", "bm25", "rrf", "count", "sum", "avg", "min", "max", "date", "datetime", "true",
    "false", "trueName", "insert", "update", "set", "delete", "where", "description", "instruction", "_", "null", "or",
)  # fmt: skip
# A name that stands where another word would mean something else.
NO_PROJECTION = ("as", "true", "false", "distinct", "all")
NO_OPERAND = ("contains", "starts_with", "true", "false")


def words(*, but: tuple[str, ...] = ()) -> st.SearchStrategy[str]:
    plain = st.from_regex(r"[a-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
    return st.one_of(st.sampled_from(KEYWORDS), plain).filter(lambda word: word not in but)


def names(*, but: tuple[str, ...] = ()) -> st.SearchStrategy[Name]:
    return words(but=but).map(lambda word: Name(word, NOWHERE))


type_names = st.one_of(
    st.sampled_from(("Film", "String", "Vector", "Date", "A")), st.from_regex(r"[A-Z][A-Za-z0-9_]{0,8}", fullmatch=True)
).map(lambda word: Name(word, NOWHERE))

texts = st.one_of(
    st.sampled_from(("", 'a "quoted" word', "back\\slash", "line\nbreak\r\ttab", "// no comment", "été 漢字 🎬 שלום")),
    # Half of a surrogate pair is no text.
    st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
)
integers = st.one_of(st.sampled_from((0, 1, MAX_INTEGER)), st.integers(0, MAX_INTEGER))
floats = st.one_of(
    st.sampled_from((0.0, 1.0, 1e22, 1e-7, 0.1, 1.7976931348623157e308, 5e-324)),
    st.floats(0.0, allow_nan=False, allow_infinity=False),
)


def listed(items: st.SearchStrategy[Any], at_least: int = 0, at_most: int = 3) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, min_size=at_least, max_size=at_most).map(tuple)


# ── types ──

scalars = st.sampled_from(sorted(SCALAR_NAMES.values()))
dimensions = st.one_of(st.sampled_from((1, 4, MAX_VECTOR_DIMENSION)), st.integers(1, MAX_VECTOR_DIMENSION))
plain_types = st.builds(ValueType, scalars, is_nullable=st.booleans())
# The grammar has lists of Blob; that they are refused is a matter of meaning, and where it is said is left open.
list_types = st.builds(
    ValueType, scalars.filter(lambda each: each is not Scalar.BLOB), is_nullable=st.booleans(), is_list=st.just(True)
)
vector_types = st.builds(ValueType, st.just(Scalar.VECTOR), is_nullable=st.booleans(), dimension=dimensions)
enum_types = st.builds(
    ValueType,
    st.just(Scalar.STRING),
    is_nullable=st.booleans(),
    enum_values=st.sets(st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True), min_size=1, max_size=4).map(
        lambda values: tuple(sorted(values))
    ),
)
property_types = st.one_of(plain_types, list_types, vector_types, enum_types)
parameter_types = st.one_of(plain_types, list_types, vector_types)

# ── schemas ──

schema_literals = st.builds(s.Literal, value=st.one_of(texts, integers, floats, st.booleans()), span=st.just(NOWHERE))
annotations = st.one_of(
    st.builds(s.Annotation, name=names(), span=st.just(NOWHERE)),
    st.builds(
        s.Annotation,
        # With arguments these would be constraints.
        name=names(but=CONSTRAINT_NAMES),
        value=st.one_of(schema_literals, names(but=("true", "false"))),
        kwargs=listed(st.builds(s.Argument, name=names(), value=schema_literals), at_most=2),
        span=st.just(NOWHERE),
    ),
)
bounds = st.one_of(
    st.integers(-MAX_INTEGER, MAX_INTEGER), floats, floats.filter(bool).map(lambda value: -value)
)  # fmt: skip
ranges = st.one_of(
    st.builds(s.RangeBounds, minimum=bounds, maximum=st.none() | bounds, span=st.just(NOWHERE)),
    st.builds(s.RangeBounds, minimum=st.none(), maximum=bounds, span=st.just(NOWHERE)),
)
constraints = st.builds(
    s.Constraint,
    name=st.sampled_from(CONSTRAINT_NAMES).map(lambda word: Name(word, NOWHERE)),
    arguments=listed(st.one_of(names(but=("true", "false")), ranges, schema_literals), at_least=1),
    span=st.just(NOWHERE),
)
properties = st.builds(
    s.Property,
    name=names(),
    type=property_types,
    annotations=listed(annotations, at_most=2),
    type_span=st.just(NOWHERE),
    span=st.just(NOWHERE),
)
interfaces = st.builds(s.Interface, name=type_names, properties=listed(properties), span=st.just(NOWHERE))
nodes = st.builds(
    s.Node,
    name=type_names,
    annotations=listed(annotations, at_most=2),
    implements=listed(type_names, at_most=2),
    properties=listed(properties),
    constraints=listed(constraints, at_most=2),
    span=st.just(NOWHERE),
)
cardinalities = st.builds(s.Cardinality, minimum=integers, maximum=st.none() | integers, span=st.just(NOWHERE))
edges = st.builds(
    s.Edge,
    name=type_names,
    source=type_names,
    target=type_names,
    cardinality=st.none() | cardinalities,
    annotations=listed(annotations, at_most=2),
    properties=listed(properties, at_most=2),
    constraints=listed(constraints, at_most=2),
    span=st.just(NOWHERE),
)
schemas = st.builds(s.Schema, declarations=listed(st.one_of(interfaces, nodes, edges)))

# ── query files ──

variables = st.builds(q.Variable, words(), st.just(NOWHERE))
now = st.just(q.Now(NOWHERE))
plain_literals: st.SearchStrategy[q.Literal] = st.one_of(
    st.builds(q.StringLiteral, texts, st.just(NOWHERE)),
    st.builds(q.IntegerLiteral, integers, st.just(NOWHERE)),
    st.builds(q.FloatLiteral, floats, st.just(NOWHERE)),
    st.builds(q.BoolLiteral, st.booleans(), st.just(NOWHERE)),
    st.builds(q.DateLiteral, texts, st.just(NOWHERE)),
    st.builds(q.DateTimeLiteral, texts, st.just(NOWHERE)),
)
literals = st.recursive(
    plain_literals, lambda items: st.builds(q.ListLiteral, listed(items), st.just(NOWHERE)), max_leaves=4
)
values = st.one_of(literals, variables, now)
accesses = st.builds(q.PropertyAccess, names(), names(), st.just(NOWHERE))


def nearest_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(q.Nearest, names(), names(), inner, st.just(NOWHERE))


def text_calls_of(inner: st.SearchStrategy[Any], *functions: q.TextFunction) -> st.SearchStrategy[Any]:
    return st.one_of(
        *(
            st.builds(
                q.TextCall,
                st.just(function),
                inner,
                inner,
                st.none() | inner if function is q.TextFunction.FUZZY else st.none(),
                st.just(NOWHERE),
            )
            for function in functions
        )
    )


def calls_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    rankings = st.one_of(nearest_of(inner), text_calls_of(inner, q.TextFunction.BM25))
    return st.one_of(
        nearest_of(inner),
        text_calls_of(inner, *q.TextFunction),
        st.builds(q.Rrf, rankings, rankings, st.none() | inner, st.just(NOWHERE)),
        st.builds(q.Aggregate, st.sampled_from(list(q.AggregateFunction)), inner, st.just(NOWHERE)),
    )


def expressions(*, but: tuple[str, ...]) -> st.SearchStrategy[Any]:
    identifiers = st.builds(q.Identifier, words(but=but), st.just(NOWHERE))
    leaves = st.one_of(accesses, variables, literals, now, identifiers)
    return st.one_of(leaves, st.recursive(leaves, calls_of, max_leaves=4))


operands = expressions(but=NO_OPERAND)


def is_filter(clause: q.Filter) -> bool:
    """A bare variable, ``contains`` and a variable are a traversal; a comparison with ``null`` is explained instead."""
    if isinstance(clause.right, q.Identifier) and clause.right.name == "null":
        return False
    by_word = clause.operator in (q.Operator.CONTAINS, q.Operator.STARTS_WITH)
    return not (
        by_word and isinstance(clause.left, q.Variable) and isinstance(clause.right, q.Variable | q.PropertyAccess)
    )


filters = st.builds(q.Filter, operands, st.sampled_from(list(q.Operator)), operands, st.just(NOWHERE)).filter(is_filter)
text_clauses = text_calls_of(
    operands, q.TextFunction.SEARCH, q.TextFunction.FUZZY, q.TextFunction.MATCH_TEXT
).map(lambda call: q.TextClause(call, NOWHERE))  # fmt: skip
bindings = st.builds(
    q.Binding,
    names(),
    type_names,
    listed(st.builds(q.PropertyMatch, names(), values, st.just(NOWHERE)), at_most=2),
    st.just(NOWHERE),
)
edge_names = words().filter(lambda word: word != "not" and not word.startswith("not_")).map(lambda w: Name(w, NOWHERE))
traversals = st.builds(
    q.Traversal,
    names(),
    st.none() | names(),
    edge_names,
    st.booleans(),
    st.none() | st.builds(q.Hops, integers, st.none() | integers, st.just(NOWHERE)),
    names(),
    st.just(NOWHERE),
)
clauses = st.recursive(
    st.one_of(bindings, traversals, filters, text_clauses),
    lambda inner: st.builds(q.Negation, listed(inner, at_least=1), st.just(NOWHERE)),
    max_leaves=4,
)
projections = st.builds(q.Projection, expressions(but=NO_PROJECTION), st.none() | names(), st.just(NOWHERE))
orderings = st.one_of(
    st.builds(
        q.Ordering,
        expressions(but=("true", "false")).filter(lambda each: not isinstance(each, q.Nearest)),
        st.booleans(),
        st.just(NOWHERE),
    ),
    # A nearest takes no direction.
    st.builds(q.Ordering, nearest_of(operands), st.just(False), st.just(NOWHERE)),
)
reads = st.builds(
    q.Read,
    listed(clauses, at_least=1),
    listed(projections, at_least=1),
    listed(orderings, at_most=2),
    st.none() | st.builds(q.Limit, integers, st.just(NOWHERE)),
    st.just(NOWHERE),
)
assignments = listed(st.builds(q.Assignment, names(), values, st.just(NOWHERE)), at_least=1)
predicates = st.builds(
    q.Predicate,
    names(),
    st.sampled_from([each for each in q.Operator if not each.isalpha() and "_" not in each]),
    values,
    st.just(NOWHERE),
)
statements = st.one_of(
    st.builds(q.Insert, type_names, assignments, st.just(NOWHERE)),
    st.builds(q.Update, type_names, assignments, predicates, st.just(NOWHERE)),
    st.builds(q.Delete, type_names, predicates, st.just(NOWHERE)),
)
queries = st.builds(
    q.Query,
    names(),
    listed(st.builds(q.Parameter, names(), parameter_types, st.just(NOWHERE)), at_most=2),
    st.none() | texts,
    st.none() | texts,
    st.one_of(reads, st.builds(q.Mutation, listed(statements, at_least=1), st.just(NOWHERE))),
    st.just(NOWHERE),
)
query_files = st.builds(q.QueryFile, listed(queries, at_most=2))
