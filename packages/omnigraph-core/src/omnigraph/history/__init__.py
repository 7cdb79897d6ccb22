"""What a graph is and was: the rows of its manifest, the snapshots they give, its commits, its schemas."""

from __future__ import annotations
