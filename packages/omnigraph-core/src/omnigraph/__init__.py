"""OmniGraph: a typed property graph on Lance, versioned and branched like Git.

This module is the front door: what stands here is for everybody, and is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.plan.compiler import explain_query as explain

__version__ = "0.1.0"
__all__ = ["__version__", "explain"]

_HOME = {"explain": ("omnigraph.plan.compiler", "explain_query")}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = home
    return getattr(importlib.import_module(module), attribute)
