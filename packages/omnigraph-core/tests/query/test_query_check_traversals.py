"""Traversals: section 8.4 of the language, codes T4, T5, T15 (hop bounds), T22 and T23."""

from __future__ import annotations

import pytest

from omnigraph.lang import Code
from omnigraph.query.checked import BoundVariable, Direction, Traversal

FORWARD, BACKWARD, UNDIRECTED = Direction.FORWARD, Direction.BACKWARD, Direction.UNDIRECTED


@pytest.fixture
def traversed(accept):
    """The last clause of a match block, and the types of its variables."""

    def check(clauses: str) -> tuple[Traversal, dict[str, str]]:
        query = accept(f'match {{ {clauses} }} return {{ "x" }}')
        traversal = query.clauses[-1]
        assert isinstance(traversal, Traversal)
        return traversal, {name: variable.type_name for name, variable in query.variables.items()}

    return check


# ── which edge ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("word", ["rented", "rEnted", "rentED"])
def test_an_edge_is_found_whatever_the_case_of_its_letters(traversed, word):
    traversal, _ = traversed(f"$p {word} $f")
    assert traversal.edge == "Rented"


def test_t4_an_unknown_edge_is_refused_with_a_guess(refuse):
    (found,) = refuse('match { $p «rentd» $f } return { "x" }', Code.T4)
    assert found.message == 'there is no edge "rentd"'
    assert found.label == 'did you mean "rented"?'
    assert found.help == "Edges: directed, follows, made, rented, review"


# ── directions ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("clauses", "direction", "types"),
    [
        ("$p: Person  $p rented $f", FORWARD, {"p": "Person", "f": "Film"}),
        ("$f: Film  $f rented $p", BACKWARD, {"f": "Film", "p": "Person"}),
        ("$f: Film  $p rented $f", FORWARD, {"f": "Film", "p": "Person"}),
        ("$p: Person  $f rented $p", BACKWARD, {"p": "Person", "f": "Film"}),
        ("$p rented $f", FORWARD, {"p": "Person", "f": "Film"}),
        ("$p: Person  $f: Film  $f rented $p", BACKWARD, {"p": "Person", "f": "Film"}),
        ("$a: Person  $a follows $b", FORWARD, {"a": "Person", "b": "Person"}),
        ("$b: Person  $a follows $b", FORWARD, {"b": "Person", "a": "Person"}),
        ("$a follows $a", FORWARD, {"a": "Person"}),
        ("$a <follows> $b", UNDIRECTED, {"a": "Person", "b": "Person"}),
    ],
    ids=[
        "the left side is bound to the source",
        "the left side is bound to the target: flipped",
        "the right side is bound to the target",
        "the right side is bound to the source: flipped",
        "nothing is bound: as written",
        "both are bound: flipped by type",
        "one type, the left side is bound: left is the source",
        "one type, the right side is bound: left is the source",
        "an edge to itself",
        "undirected",
    ],
)
def test_the_types_of_the_ends_settle_the_direction(traversed, clauses, direction, types):
    traversal, variables = traversed(clauses)
    assert traversal.direction is direction
    assert variables == types
    assert (traversal.left_type, traversal.right_type) == (
        variables[traversal.left],
        variables[traversal.right],
    )


def test_the_anonymous_variable_gets_no_type_and_never_binds(traversed):
    traversal, variables = traversed("$f: Film  $f rented $_")
    assert variables == {"f": "Film"}
    assert (traversal.right, traversal.right_type, traversal.direction) == ("_", "Person", BACKWARD)


def test_two_anonymous_variables_are_two_nodes(traversed):
    traversal, variables = traversed("$_ rented $_")
    assert variables == {}
    assert (traversal.left_type, traversal.right_type) == ("Person", "Film")


@pytest.mark.parametrize(
    "clauses",
    [
        "$s: Studio  «$s» rented $f",
        "$s: Studio  $p rented «$s»",
        "$s: Studio  $f: Film  «$s» rented $f",
        "$f: Film  $g: Film  $f rented «$g»",
        "$p: Person  $q: Person  $p rented «$q»",
        "$p: Person  $s: Studio  $p rented «$s»",
        "$p rented «$p»",
        "$f: Film  «$f» follows $q",
    ],
)
def test_t5_an_end_of_another_type_is_refused(refuse, clauses):
    (found,) = refuse(f'match {{ {clauses} }} return {{ "x" }}', Code.T5)
    assert "goes from Person to" in found.label


def test_t5_two_wrong_ends_are_two_mistakes(refuse):
    refuse('match { $s: Studio  $t: Seat  «$s» rented «$t» } return { "x" }', Code.T5, Code.T5)


def test_t5_names_the_edges_of_the_type(refuse):
    (found,) = refuse('match { $s: Studio  «$s» rented $f } return { "x" }', Code.T5)
    assert found.message == "$s is Studio, which this edge does not connect"
    assert found.label == "Rented goes from Person to Film"
    assert found.help == "Edges of Studio: made"


# ── hop bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_hop_bounds_are_kept(traversed):
    traversal, _ = traversed("$a follows{2,5} $b")
    assert (traversal.minimum_hops, traversal.maximum_hops, traversal.has_bounds) == (2, 5, True)


