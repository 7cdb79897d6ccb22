"""Merging branches: what one of them changed since they parted is done to the other, as one commit with two parents.

    heads ── base ──> differences of both ── row by row ──> changes and conflicts ── judged ──> staged ── publish
"""

from __future__ import annotations

from omnigraph.write.merge.merging import MergeRequest, merge_branch
from omnigraph.write.merge.result import MergeResult

__all__ = ["MergeRequest", "MergeResult", "merge_branch"]
