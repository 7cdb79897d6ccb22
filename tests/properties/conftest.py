"""What the random tests share: modules found by name, and an embedder that needs no network."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# Test modules are imported by path; what several of them use has to be found by name.
sys.path.append(str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def mock_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
