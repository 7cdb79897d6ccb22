"""The plugin: what it declares, and that declaring costs no import of the adapter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from omnigraph.plugins import open_adapter
from omnigraph.storage import Capability
from omnigraph_storage_local import plugin
from omnigraph_storage_local.adapter import LocalAdapter


def test_the_plugin_declares_one_backend_for_files():
    (backend,) = plugin.omnigraph_storage_backends()
    assert (backend.name, backend.schemes, backend.lance_scheme) == ("local", ("file",), "file")
    assert backend.spi_version == 1
    assert backend.capabilities == {
        Capability.WRITE_IF_MATCH,
        Capability.ATOMIC_RENAME,
        Capability.SHARED_BETWEEN_PROCESSES,
    }


def test_listing_the_plugin_imports_neither_the_adapter_nor_its_locks():
    program = (
        "import sys, omnigraph_storage_local.plugin as plugin\n"
        "list(plugin.omnigraph_storage_backends())\n"
        "print(sorted(name for name in sys.modules if name.startswith('omnigraph_storage_local')))"
    )
    printed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == "['omnigraph_storage_local', 'omnigraph_storage_local.plugin']"


def test_a_path_and_its_file_uri_open_the_same_place(root: Path):
    by_path = open_adapter(root)
    assert isinstance(by_path, LocalAdapter)
    by_path.write(by_path.key("a"), b"1")
    by_uri = open_adapter(root.as_uri())
    assert by_uri.read(by_uri.key("a")) == b"1"
