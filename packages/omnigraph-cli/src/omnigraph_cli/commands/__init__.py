"""The verbs, one file each. A module here imports what describes its verb; the verb imports what does the work."""

from __future__ import annotations
