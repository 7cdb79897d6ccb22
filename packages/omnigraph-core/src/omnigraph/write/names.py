"""Names that are kept with a commit: of actors and of loads."""

from __future__ import annotations

from omnigraph.errors import InvalidInputError
from omnigraph.history.ref_names import is_unicode


def check_name(name: object, what: str) -> None:
    """Raise unless a name can be kept with a commit.

    Raises:
        InvalidInputError: it cannot.
    """
    if name is not None and (not isinstance(name, str) or not name or not is_unicode(name)):
        raise InvalidInputError(f"{name!r} is no {what}.", help="Give a text that is not empty, or leave it out.")
