"""``CliVerb``: the record by which a plugin offers a verb of the command line. It describes; it does not act."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from omnigraph.errors import InvalidInputError

SPI_VERSION: Final = 1
"""Version of ``CliVerb`` and of ``omnigraph_cli.verbs``, what a verb may use of the command line. It changes when a
working verb would have to change."""

_NAME = re.compile(r"[a-z][a-z0-9-]*\Z")
_COMMAND = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class CliVerb:
    """One verb of the command line, declared.

    Attributes:
        name: the word after ``omnigraph``; lower-case letters, digits and dashes. A verb that is built in stays.
        command: ``"module:attribute"`` of a click command or group, imported when the verb is asked for and not before,
            so that the plugin need not depend on the command line, and ``omnigraph --help`` stays fast.
        help: what ``omnigraph --help`` says of it, in one line.
        spi_version: the ``SPI_VERSION`` that it was written for; a plugin writes the number, not the constant.

    Raises:
        InvalidInputError: a malformed name, command or help.
    """

    name: str
    command: str
    help: str
    spi_version: int

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise self._refuse(f'the name "{self.name}" is not lower-case letters, digits and dashes')
        if not _COMMAND.match(self.command):
            raise self._refuse(f'the command "{self.command}" is not of the form "module:attribute"')
        if not self.help.strip() or "\n" in self.help:
            raise self._refuse("its help is not one line")

    def _refuse(self, why: str) -> InvalidInputError:
        return InvalidInputError(
            f'The verb "{self.name}" is not declared rightly: {why}.', help="See docs/reference/hooks.md."
        )
