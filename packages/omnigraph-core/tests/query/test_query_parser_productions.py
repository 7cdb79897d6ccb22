"""Every production of the query grammar reads to the tree that it stands for. Places are held elsewhere."""

from __future__ import annotations

import pytest

from omnigraph.lang import Scalar, SourceText, Span, ValueType
from omnigraph.lang.source import Name
from omnigraph.query import ast
from omnigraph.query.ast import AggregateFunction, Operator, TextFunction
from omnigraph.query.parser import parse_queries

HERE = Span(0, 0)
X = ast.StringLiteral("x", HERE)
ONE = ast.IntegerLiteral(1, HERE)


def name(text: str) -> Name:
    return Name(text, HERE)


def variable(text: str) -> ast.Variable:
    return ast.Variable(text, HERE)


def access(owner: str, text: str) -> ast.PropertyAccess:
    return ast.PropertyAccess(name(owner), name(text), HERE)


def query_of(text: str) -> ast.Query:
    (query,) = parse_queries(SourceText.of(text)).queries
    return query


def read_of(body: str) -> ast.Read:
    body = query_of(f"query q() {{ {body} }}").body
    assert isinstance(body, ast.Read)
    return body


def clause_of(text: str) -> ast.Clause:
    (clause,) = read_of(f"match {{ {text} }} return {{ $f }}").clauses
    return clause


def expression_of(text: str) -> ast.Expression:
    (projection,) = read_of(f"match {{ $f: Film }} return {{ {text} }}").projections
    assert projection.alias is None
    return projection.expression


def statement_of(text: str) -> ast.Statement:
    body = query_of(f"query q() {{ {text} }}").body
    assert isinstance(body, ast.Mutation)
    (statement,) = body.statements
    return statement


# ── files, headers, parameters ──


def test_file_may_hold_no_query():
    assert parse_queries(SourceText.of(" // nothing\n")) == ast.QueryFile(())


def test_file_holds_queries_in_the_order_of_the_text_also_of_one_name():
    text = "query b() { delete A where x = 1 } query a() { delete A where x = 1 } query b() { delete B where x = 1 }"
    assert [each.name.text for each in parse_queries(SourceText.of(text)).queries] == ["b", "a", "b"]


def test_query_without_parameters_and_annotations():
    query = query_of("query films() { match { $f: Film } return { $f } }")
    assert (query.name, query.parameters) == (name("films"), ())
    assert (query.description, query.instruction) == (None, None)


@pytest.mark.parametrize(
    ("annotations", "description", "instruction"),
    [
        ('@description("a")', "a", None),
        ('@instruction("b")', None, "b"),
        ('@description("a") @instruction("b")', "a", "b"),
        ('@instruction("b")\n@description("a\\n\\"c\\"")', 'a\n"c"', "b"),
    ],
)
def test_qannot_stands_between_parameters_and_body_in_any_order(annotations, description, instruction):
    query = query_of(f"query q() {annotations} {{ delete A where x = 1 }}")
    assert (query.description, query.instruction) == (description, instruction)


@pytest.mark.parametrize("scalar", [each for each in Scalar if each is not Scalar.VECTOR])
def test_ptype_is_every_scalar_plain_nullable_or_a_list(scalar: Scalar):
    query = query_of(
        f"query q($a: {scalar}, $b: {scalar}?, $c: [{scalar}], $d: [{scalar}]?) {{ delete A where x = 1 }}"
    )
    assert query.parameters == (
        ast.Parameter(name("a"), ValueType(scalar), HERE),
        ast.Parameter(name("b"), ValueType(scalar, is_nullable=True), HERE),
        ast.Parameter(name("c"), ValueType(scalar, is_list=True), HERE),
        ast.Parameter(name("d"), ValueType(scalar, is_list=True, is_nullable=True), HERE),
    )


def test_ptype_vector_has_a_dimension():
    query = query_of("query q($a: Vector(1), $b: Vector(2147483647)?) { delete A where x = 1 }")
    assert [each.type for each in query.parameters] == [
        ValueType(Scalar.VECTOR, dimension=1),
        ValueType(Scalar.VECTOR, dimension=2_147_483_647, is_nullable=True),
    ]


