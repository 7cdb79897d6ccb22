"""``Schema``: the schema of an open graph as users ask for it."""

from __future__ import annotations

from omnigraph.history.lifetime import Lifetime
from omnigraph.history.schemas import GraphSchema


class Schema:
    """The schema of an open graph. It ends with its handle: what is asked of it afterwards is a ``ClosedError``."""

    def __init__(self, schema: GraphSchema, lifetime: Lifetime) -> None:
        self._schema = schema
        self._lifetime = lifetime

    @property
    def text(self) -> str:
        """The text as it was given."""
        self._lifetime.check()
        return self._schema.source

    @property
    def digest(self) -> str:
        """Names this schema, identities included."""
        self._lifetime.check()
        return self._schema.digest
