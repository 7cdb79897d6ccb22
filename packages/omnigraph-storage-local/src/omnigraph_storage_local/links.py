"""Does a directory take hard links? Lance's commits on a local file system need ``link(2)``; ours do not.

The answer is a proof or nothing: REFUSED only when the probe itself was refused by the file system. Whatever else
goes wrong, such as a missing directory or one that may not be written to, leaves the question open, so that the
real obstacle is reported by the operation that meets it.
"""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from enum import Enum
from typing import Final

_REFUSALS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


class LinkSupport(Enum):
    """What the probe showed."""

    WORKS = "works"
    REFUSED = "refused"
    INCONCLUSIVE = "inconclusive"


def probe_hard_links(directory: str) -> LinkSupport:
    """Make a file and a link to it, and remove both. Never raises for what the file system does."""
    original = os.path.join(directory, f"link-probe#{secrets.randbits(60)}")
    link = os.path.join(directory, f"link-probe#{secrets.randbits(60)}")
    try:
        os.close(os.open(original, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return LinkSupport.INCONCLUSIVE
    try:
        os.link(original, link)
    except OSError as error:
        return LinkSupport.REFUSED if error.errno in _REFUSALS else LinkSupport.INCONCLUSIVE
    finally:
        for path in (link, original):
            with suppress(OSError):
                os.unlink(path)
    return LinkSupport.WORKS


def deepest_existing(path: str) -> str:
    """The path itself or the nearest ancestor that is there."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path