# ── reading ──


def test_read_has_match_return_order_and_limit():
    read = read_of("match { $f: Film } return { $f } order { $f.x desc } limit 10")
    assert read == ast.Read(
        (ast.Binding(name("f"), name("Film"), (), HERE),),
        (ast.Projection(variable("f"), None, HERE),),
        (ast.Ordering(access("f", "x"), True, HERE),),
        ast.Limit(10, HERE),
        HERE,
    )


def test_read_needs_neither_order_nor_limit():
    read = read_of("match { $f: Film } return { $f }")
    assert (read.orderings, read.limit) == ((), None)
    assert read_of("match { $f: Film } return { $f } limit 0").limit == ast.Limit(0, HERE)


def test_clause_needs_no_separator():
    clauses = read_of(
        'match { $f: Film $p rented $f $f.x = "x" not { $f.x = 1 } search($f.x, "x") } return { $f }'
    ).clauses
    assert [type(each) for each in clauses] == [ast.Binding, ast.Traversal, ast.Filter, ast.Negation, ast.TextClause]


def test_negation_holds_clauses_and_negations():
    inner = ast.Negation((ast.Filter(access("f", "x"), Operator.EQ, ONE, HERE),), HERE)
    outer = ast.Negation((ast.Binding(name("f"), name("Film"), (), HERE), inner), HERE)
    assert clause_of("not { $f: Film not { $f.x = 1 } }") == outer


@pytest.mark.parametrize(
    ("braces", "properties"),
    [("", []), ("{ a: 1 }", ["a"]), ("{ a: 1, }", ["a"]), ("{ a: 1, b: 1 }", ["a", "b"]), ("{a:1,b:1,}", ["a", "b"])],
)
def test_binding_has_no_braces_or_pmatches_with_an_optional_trailing_comma(braces: str, properties: list[str]):
    matches = tuple(ast.PropertyMatch(name(each), ONE, HERE) for each in properties)
    assert clause_of(f"$f: Film {braces}") == ast.Binding(name("f"), name("Film"), matches, HERE)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"x"', X),
        ("1", ONE),
        ("1.5", ast.FloatLiteral(1.5, HERE)),
        ("true", ast.BoolLiteral(True, HERE)),
        ("false", ast.BoolLiteral(False, HERE)),
        ('date("x")', ast.DateLiteral("x", HERE)),
        ('datetime("x")', ast.DateTimeLiteral("x", HERE)),
        ("[]", ast.ListLiteral((), HERE)),
        ('[1, "x", [1]]', ast.ListLiteral((ONE, X, ast.ListLiteral((ONE,), HERE)), HERE)),
        ("$x", ast.Variable("x", HERE)),
        ("now()", ast.Now(HERE)),
    ],
)
def test_value_is_a_literal_a_variable_or_now(text: str, value: ast.Value):
    binding = clause_of(f"$f: Film {{ a: {text} }}")
    assert isinstance(binding, ast.Binding)
    assert binding.matches[0].value == value
    insert = statement_of(f"insert Film {{ a: {text} }}")
    assert isinstance(insert, ast.Insert)
    assert insert.assignments[0].value == value
    delete = statement_of(f"delete Film where a = {text}")
    assert isinstance(delete, ast.Delete)
    assert delete.predicate.value == value
    assert expression_of(text) == value


@pytest.mark.parametrize(
    ("text", "edge_variable", "is_undirected", "hops"),
    [
        ("$a follows $b", None, False, None),
        ("$a $e:follows $b", "e", False, None),
        ("$a $e : follows $b", "e", False, None),
        ("$a <follows> $b", None, True, None),
        ("$a < follows > $b", None, True, None),
        ("$a $e:<follows> $b", "e", True, None),
        ("$a follows{1,3} $b", None, False, (1, 3)),
        ("$a follows { 2 , } $b", None, False, (2, None)),
        ("$a <follows>{0,0} $b", None, True, (0, 0)),
        ("$a $e:follows{1,1} $b", "e", False, (1, 1)),
    ],
)
def test_traversal_with_edge_variable_direction_and_hops(text, edge_variable, is_undirected, hops):
    assert clause_of(text) == ast.Traversal(
        name("a"),
        name(edge_variable) if edge_variable else None,
        name("follows"),
        is_undirected,
        ast.Hops(*hops, HERE) if hops else None,
        name("b"),
        HERE,
    )


