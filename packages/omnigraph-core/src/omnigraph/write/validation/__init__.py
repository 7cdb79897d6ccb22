"""Whether rows may become a commit: the rules of the schema, judged as sets."""

from __future__ import annotations

from omnigraph.write.validation.changes import validate_changes

__all__ = ["validate_changes"]
