"""Rewrites that make a plan cheaper and never change its rows; one per module, applied in this order.

Conditions go down first, because the choice of roots looks at them; columns are pruned last, when every condition has
found its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from omnigraph.cancellation import check_cancelled
from omnigraph.plan.ir import Plan, ReadPlan
from omnigraph.plan.rules.choose_roots import choose_roots
from omnigraph.plan.rules.join_components import join_components
from omnigraph.plan.rules.prune_columns import prune_columns
from omnigraph.plan.rules.push_filters import push_filters
from omnigraph.schema.catalog import Catalog

__all__ = ["RULES", "Rule", "choose_roots", "join_components", "optimize", "prune_columns", "push_filters"]

Rule = Callable[[ReadPlan, Catalog], ReadPlan]

RULES: Final[tuple[Rule, ...]] = (push_filters, choose_roots, join_components, prune_columns)


def optimize(plan: Plan, catalog: Catalog) -> Plan:
    """The plan after every rule. A mutation is done as it is written."""
    if isinstance(plan, ReadPlan):
        for rule in RULES:
            check_cancelled()
            plan = rule(plan, catalog)
    return plan