def test_anonymous_variable_can_be_an_end_of_a_traversal():
    traversal = clause_of("$p rented $_")
    assert isinstance(traversal, ast.Traversal)
    assert traversal.right.text == ast.ANONYMOUS


@pytest.mark.parametrize("operator", list(Operator))
def test_op_compares_two_expressions(operator: Operator):
    assert clause_of(f"$f.x {operator} 1") == ast.Filter(access("f", "x"), operator, ONE, HERE)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("$f.x = 1", access("f", "x")),
        ("$f = 1", variable("f")),
        ("word = 1", ast.Identifier("word", HERE)),
        ('"x" = 1', X),
        ("now() = 1", ast.Now(HERE)),
        ("[1] = 1", ast.ListLiteral((ONE,), HERE)),
        ("count($f) = 1", ast.Aggregate(AggregateFunction.COUNT, variable("f"), HERE)),
    ],
)
def test_filter_starts_with_any_expression(text: str, left: ast.Expression):
    assert clause_of(text) == ast.Filter(left, Operator.EQ, ONE, HERE)


@pytest.mark.parametrize("function", [TextFunction.SEARCH, TextFunction.FUZZY, TextFunction.MATCH_TEXT])
def test_textclause_is_a_text_call_without_an_operator(function: TextFunction):
    call = ast.TextCall(function, access("f", "x"), X, None, HERE)
    assert clause_of(f'{function}($f.x, "x")') == ast.TextClause(call, HERE)
    assert clause_of(f'{function}($f.x, "x") = true') == ast.Filter(
        call, Operator.EQ, ast.BoolLiteral(True, HERE), HERE
    )


@pytest.mark.parametrize("text", ["$a, $b", "$a $b", "$a, $b,", "$a\n$b\n"])
def test_projection_commas_are_optional(text: str):
    projections = read_of(f"match {{ $f: Film }} return {{ {text} }}").projections
    assert projections == (ast.Projection(variable("a"), None, HERE), ast.Projection(variable("b"), None, HERE))


def test_projection_alias_is_any_ident():
    projections = read_of("match { $f: Film } return { $f.x as total $f as as, count($f) as count }").projections
    assert [each.alias.text for each in projections if each.alias] == ["total", "as", "count"]


@pytest.mark.parametrize(
    ("text", "is_descending"),
    [("$f.x", False), ("$f.x asc", False), ("$f.x desc", True), ('bm25($f.x, "x") desc', True)],
)
def test_ordering_is_ascending_unless_desc_is_said(text: str, is_descending: bool):
    (ordering,) = read_of(f"match {{ $f: Film }} return {{ $f }} order {{ {text} }}").orderings
    assert ordering.is_descending is is_descending


def test_orderings_are_separated_by_commas():
    orderings = read_of('match { $f: Film } return { $f } order { nearest($f.v, "x"), n desc, $f.x }').orderings
    assert [each.is_descending for each in orderings] == [False, True, False]
    assert [type(each.expression) for each in orderings] == [ast.Nearest, ast.Identifier, ast.PropertyAccess]


# ── expressions ──

