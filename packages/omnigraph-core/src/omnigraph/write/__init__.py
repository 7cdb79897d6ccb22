"""From a change to a commit: validated, staged, committed table by table, published in one step."""

from __future__ import annotations
