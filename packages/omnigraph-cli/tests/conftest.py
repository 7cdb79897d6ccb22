"""The command as people run it: a process of its own, with a clean environment and plugins made for the test."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sysconfig
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PATIENCE_SECONDS = 60
# A shell starts what runs in its background with SIGINT ignored, and whatever that starts ignores it too.
signal.signal(signal.SIGINT, signal.default_int_handler)

_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Command:
    """Runs ``omnigraph`` with the plugins that the test wrote."""

    plugin_path: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    executable: str = str(Path(sysconfig.get_path("scripts")) / "omnigraph")

    def settings(self, **environment: str) -> dict[str, Any]:
        """Arguments for ``subprocess``, which decide what the process sees of this one."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        return {"env": kept | {"PYTHONPATH": str(self.plugin_path)} | dict(self.environment) | environment}

    def __call__(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.executable, *words],
            **self.settings(**environment),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )

    def start(self, *words: str, stdout: Any, stderr: Any, **environment: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([self.executable, *words], **self.settings(**environment), stdout=stdout, stderr=stderr)

    def on_terminal(self, *words: str, stream: str, **environment: str) -> tuple[str, str]:
        """What the command writes to the stream when that is a terminal, and what it writes to the other one."""
        terminal, its_end = pty.openpty()
        other = "stderr" if stream == "stdout" else "stdout"
        streams = {stream: its_end, other: subprocess.PIPE}
        with self.start(*words, **streams, **({"TERM": "xterm-256color"} | environment)) as process:
            os.close(its_end)
            seen = b""
            # A terminal whose other end was closed answers with an error, not with an empty read.
            with contextlib.suppress(OSError):
                while piece := os.read(terminal, 65536):
                    seen += piece
            rest = getattr(process, other).read()
            process.wait(PATIENCE_SECONDS)
        os.close(terminal)
        return seen.decode(), rest.decode()


@pytest.fixture(autouse=True)
def _no_wish_for_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    """For commands run inside this process: the shell's own wishes about colour are not the test's."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def plugin_path(tmp_path: Path) -> Path:
    path = tmp_path / "plugins"
    path.mkdir()
    return path


@pytest.fixture
def omnigraph(plugin_path: Path) -> Command:
    return Command(plugin_path)


@pytest.fixture
def install(plugin_path: Path) -> Callable[..., None]:
    """Install a plugin of one module, as a distribution that only the commands of this test see."""

    def install_plugin(name: str, source: str, *, distribution: str | None = None, version: str = "1.2.3") -> None:
        project = distribution or f"omnigraph-storage-{name}"
        module = project.replace("-", "_")
        (plugin_path / f"{module}.py").write_text(textwrap.dedent(source))
        metadata = plugin_path / f"{module}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n")
        (metadata / "entry_points.txt").write_text(f"[omnigraph]\n{name} = {module}\n")

    return install_plugin


@pytest.fixture
def install_vault(install: Callable[..., None]) -> Callable[[str], None]:
    """Install ``vault://``: the in-memory backend with a secret option and the given methods."""

    def install_methods(methods: str) -> None:
        source = textwrap.dedent(
            """
            import os, threading, time
            from omnigraph.errors import StorageCondition, StorageError
            from omnigraph.plugins import hookimpl
            from omnigraph.storage import StorageBackend, StorageOption
            from omnigraph.storage.memory import MemoryAdapter

            @hookimpl
            def omnigraph_storage_backends():
                yield StorageBackend(
                    name="vault",
                    schemes=("vault",),
                    adapter="omnigraph_storage_vault:VaultAdapter",
                    lance_scheme="shared-memory",
                    spi_version=1,
                    options=(
                        StorageOption(name="region", help="Where it is.", environment=("VAULT_REGION",)),
                        StorageOption(name="token", help="Opens it.", environment=("VAULT_TOKEN",), is_secret=True),
                    ),
                )

            class VaultAdapter(MemoryAdapter):
            """
        )
        install("vault", source + textwrap.indent(textwrap.dedent(methods), "    "))

    return install_methods
