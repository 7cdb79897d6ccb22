"""Keeps secrets out of the logs of the libraries below: at level DEBUG botocore writes out all that it sends.

Secrets that the options give are known by value. Those that the libraries fetch on their own, from a profile or a role,
are known by the name of the header or field that carries them.
"""

from __future__ import annotations

import logging
import re
from typing import Final

_LOGGERS: Final = (
    "botocore.auth", "botocore.endpoint", "botocore.httpsession", "botocore.parsers", "botocore.retries",
    "botocore.utils", "botocore.credentials", "botocore.client", "aiobotocore.endpoint", "aiobotocore.httpsession",
    "aiobotocore.credentials", "aiobotocore.utils", "s3fs",
)  # fmt: skip
_SHOWN_INSTEAD: Final = "(secret)"

# As a header in a mapping ('Authorization': b'...'), in a canonical request (x-amz-security-token:...), as a parameter
# of a URL, and as a field of an answer that hands out credentials, in XML or JSON.
_NAMED: Final = re.compile(
    r"""(?ix)
    ( \b(?:x-amz-security-token|authorization|x-amz-s3session-token) ["']? \s* [:=] \s*
    | \b(?:SecretAccessKey|SessionToken|Token) (?: \\?["'] \s* : \s* | > )
    )
    (?: b?'[^']*' | b?"[^"]*" | \\"[^"]*" | [^\s&<>,}'"][^\r\n&<>}]* )
    """
)


class _Redaction(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self.secrets: frozenset[str] = frozenset()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        shown = _NAMED.sub(rf"\1{_SHOWN_INSTEAD}", message)
        for secret in self.secrets:
            shown = shown.replace(secret, _SHOWN_INSTEAD)
        if shown != message:
            record.msg, record.args = shown, ()
        return True


_redaction: Final = _Redaction()


def keep_out_of_logs(*secrets: str | None) -> None:
    """From now on, and for the life of the process, neither these texts nor fetched credentials are logged below."""
    _redaction.secrets |= {secret for secret in secrets if secret}
    for name in _LOGGERS:
        # Adding a filter that is there already does nothing.
        logging.getLogger(name).addFilter(_redaction)
