"""Keeps secrets out of the logs of the libraries below: at level DEBUG botocore writes out all that it sends."""

from __future__ import annotations

import logging
from typing import Final

_LOGGERS: Final = ("botocore.auth", "botocore.endpoint", "aiobotocore.endpoint", "botocore.parsers", "s3fs")
_SHOWN_INSTEAD: Final = "(secret)"


class _Redaction(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self.secrets: frozenset[str] = frozenset()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if any(secret in message for secret in self.secrets):
            for secret in self.secrets:
                message = message.replace(secret, _SHOWN_INSTEAD)
            record.msg, record.args = message, ()
        return True


_redaction: Final = _Redaction()


def keep_out_of_logs(*secrets: str | None) -> None:
    """From now on, and for the life of the process, these texts do not appear in what the libraries log."""
    _redaction.secrets |= {secret for secret in secrets if secret}
    for name in _LOGGERS:
        # Adding a filter that is there already does nothing.
        logging.getLogger(name).addFilter(_redaction)
