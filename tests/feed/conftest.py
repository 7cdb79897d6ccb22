"""Where the feed meets a disk: graphs and consumers are those of the tests of core."""

from __future__ import annotations

import sys
from pathlib import Path

_CORE = Path(__file__).parents[2] / "packages" / "omnigraph-core" / "tests"
for _folder in ("engine", "write"):
    sys.path.append(str(_CORE / _folder))
