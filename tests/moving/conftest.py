"""What the tests of copies and moves share."""

from __future__ import annotations

import sys
from pathlib import Path

# Test modules are imported by path; what several of them use has to be found by name.
sys.path.append(str(Path(__file__).parent))