NEAREST = ast.Nearest(name("f"), name("v"), X, HERE)
BM25 = ast.TextCall(TextFunction.BM25, access("f", "t"), X, None, HERE)


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("now()", ast.Now(HERE)),
        ('nearest($f.v, "x")', NEAREST),
        ('search($f.t, "x")', ast.TextCall(TextFunction.SEARCH, access("f", "t"), X, None, HERE)),
        ('fuzzy($f.t, "x")', ast.TextCall(TextFunction.FUZZY, access("f", "t"), X, None, HERE)),
        ('fuzzy($f.t, "x", 1)', ast.TextCall(TextFunction.FUZZY, access("f", "t"), X, ONE, HERE)),
        ('match_text($f.t, "x")', ast.TextCall(TextFunction.MATCH_TEXT, access("f", "t"), X, None, HERE)),
        ('bm25($f.t, "x")', BM25),
        ('rrf(nearest($f.v, "x"), bm25($f.t, "x"))', ast.Rrf(NEAREST, BM25, None, HERE)),
        ('rrf(bm25($f.t, "x"), bm25($f.t, "x"), 1)', ast.Rrf(BM25, BM25, ONE, HERE)),
        ("count($f)", ast.Aggregate(AggregateFunction.COUNT, variable("f"), HERE)),
        ("sum($f.x)", ast.Aggregate(AggregateFunction.SUM, access("f", "x"), HERE)),
        ("avg($f.x)", ast.Aggregate(AggregateFunction.AVG, access("f", "x"), HERE)),
        ("min($f.x)", ast.Aggregate(AggregateFunction.MIN, access("f", "x"), HERE)),
        ("max(now())", ast.Aggregate(AggregateFunction.MAX, ast.Now(HERE), HERE)),
        ("$f.x", access("f", "x")),
        ("$f . x", access("f", "x")),
        ("$f", variable("f")),
        ("word", ast.Identifier("word", HERE)),
    ],
)  # fmt: skip
def test_expr(text: str, expression: ast.Expression):
    assert expression_of(text) == expression


# ── changing ──


def test_mutation_holds_statements_one_after_the_other():
    body = query_of('query q() { insert A { x: 1 } update B set { x: 1 } where y = "x" delete C where z != 1 }').body
    assert body == ast.Mutation(
        (
            ast.Insert(name("A"), (ast.Assignment(name("x"), ONE, HERE),), HERE),
            ast.Update(
                name("B"),
                (ast.Assignment(name("x"), ONE, HERE),),
                ast.Predicate(name("y"), Operator.EQ, X, HERE),
                HERE,
            ),
            ast.Delete(name("C"), ast.Predicate(name("z"), Operator.NE, ONE, HERE), HERE),
        ),
        HERE,
    )


@pytest.mark.parametrize("text", ["a: 1, b: 1", "a: 1 b: 1", "a: 1, b: 1,", "a:1b:1"])
def test_assign_commas_are_optional(text: str):
    insert = statement_of(f"insert A {{ {text} }}")
    assert isinstance(insert, ast.Insert)
    assert [each.property.text for each in insert.assignments] == ["a", "b"]


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
def test_pred_is_one_of_six_comparisons(operator: str):
    delete = statement_of(f"delete A where x {operator} 1")
    assert isinstance(delete, ast.Delete)
    assert delete.predicate == ast.Predicate(name("x"), Operator(operator), ONE, HERE)


# ── what real graphs use most ──


def test_18_a_later_binding_and_filters_may_stand_between_traversals():
    clauses = read_of(
        """match {
            $p: Person { slug: $slug }
            $p worksAt $o
            $o: Org { type: "partner-1on1" }
            $o.date >= date("2024-05-01")
            $t treats $o
        } return { $p.slug, $o.slug }"""
    ).clauses
    assert [type(each).__name__ for each in clauses] == ["Binding", "Traversal", "Binding", "Filter", "Traversal"]


def test_18_the_same_property_of_two_variables_can_be_returned():
    projections = read_of("match { $a knows $b } return { $a.slug, $b.slug }").projections
    assert [each.expression for each in projections] == [access("a", "slug"), access("b", "slug")]


def test_18_comments_and_strings_may_hold_any_characters():
    text = '// größte Filme 映画\nquery q() { /* 🎬 } */ match { $f: Film { name: "Ærø 映画" } } return { $f } }'
    (binding,) = query_of(text).body.clauses
    assert binding.matches[0].value == ast.StringLiteral("Ærø 映画", HERE)
