"""``Trial``: one graph in memory and its model side by side; queries are put to both, and answers compared.

    Trial.load, Trial.build_indexes ── Trial.ask(question, mode) ──> AssertionError, or the rows agree

A mode says how the engine has to go about it: traversals over adjacency or by look-ups, scans of memory or of storage.
Each mode has a handle of its own on the same graph, which stays open over loads, so that what it keeps is extended.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import CompileError
from omnigraph.schema import compile_schema
from omnigraph.testing.answers import Answer, disagreement
from omnigraph.testing.model import Mode as LoadMode
from omnigraph.testing.model import ModelGraph
from omnigraph.testing.query_model import QueryModel
from omnigraph.testing.query_strategies import Question
from omnigraph.testing.strategies import SCHEMA, Record

TURNS = (
    (("auto", "auto"), ("indexed", "stored"), ("auto", "auto"), ("indexed", "memory")),
    (("csr", "memory"), ("csr", "stored"), ("csr", "memory"), ("auto", "stored")),
)
"""How traversals and scans are run, by turns; those that ask storage each time come less often."""

CACHES = (2**30, 0, *range(300, 6_000, 300))
"""Bounds of the memory: everything fits, nothing, or some columns of some types."""

MODES = tuple(dict.fromkeys((*TURNS[0], *TURNS[1])))

CATALOG = compile_schema(SCHEMA)


@dataclass
class Trial:
    """A graph and its model. ``origin`` says how to get here again; it is printed when answers differ."""

    origin: str
    patch: pytest.MonkeyPatch
    uri: str = field(default_factory=lambda: f"memory://properties-{secrets.token_hex(8)}/graph")
    history: list[str] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    _handles: dict[tuple[str, str], og.Graph] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.writer = og.init(self.uri, schema=SCHEMA)
        self.model = ModelGraph(CATALOG)
        self._asked = QueryModel(self.model)
        self.cache_bytes = Random(self.origin).choice(CACHES)

    def load(self, records: Sequence[Record], mode: LoadMode) -> None:
        self.model.load(records, mode)
        self.writer.load("\n".join(map(json.dumps, records)), mode)
        self.history += [f"load {mode}:", *(json.dumps(each, ensure_ascii=False) for each in records)]
        self.records += records
        self._asked = QueryModel(self.model)

    def build_indexes(self) -> None:
        self.writer.maintain.ensure_indices()
        self.history.append("ensure_indices")

    def ask(self, question: Question, *modes: tuple[str, str]) -> bool:
        """Put a query to both; whether it is one at all. What the model refuses, the graph refuses too."""
        try:
            answer = self._asked.answer(question.text, question.params)
        except CompileError:
            with pytest.raises(CompileError):
                self.writer.query(question.text, params=question.params)
            return False
        for mode in modes:
            try:
                result = self.handle(mode).query(question.text, params=question.params)
                wrong = disagreement(answer, result.columns, rows := result.rows())
            except Exception as error:
                error.add_note(self.told(question, mode, answer, []))
                raise
            if wrong is not None:
                pytest.fail(f"{wrong}\n{self.told(question, mode, answer, rows)}", pytrace=False)
        return True

    def handle(self, mode: tuple[str, str]) -> og.Graph:
        if mode not in self._handles:
            with self.patch.context() as patch:
                patch.setenv("OMNIGRAPH_TRAVERSAL_MODE", mode[0])
                patch.setenv("OMNIGRAPH_SCAN_MODE", mode[1])
                if mode == ("auto", "auto"):
                    # Where the engine chooses, what fits into memory is another thing in every graph.
                    patch.setenv("OMNIGRAPH_CACHE_BYTES", str(self.cache_bytes))
                self._handles[mode] = og.open(self.uri)
        return self._handles[mode]

    def told(self, question: Question, mode: tuple[str, str], answer: Answer, rows: list[dict[str, Any]]) -> str:
        parts = [
            f"── again: {self.origin}",
            "── graph:", *self.history,
            "── query:", question.text,
            f"── params: {question.params!r}",
            f"── mode: traversals {mode[0]}, scans {mode[1]}, cache {self.cache_bytes} bytes if both are auto",
            f"── expected ({'in this order' if answer.is_total else 'in any order'}, limit {answer.limit}):",
            *(repr(each) for each in answer.rows[:60]),
            "── found:", *(repr(tuple(each.values())) for each in rows[:60]),
        ]  # fmt: skip
        return "\n".join(parts)

    def close(self) -> None:
        for each in (self.writer, *self._handles.values()):
            each.close()
