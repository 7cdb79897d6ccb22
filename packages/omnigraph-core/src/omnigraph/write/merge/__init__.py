"""Merging branches: what one of them changed since they parted is done to the other, as one commit with two parents.

    heads ── base ──> differences of both ── row by row ──> changes and conflicts ── judged ──> staged ── publish

Conflicts are told all at once, and nothing is published while there is one.
"""

from __future__ import annotations

from omnigraph.write.merge.merging import MergeRequest, merge_branch, plan_merge
from omnigraph.write.merge.result import MergeResult
from omnigraph.write.merge.strategies import Strategy

__all__ = ["MergeRequest", "MergeResult", "Strategy", "merge_branch", "plan_merge"]
