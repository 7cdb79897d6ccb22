"""From a snapshot to rows, and from rows to what a user wants to hold."""

from __future__ import annotations
