"""``Settings``: what a process is told by ``OMNIGRAPH_*`` variables, read when asked and never at import."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

DISABLE_PLUGINS = "OMNIGRAPH_DISABLE_PLUGINS"
"""Comma-separated plugin names that are not loaded; ``*`` stands for every plugin that is not built in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Process-wide settings.

    Attributes:
        disabled_plugins: names from ``OMNIGRAPH_DISABLE_PLUGINS``; ``*`` for all that are not built in.
    """

    disabled_plugins: frozenset[str] = frozenset()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Settings as the variables give them.

        Example:
            >>> sorted(Settings.from_environment({"OMNIGRAPH_DISABLE_PLUGINS": "s3, local"}).disabled_plugins)
            ['local', 's3']
        """
        variables = os.environ if environment is None else environment
        names = (name.strip() for name in variables.get(DISABLE_PLUGINS, "").split(","))
        return cls(disabled_plugins=frozenset(name for name in names if name))
