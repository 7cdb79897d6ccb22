"""What tests of the query check share: a film library, and queries in which the wrong places are marked by « and »."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from omnigraph.lang import Code, Diagnostic, Report, SourceText
from omnigraph.query.check import check_query
from omnigraph.query.checked import CheckedQuery
from omnigraph.query.parser import parse_queries
from omnigraph.schema import compile_schema
from omnigraph.schema.catalog import Catalog

LIBRARY = """
interface Titled { title: String @index }

node Film implements Titled {
    code: String @key
    genre: enum(drama, sci-fi, docu)
    tags: [String]?
    marks: [I32]?
    days: [Date]?
    seen: Bool?
    votes: I32?
    views: I64?
    seats: U32?
    gross: U64?
    stars: F32?
    rating: F64?
    released: Date?
    added: DateTime
    plot: String?
    plotVec: Vector(4)? @embed("plot", model="demo/embed")
    poster: Blob?
}
node Person { handle: String @key  mail: String?  born: Date? }
node Studio { name: String  motto: String?  face: Vector(2) @embed("motto") }
node Seat { row: I32  place: String  note: String?  @key(row, place) }
node Review { text: String }
edge Directed: Person -> Film
edge Rented: Person -> Film { on: Date?  price: F64?  note: String?  slip: Blob? }
edge Follows: Person -> Person { since: Date? }
edge Made: Studio -> Film { budget: I64 }
edge Review: Person -> Film
"""


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return compile_schema(LIBRARY)


@pytest.fixture
def accept(catalog: Catalog) -> Callable[..., CheckedQuery]:
    """Check the body of a query that must be right."""

    def check(body: str, parameters: str = "") -> CheckedQuery:
        source = SourceText.of(f"query q({parameters}) {{ {body} }}")
        (query,) = parse_queries(source).queries
        report = Report(source)
        checked = check_query(query, catalog, report)
        assert report.diagnostics == []
        assert checked is not None
        return checked

    return check


@pytest.fixture
def refuse(catalog: Catalog) -> Callable[..., tuple[Diagnostic, ...]]:
    """Check the body of a query that must be refused at the marked places, with these codes, and nowhere else."""

    def check(body: str, *codes: Code, parameters: str = "") -> tuple[Diagnostic, ...]:
        marked = f"query q({parameters}) {{ {body} }}"
        text = ""
        spans = []
        for part in re.split("([«»])", marked):
            if part == "«":
                start = len(text)
            elif part == "»":
                spans.append((start, len(text)))
            else:
                text += part
        source = SourceText.of(text)
        (query,) = parse_queries(source).queries
        report = Report(source)
        assert check_query(query, catalog, report) is None
        found = report.in_order()
        places = [f"{each.code} at {text[each.span.start : each.span.end]!r}: {each.message}" for each in found]
        assert [(each.code, tuple(each.span)) for each in found] == list(zip(codes, spans, strict=True)), places
        return found

    return check
