"""Sealing: a class whose subclasses may only live in the package that defines it.

The open interface of OmniGraph is ``omnigraph.storage``. What stands on it, the table layer, keeps promises
about atomicity that no outside subclass can keep, so the interpreter refuses one.
"""

from __future__ import annotations

from typing import Any


class Sealed:
    """Mixin: subclassing outside the top-level package of the sealed class raises ``TypeError``.

    Example:
        >>> class Outside(Sealed):
        ...     __module__ = "somewhere_else"
        Traceback (most recent call last):
        ...
        TypeError: somewhere_else.Outside may not subclass omnigraph._sealed.Sealed: it is sealed to \
the package "omnigraph". Storage backends subclass omnigraph.storage.StorageAdapter instead.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        home = __name__.partition(".")[0]
        if cls.__module__.partition(".")[0] != home:
            sealed = next(base for base in cls.__bases__ if issubclass(base, Sealed))
            raise TypeError(
                f"{cls.__module__}.{cls.__qualname__} may not subclass "
                f"{sealed.__module__}.{sealed.__qualname__}: it is sealed to the package "
                f'"{home}". Storage backends subclass omnigraph.storage.StorageAdapter instead.'
            )
        super().__init_subclass__(**kwargs)
