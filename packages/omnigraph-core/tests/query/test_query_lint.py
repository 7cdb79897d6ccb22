"""Lint: two files in, everything that is wrong or suspicious out, in the form that tools rely on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from omnigraph.errors import CompileError
from omnigraph.lang import SourceText
from omnigraph.query import compile_queries
from omnigraph.query.lint import LintReport, lint
from omnigraph.schema import compile_schema

SCHEMA = """\
node Film {
    code: String @key
    title: String
    stars: F32?
    plot: String?
    plotVec: Vector(4)? @embed("plot")
}
node Person { handle: String @key  mail: String? }
edge Rented: Person -> Film
"""
READ = "query titles() { match { $f: Film } return { $f.title } }\n"
UPDATE = "query rename($c: String, $t: String) { update Film set { title: $t } where code = $c }\n"


def linted(queries: str | None = None, schema: str = SCHEMA) -> LintReport:
    return lint(SourceText.of(schema, "library.pg"), None if queries is None else SourceText.of(queries, "films.gq"))


def found(report: LintReport) -> list[tuple[str, str, int, int]]:
    """Code, file, line and column of everything that was found."""
    return [(str(each.code), each.source.name, *each.position) for each in report.diagnostics]


def finding(report: LintReport) -> dict[str, Any]:
    (only,) = report.to_dict()["findings"]
    return only


# ── the report ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_sound_pair_of_files_is_ok_and_every_query_tells_its_operation() -> None:
    assert linted(READ).to_dict() == {
        "status": "ok",
        "schema_source": {"kind": "file", "path": "library.pg"},
        "query_path": "films.gq",
        "queries_processed": 1,
        "errors": 0,
        "warnings": 0,
        "infos": 0,
        "results": [
            {
                "name": "titles",
                "kind": "read",
                "status": "ok",
                "operation": {
                    "result": [{"name": "title", "kind": "string", "nullable": False}],
                    "reads": [{"kind": "node", "type_name": "Film"}],
                    "writes": [],
                },
                "diagnostics": [],
            }
        ],
        "findings": [],
    }


def test_a_schema_alone_can_be_examined() -> None:
    report = linted().to_dict()
    assert (report["status"], report["query_path"], report["queries_processed"], report["results"]) == (
        "ok",
        None,
        0,
        [],
    )


def test_l203_an_index_that_is_not_built_is_a_warning_at_its_place() -> None:
    schema = """
