"""Schemas as callers hand them to ``init``, judged before anything is done."""

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