def test_without_hop_bounds_there_is_one_hop(traversed):
    traversal, _ = traversed("$a follows $b")
    assert (traversal.minimum_hops, traversal.maximum_hops, traversal.has_bounds) == (1, 1, False)


def test_hop_bounds_are_legal_between_different_types(traversed):
    traversal, _ = traversed("$p rented{2,3} $f")
    assert (traversal.minimum_hops, traversal.maximum_hops) == (2, 3)


@pytest.mark.parametrize("bounds", ["{0,3}", "{0,0}"])
def test_t15_a_hop_minimum_of_0_is_refused(refuse, bounds):
    refuse(f'match {{ $a follows«{bounds}» $b }} return {{ "x" }}', Code.T15)


def test_t15_a_hop_maximum_below_the_minimum_is_refused(refuse):
    (found,) = refuse('match { $a follows«{3,2}» $b } return { "x" }', Code.T15)
    assert found.help == "Write {2,3}."


def test_t15_an_open_hop_maximum_is_refused(refuse):
    refuse('match { $a follows«{1,}» $b } return { "x" }', Code.T15)


def test_t15_bounds_are_judged_although_the_edge_is_unknown(refuse):
    refuse('match { $a «folows»«{0,1}» $b } return { "x" }', Code.T4, Code.T15)


# ── undirected ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_t22_an_edge_between_different_types_cannot_be_undirected(refuse):
    (found,) = refuse('match { $p <«rented»> $f } return { "x" }', Code.T22)
    assert "Rented goes from Person to Film" in found.message


# ── edge bindings ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_edge_can_be_bound(accept):
    query = accept("match { $p $r:rented $f } return { $r.on }")
    assert query.variables["r"] == BoundVariable("r", "Rented", is_edge=True)
    assert query.clauses[0].edge_variable == "r"
    assert query.projections[0].expression.is_edge


def test_an_undirected_edge_can_be_bound(traversed):
    traversal, _ = traversed("$a $e:<follows> $b")
    assert traversal.edge_variable == "e"


def test_an_anonymous_edge_binding_is_none(traversed):
    traversal, variables = traversed("$a $_:follows $b")
    assert traversal.edge_variable is None
    assert set(variables) == {"a", "b"}


def test_an_anonymous_edge_binding_may_have_hop_bounds(traversed):
    traversal, _ = traversed("$a $_:follows{1,2} $b")
    assert traversal.maximum_hops == 2


def test_t23_an_edge_with_hop_bounds_cannot_be_bound(refuse):
    refuse("match { $a «$e»:follows{1,2} $b } return { $e.since }", Code.T23)


def test_t23_an_edge_binding_needs_a_name_that_is_not_used(refuse):
    refuse('match { $w: Person  $a «$w»:follows $b } return { "x" }', Code.T23)
    refuse('match { $a $w:follows $b  $b «$w»:follows $c } return { "x" }', Code.T23)


@pytest.mark.parametrize("clause", ["$a «$a»:follows $b", "$a «$b»:follows $b"])
def test_t23_an_edge_binding_cannot_have_the_name_of_an_end(refuse, clause):
    refuse(f'match {{ {clause} }} return {{ "x" }}', Code.T23)


@pytest.mark.parametrize("returned", ["«$e»", "count(«$e»)"])
def test_t23_an_edge_binding_cannot_be_returned_bare(refuse, returned):
    (found,) = refuse(f"match {{ $a $e:follows $b }} return {{ {returned} }}", Code.T23)
    assert found.help == "Use one of its properties: $e.since"


def test_t23_an_edge_binding_cannot_be_compared_bare(refuse):
    refuse('match { $a $e:follows $b  «$e» = "x" } return { $a }', Code.T23)


@pytest.mark.parametrize("clause", ["«$e» follows $c", "$c follows «$e»"])
def test_t23_an_edge_binding_cannot_be_an_end(refuse, clause):
    refuse(f'match {{ $a $e:follows $b  {clause} }} return {{ "x" }}', Code.T23)


@pytest.mark.parametrize("call", ['search(«$r».note, "x")', 'fuzzy(«$r».note, "x")', 'match_text(«$r».note, "x")'])
def test_t23_an_edge_binding_cannot_be_searched(refuse, call):
    refuse(f'match {{ $p $r:rented $f  {call} }} return {{ "x" }}', Code.T23)


@pytest.mark.parametrize("call", ['bm25(«$r».note, "x")', 'nearest(«$r».note, "x")'])
def test_t23_an_edge_binding_cannot_be_ranked(refuse, call):
    refuse(f'match {{ $p $r:rented $f }} return {{ "x" }} order {{ {call} }} limit 3', Code.T23)


def test_t23_an_edge_binding_cannot_be_bound_to_a_node(refuse):
    refuse('match { $p $r:rented $f  «$r»: Person } return { "x" }', Code.T23)


def test_t24_a_blob_of_an_edge_cannot_be_read(refuse):
    refuse("match { $p $r:rented $f } return { $r.«slip» }", Code.T24)
