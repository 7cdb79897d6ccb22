"""Schemas in tests: what is refused is marked in the text itself, between « and »."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from omnigraph.errors import CompileError
from omnigraph.lang import Code, Diagnostic, SourceText
from omnigraph.schema import compile_schema

Refusal = Callable[..., Diagnostic]


def unmarked(marked: str) -> tuple[str, int, int]:
    """The text without marks, and the offsets between which they stood."""
    start, end = marked.index("«"), marked.index("»") - 1
    return marked.replace("«", "").replace("»", ""), start, end


@pytest.fixture
def refused() -> Refusal:
    """Compiles a marked schema and holds that exactly one thing is wrong: this code, at the marked words."""

    def compile_refused(marked: str, code: Code, *fragments: str) -> Diagnostic:
        text, start, end = unmarked(marked)
        with pytest.raises(CompileError) as caught:
            compile_schema(SourceText.of(text, "test.pg"))
        found = [
            (each.code, text[each.span.start : each.span.end], each.span.start) for each in caught.value.diagnostics
        ]
        assert found == [(code, text[start:end], start)]
        only = caught.value.diagnostics[0]
        for fragment in fragments:
            assert fragment in f"{only.message}\n{only.label}\n{only.help}"
        return only

    return compile_refused
