"""From the text of a query to a plan, remembered.

A compiler belongs to one catalog, so a plan is known by its text and the name of the query in it. Answering from memory
costs about as much as a look-up in a dictionary: the cache is the one that Python has in C, bound to the instance, with
no frame of ours around it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from omnigraph.lang.source import SourceText
from omnigraph.plan.explain import explain
from omnigraph.plan.ir import Plan
from omnigraph.plan.lower import lower_query
from omnigraph.plan.rules import optimize
from omnigraph.query import compile_query
from omnigraph.schema import compile_schema
from omnigraph.schema.catalog import Catalog

DEFAULT_MAX_PLANS: Final = 1024


class Compiler:
    """Compiles queries against one catalog and keeps the plans that were asked for last.

    Attributes:
        plan: ``plan(text)`` is the plan of the only query of a text, ``plan(text, name)`` that of the query of this
            name. Only this query is checked, but the whole text must be readable. What is wrong is raised as a
            CompileError and not remembered. A name that is given by keyword is remembered apart from one by position.
    """

    plan: Callable[..., Plan]

    def __init__(self, catalog: Catalog, *, max_plans: int = DEFAULT_MAX_PLANS) -> None:
        def plan(source: SourceText | str, name: str | None = None) -> Plan:
            return optimize(lower_query(compile_query(source, catalog, name), catalog), catalog)

        self.catalog = catalog
        self.plan = lru_cache(maxsize=max_plans)(plan)

    def explain(self, source: SourceText | str, name: str | None = None) -> str:
        """The plan of a query, readable."""
        return explain(self.plan(source, name))


def explain_query(source: SourceText | str, schema: Catalog | SourceText | str, *, name: str | None = None) -> str:
    """The plan of a query as text: one operator per line, what it reads from below it and further in.

    Args:
        source: the text of one query, or of several.
        schema: what the query is checked against, as text or compiled.
        name: which query of the text; can be left out when there is one only.

    Raises:
        CompileError: with everything that is wrong with the schema or with the query.
    """
    catalog = schema if isinstance(schema, Catalog) else compile_schema(schema)
    return Compiler(catalog).explain(source, name)
