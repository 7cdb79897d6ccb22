"""What verbs print: a result dataclass, turned into text or into JSON."""

from __future__ import annotations
