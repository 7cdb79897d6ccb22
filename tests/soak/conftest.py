"""What the soak shares with the tests of faults: modules found by name."""

from __future__ import annotations

import sys
from pathlib import Path

# Test modules are imported by path; what several of them use has to be found by name, by writers' processes too.
sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "faults")]
