"""How much one call of the change feed gives, and goes through, by default and at most."""

from __future__ import annotations

from typing import Final

from omnigraph.errors import InvalidInputError

DEFAULT_CHANGES: Final = 1_000
MAX_CHANGES: Final = 8_192
DEFAULT_BYTES: Final = 4 << 20
MAX_BYTES: Final = 32 << 20
DEFAULT_COMMITS: Final = 128
MAX_COMMITS: Final = 512
MAX_SPAN: Final = 1_000_000
"""Of commits whose rows others read."""


def check_bound(name: str, given: object, most: int) -> int:
    """A bound that a caller gave.

    Raises:
        InvalidInputError: it is no number from 1 up to ``most``.
    """
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= most:
        raise InvalidInputError(
            f"{name} is {given!r}.", help=f"Give a number from 1 to {most:,}.", details={"bound": name, "most": most}
        )
    return given
