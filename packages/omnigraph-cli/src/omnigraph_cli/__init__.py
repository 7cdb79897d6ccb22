"""The omnigraph command: verbs in ``commands``, what they print in ``output``, the way in and out in ``main``."""

from __future__ import annotations
