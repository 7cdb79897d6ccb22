"""Spans of OpenTelemetry, where its API is installed; nothing where it is not.

    with span("omnigraph.query", query="top_genres") as note:
        ...
        note(rows=12)

Whether anything is recorded is the business of the application, which configures an exporter or does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

Note = Callable[..., None]


@contextmanager
def span(name: str, **attributes: Any) -> Iterator[Note]:
    """One span around a block; an error that leaves the block is recorded on it."""
    tracer = _tracer()
    if tracer is None:
        yield _ignore
        return
    with tracer.start_as_current_span(name) as current:

        def note(**facts: Any) -> None:
            for key, value in facts.items():
                if value is not None:
                    current.set_attribute(f"omnigraph.{key}", value)

        note(**attributes)
        yield note


@cache
def _tracer() -> Any:
    try:
        return import_module("opentelemetry.trace").get_tracer("omnigraph")
    except ImportError:
        return None


def _ignore(**_: Any) -> None:
    """No span, no note."""
