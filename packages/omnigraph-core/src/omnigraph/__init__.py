"""OmniGraph: a typed property graph on Lance, versioned and branched like Git."""

from __future__ import annotations

__version__ = "0.1.0"
