"""Who may touch Lance: outside ``omnigraph.tables`` nobody, inside it exactly the modules that are listed here.

A call that writes or commits is a durable effect, so each is counted by file: a new one is an edit of this list, which
a reviewer sees. Calls that move a table's newest version by themselves are listed nowhere, and so allowed nowhere.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for path in ROOT.glob("packages/*/src/**/*.py"))
TABLES = ROOT / "packages/omnigraph-core/src/omnigraph/tables"

# Names that only Lance has. Whoever says one of them means Lance.
LANCE_NAMES = frozenset({
    "LanceDataset", "LanceFragment", "LanceOperation", "LanceFileReader", "write_dataset", "write_fragments",
    "merge_insert", "execute_uncommitted", "create_index", "create_scalar_index", "create_index_uncommitted",
    "merge_existing_index_segments", "commit_existing_index_segments", "merge_index_metadata", "drop_index",
    "optimize_indices", "compact_files", "Compaction", "cleanup_old_versions", "create_branch", "checkout_version",
    "checkout_latest", "add_columns", "alter_columns", "update_columns", "truncate_table",
    "delete_rows", "commit_batch", "commit_transaction", "replace_schema", "update_config", "delete_config_keys",
    "replace_field_metadata", "update_schema_metadata", "update_field_metadata",
    "migrate_manifest_paths_v2", "shallow_clone", "deep_clone", "add_bases",
})  # fmt: skip

# Names that others have too; they count when they are called on what can only be a dataset or a fragment of Lance.
SHARED_NAMES = frozenset({
    "commit", "insert", "delete", "update", "merge", "restore", "optimize", "drop", "dataset", "tags", "branches",
    "replace_schema_metadata", "drop_columns",
})  # fmt: skip
LANCE_RECEIVERS = frozenset({"lance", "LanceDataset", "dataset", "ds", "_ds", "fragment"})

# What the table layer itself may do: name → file → how often. Everything else above is allowed nowhere.
ALLOWED = {
    "lance.dataset": {"opening.py": 1, "probe.py": 1},
    "write_dataset": {"probe.py": 1},
    "write_fragments": {"log.py": 2, "probe.py": 1, "written.py": 1},
    "merge_insert": {"merging.py": 1},
    "execute_uncommitted": {"merging.py": 1},
    "delete_rows": {"deleting.py": 1},
    "create_index_uncommitted": {"indexing.py": 1},
    "merge_existing_index_segments": {"indexing.py": 1},
    "create_branch": {"forking.py": 1},
    "dataset.branches": {"forking.py": 1},
    "LanceDataset.commit": {"committing.py": 4, "log.py": 2, "probe.py": 1, "recovering.py": 1},
    "LanceDataset.drop": {"probe.py": 1},
}

# Types that are named in annotations and imports, not calls with an effect.
INERT = frozenset({"LanceDataset", "LanceFragment", "LanceOperation", "LanceFileReader"})


def last_name(node: ast.AST) -> str | None:
    """The identifier that an expression ends in: ``dataset`` of ``self.base.dataset``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    return last_name(node.func) if isinstance(node, ast.Call) else None


def imports_of_lance(tree: ast.AST) -> list[int]:
    """The lines that import lance, in whichever way."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Call) and last_name(node.func) in ("import_module", "__import__"):
            names = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        else:
            continue
        if any(name.partition(".")[0] in ("lance", "pylance") for name in names):
            lines.append(node.lineno)
    return lines


def uses_of_lance(tree: ast.AST) -> Counter[str]:
    """How often each name of Lance is reached for; imports are not counted."""
    uses: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            receiver = last_name(node.value)
            if node.attr in LANCE_NAMES:
                uses[node.attr] += 1
            elif node.attr in SHARED_NAMES and receiver in LANCE_RECEIVERS:
                uses[f"{receiver}.{node.attr}"] += 1
        elif isinstance(node, ast.Name) and node.id in LANCE_NAMES:
            uses[node.id] += 1
        elif isinstance(node, ast.Call) and last_name(node.func) == "getattr":
            uses.update(
                each.value for each in node.args if isinstance(each, ast.Constant) and each.value in LANCE_NAMES
            )
    return uses


def parse(path: Path) -> ast.AST:
    return ast.parse(path.read_text("utf-8"), str(path))


OUTSIDE = [path for path in SOURCES if not path.is_relative_to(TABLES)]


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path.relative_to(ROOT / "packages").as_posix())
def test_nobody_outside_the_table_layer_reaches_for_lance(path: Path):
    tree = parse(path)
    assert imports_of_lance(tree) == []
    assert uses_of_lance(tree) == {}


@pytest.mark.parametrize("path", sorted(TABLES.glob("*.py")), ids=lambda path: path.name)
def test_inside_the_table_layer_each_effect_is_where_the_list_says(path: Path):
    found = {name: count for name, count in uses_of_lance(parse(path)).items() if name not in INERT}
    assert found == {name: files[path.name] for name, files in ALLOWED.items() if path.name in files}


def test_the_list_names_only_files_that_exist():
    assert {name for files in ALLOWED.values() for name in files} <= {path.name for path in TABLES.glob("*.py")}


def test_there_is_something_to_look_at():
    assert len(OUTSIDE) > 50
    assert TABLES / "interface.py" in SOURCES


@pytest.mark.parametrize(
    "line",
    [
        "import lance",
        "import lance.fragment as f",
        "from lance import LanceDataset as D",
        "from lance.fragment import write_fragments",
        "def late():\n    from lance import dataset",
        "importlib.import_module('lance.dataset')",
        "__import__('lance')",
    ],
)
def test_a_planted_import_is_found(line: str):
    assert imports_of_lance(ast.parse(line))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("handle.dataset.merge_insert('id')", "merge_insert"),
        ("self.ds.delete('a = 1')", "ds.delete"),
        ("handle.dataset.update({'a': '1'})", "dataset.update"),
        ("handle.dataset.restore()", "dataset.restore"),
        ("handle.dataset.drop_columns(['a'])", "dataset.drop_columns"),
        ("LanceDataset.commit(base, op)", "LanceDataset.commit"),
        ("D = lance.LanceDataset", "LanceDataset"),
        ("lance.dataset(uri)", "lance.dataset"),
        ("handle.dataset.optimize.compact_files()", "compact_files"),
        ("snapshot.dataset.optimize.optimize_indices()", "dataset.optimize"),
        ("x.create_scalar_index('id', 'BTREE')", "create_scalar_index"),
        ("write = module.write_dataset", "write_dataset"),
        ("getattr(x, 'merge_insert')('id')", "merge_insert"),
        ("x.cleanup_old_versions()", "cleanup_old_versions"),
        ("handle.dataset.tags.create('t', 1)", "dataset.tags"),
    ],
)
def test_a_planted_call_is_found(line: str, name: str):
    assert name in uses_of_lance(ast.parse(line))


@pytest.mark.parametrize(
    "line",
    [
        "adapter.delete(key)",
        "rows.update(more)",
        "items.insert(0, x)",
        "graph.maintain.optimize()",
        "tables.drop('x')",
        "rows.drop_columns(['x'])",
    ],
)
def test_the_same_words_elsewhere_are_free(line: str):
    assert uses_of_lance(ast.parse(line)) == {}
