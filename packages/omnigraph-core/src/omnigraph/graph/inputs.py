"""What callers hand to the verbs of a graph and can be judged before anything is done: schemas and names."""

from __future__ import annotations

import os
from pathlib import Path

from omnigraph.errors import InvalidInputError
from omnigraph.lang.decode import read_source
from omnigraph.schema import compile_schema


def read_schema(schema: str | Path) -> str:
    """The text of a schema, which compiles; so nothing was touched yet when it does not.

    Raises:
        CompileError: it does not.
        InvalidInputError: it is neither a text nor the path of a file that can be read.
    """
    if not isinstance(schema, str | os.PathLike):
        raise InvalidInputError(
            f"A {type(schema).__name__} is no schema.", help="Give the path of a .pg file, or its text."
        )
    if isinstance(schema, str) and ("\n" in schema or not schema.rstrip().endswith(".pg")):
        compile_schema(schema)
        return schema
    try:
        source = read_source(Path(schema))
    except OSError as error:
        raise InvalidInputError(
            f"The schema {schema} could not be read: {error.strerror}.",
            help="Give the path of a .pg file, or its text.",
        ) from error
    compile_schema(source)
    return source.text


def check_name(name: object, what: str) -> None:
    """Raise unless a name can be kept with a commit.

    Raises:
        InvalidInputError: it cannot.
    """
    if name is not None and (not isinstance(name, str) or not name or not _is_unicode(name)):
        raise InvalidInputError(f"{name!r} is no {what}.", help="Give a text that is not empty, or leave it out.")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
