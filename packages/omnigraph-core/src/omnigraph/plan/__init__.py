"""The plan of a query: from what it means to what is to be done."""

from __future__ import annotations

from omnigraph.plan.changes import MutationPlan
from omnigraph.plan.compiler import Compiler
from omnigraph.plan.explain import explain
from omnigraph.plan.ir import Column, Plan, ReadPlan
from omnigraph.plan.lower import lower_query
from omnigraph.plan.rules import RULES, optimize

__all__ = ["RULES", "Column", "Compiler", "MutationPlan", "Plan", "ReadPlan", "explain", "lower_query", "optimize"]
