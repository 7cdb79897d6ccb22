"""What the verbs on schemas and queries found, as results that can be printed.

The facts are the compiler's own; here they only get the members that a command line adds, such as the files it was
given. Text and JSON are made from the same facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.lang import Diagnostic
    from omnigraph.query.lint import LintReport
    from omnigraph.schema.steps import MigrationPlan


@dataclass(frozen=True, slots=True)
class LintResult:
    """The findings on a schema and a query file."""

    report: LintReport

    def to_dict(self) -> dict[str, Any]:
        return self.report.to_dict()


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationResult:
    """The steps from one schema file to another.

    Attributes:
        diagnostics: warnings about the schema that is wanted.
    """

    accepted_path: str
    desired_path: str
    plan: MigrationPlan
    diagnostics: tuple[Diagnostic, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        facts = self.plan.to_dict()
        return {
            "from": self.accepted_path,
            "schema": self.desired_path,
            "supported": facts["supported"],
            "step_count": len(facts["steps"]),
            "steps": facts["steps"],
            "diagnostics": [each.to_dict() for each in self.diagnostics],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainResult:
    """The plan of a query."""

    query_path: str
    query_name: str
    plan: str

    def to_dict(self) -> dict[str, Any]:
        return {"query_path": self.query_path, "query_name": self.query_name, "plan": self.plan.splitlines()}