node Film { code: String @key  year: I32? @index  tags: [String]?  @index(year, code)  @index(tags)  @index(code) }
edge Next: Film -> Film { since: Date?  @index(dst, since)  @index(dst) }
"""
    report = linted(schema=schema)
    assert report.is_ok
    assert [(str(each.code), each.type_name, each.property) for each in report.findings] == [
        ("L203", "Film", "code, year"),
        ("L203", "Film", "tags"),
        ("L203", "Next", "dst, since"),
    ]
    assert report.findings[0].message == "@index(code, year) of Film is not built: it is on several properties"
    assert [each.span.start for each in report.diagnostics] == sorted(
        schema.index(each) for each in ("@index(year, code)", "@index(tags)", "@index(dst, since)")
    )


def test_an_empty_query_file_is_ok() -> None:
    report = linted("// nothing yet\n")
    assert (report.is_ok, report.results, report.findings) == (True, (), ())


def test_the_report_is_json() -> None:
    report = linted(READ + UPDATE + "query bad() { match { $f: Flim } return { $f } }").to_dict()
    assert json.loads(json.dumps(report)) == report


def test_results_come_in_the_order_of_the_file_with_their_kinds() -> None:
    assert [(each.name, each.kind) for each in linted(UPDATE + READ).results] == [
        ("rename", "mutation"),
        ("titles", "read"),
    ]


# ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_type_error_is_told_in_its_query_and_the_others_are_checked_all_the_same() -> None:
    report = linted("query bad() { match { $f: Film } return { $f.titel } }\n" + READ)
    facts = report.to_dict()
    bad, good = facts["results"]
    assert (facts["status"], facts["errors"], facts["queries_processed"], facts["findings"]) == ("error", 1, 2, [])
    assert (bad["name"], bad["status"], "operation" in bad) == ("bad", "error", False)
    assert bad["error"].startswith("type error: T6: ")
    assert (good["status"], "error" in good) == ("ok", False)
    assert [(each["code"], each["file"], each["line"], each["column"]) for each in bad["diagnostics"]] == [
        ("T6", "films.gq", 1, 46)
    ]


def test_all_errors_of_a_query_are_told_and_counted_and_the_first_is_its_error() -> None:
    report = linted("query bad() { match { $f: Film $p: Persn } return { $f.a, $f.b } }")
    (bad,) = report.to_dict()["results"]
    assert [each["code"] for each in bad["diagnostics"]] == ["T1", "T6", "T6"]
    assert bad["error"].startswith("type error: T1: ")
    assert report.to_dict()["errors"] == 3


def test_q000_a_query_file_that_does_not_parse_is_one_finding_with_all_syntax_errors_and_nothing_else() -> None:
    broken = "query a($c Film) { match { $f: Flim } return { $f } }\nquery b() { match { $f Film } return { $f } }\n"
    report = linted(broken)
    facts = report.to_dict()
    assert (facts["status"], facts["queries_processed"], facts["results"]) == ("error", 0, [])
    only = finding(report)
    assert (only["severity"], only["code"]) == ("error", "Q000")
    assert only["message"].startswith("parse error: ")
    lines = [each["line"] for each in only["diagnostics"]]
    assert lines == sorted(lines)
    assert set(lines) == {1, 2}
    assert {each["code"] for each in only["diagnostics"]}.isdisjoint({"T1"})
    assert facts["errors"] == len(only["diagnostics"])


def test_every_error_of_the_schema_is_a_finding_with_its_own_code_syntax_and_meaning_alike() -> None:
    schema = "node A { p: Strin\n  q: I32 }\nnode B { r: String? @key }\nedge E: B -> Nowhere\n"
    report = linted(schema=schema)
    assert found(report) == [
        ("OG-L-011", "library.pg", 1, 13),
        ("OG-S-205", "library.pg", 3, 21),
        ("OG-S-103", "library.pg", 4, 14),
    ]
    findings = report.to_dict()["findings"]
    assert sorted(each["code"] for each in findings) == ["OG-L-011", "OG-S-103", "OG-S-205"]
    assert all(len(each["diagnostics"]) == 1 for each in findings)
    assert report.to_dict()["errors"] == 3


def test_queries_are_not_blamed_for_a_schema_with_errors() -> None:
    report = linted(READ, schema="node Film { title: Strin }")
    assert {file for _, file, _, _ in found(report)} == {"library.pg"}
    assert report.to_dict()["queries_processed"] == 0


def test_syntax_errors_of_the_queries_are_told_beside_errors_of_the_schema() -> None:
    report = linted("query q( {}", schema="node Film { title: Strin }")
    assert list(dict.fromkeys(file for _, file, _, _ in found(report))) == ["library.pg", "films.gq"]


@pytest.mark.parametrize(
    ("schema", "queries"),
    [
        (SCHEMA, READ),
        (SCHEMA, READ + READ),
        (SCHEMA, 'query m() { delete Film where code = "x" }'),
        (SCHEMA, "query q() { match { $f: Flim } return { $f } }"),
        (SCHEMA, "query q("),
        ("node A { p: Strin }", READ),
        ("edge E: A -> B", ""),
    ],
)
def test_there_is_an_error_exactly_when_the_compiler_refuses(schema: str, queries: str) -> None:
    try:
        compile_queries(queries, compile_schema(schema))
    except CompileError:
        is_refused = True
    else:
        is_refused = False
    assert linted(queries, schema).is_ok is not is_refused


# ── warnings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_q001_a_second_query_of_one_name_is_a_warning_at_its_name() -> None:
    report = linted(READ + READ)
    assert found(report) == [("Q001", "films.gq", 2, 7)]
    assert report.to_dict()["status"] == "ok"
    only = finding(report)
    assert (only["severity"], only["query_names"]) == ("warning", ["titles"])
    assert report.diagnostics[0].related[0].span == (6, 12)


def test_a_third_query_of_one_name_is_reported_as_well() -> None:
    assert found(linted(READ * 3)) == [("Q001", "films.gq", 2, 7), ("Q001", "films.gq", 3, 7)]


def test_names_that_differ_in_case_are_two_names() -> None:
    assert found(linted(READ + READ.replace("titles", "tITLES"))) == []


def test_l202_a_mutation_that_declares_no_params_is_a_warning_of_its_query() -> None:
    report = linted('query clean() { delete Film where code = "x" }\n')
    assert found(report) == [("L202", "films.gq", 1, 7)]
    (result,) = report.to_dict()["results"]
    (warning,) = result["warnings"]
    assert "declares no params" in warning
    assert (result["status"], report.to_dict()["warnings"], report.to_dict()["findings"]) == ("ok", 1, [])


def test_a_read_without_parameters_and_a_mutation_with_them_are_no_warning() -> None:
    assert found(linted(READ + "query clean($c: String) { delete Film where code = $c }")) == []


def test_l201_a_nullable_property_that_no_update_sets_is_a_warning_with_its_queries() -> None:
    report = linted(UPDATE)
    findings = report.to_dict()["findings"]
    assert [(each["code"], each["type_name"], each["property"], each["query_names"]) for each in findings] == [
        ("L201", "Film", "plot", ["rename"]),
        ("L201", "Film", "stars", ["rename"]),
    ]
    assert found(report) == [("L201", "films.gq", 1, 1 + UPDATE.index("Film"))] * 2
    assert report.to_dict()["status"] == "ok"


def test_l201_says_nothing_of_what_some_update_of_the_file_sets() -> None:
    more = "query rate($c: String, $s: F32, $p: String) { update Film set { stars: $s, plot: $p } where code = $c }\n"
    assert found(linted(UPDATE + more)) == []


def test_l201_says_nothing_of_types_that_the_file_does_not_update() -> None:
    assert [each.type_name for each in linted(UPDATE).findings] == ["Film", "Film"]
    assert linted(READ).findings == ()


def test_l201_says_nothing_of_keys_required_properties_and_embedded_vectors() -> None:
    rate = "query rate($c: String) { update Film set { stars: 1.0 } where code = $c }\n"
    assert [each.property for each in linted(rate).findings] == ["plot"]


def test_l201_does_not_rest_on_an_update_that_is_wrong() -> None:
    report = linted("query rename($c: String) { update Film set { titel: $c } where code = $c }")
    assert [code for code, *_ in found(report)] == ["T11"]


def test_l201_takes_a_property_that_a_wrong_update_sets_as_thought_of() -> None:
    wrong = "query rate($c: String) { update Film set { stars: 1.0, titel: $c } where code = $c }\n"
    assert [each.property for each in linted(UPDATE + wrong).findings] == ["plot"]


# ── order ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_findings_are_sorted_by_severity_then_type_then_property_then_message() -> None:
    schema = SCHEMA + "node Actor { name: String @key  stage: String?  born: Date?  agent: String }\n"
    actor = "query sign($n: String) { update Actor set { agent: $n } where name = $n }\n"
    report = linted(READ + READ + UPDATE + actor, schema)
    assert [(each.code, each.type_name, each.property) for each in report.findings] == [
        ("Q001", None, None),
        ("L201", "Actor", "born"),
        ("L201", "Actor", "stage"),
        ("L201", "Film", "plot"),
        ("L201", "Film", "stars"),
    ]


def test_errors_come_before_warnings_among_the_findings() -> None:
    schema = "interface Named { name: String }  node A implements Named, Named { }\n"
    report = linted("query q(", schema).to_dict()
    assert [(each["severity"], each["code"]) for each in report["findings"]] == [
        ("error", "Q000"),
        ("warning", "OG-S-111"),
    ]


def test_diagnostics_come_file_by_file_in_the_order_of_the_text() -> None:
    places = found(linted('query z() { delete Film where code = "x" }\n' + UPDATE + READ + READ))
    assert places == sorted(places, key=lambda place: place[2:])
    assert [code for code, *_ in places] == ["L202", "L201", "L201", "Q001"]
