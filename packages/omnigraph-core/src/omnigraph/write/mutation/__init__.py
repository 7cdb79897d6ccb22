"""From the plan of a mutation to a change set: what each statement does to the rows that it finds."""

from __future__ import annotations

from omnigraph.write.mutation.statements import BoundMutation, bind_mutation
from omnigraph.write.mutation.working import Outcome, run_statements

__all__ = ["BoundMutation", "Outcome", "bind_mutation", "run_statements"]
