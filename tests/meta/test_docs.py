"""The docs are true: what they show is run, what they list is compared with the code, where they point is there.

```python                 run, page by page, in one namespace and an empty directory
```pycon                  run by doctest in the same namespace; "..." stands for anything
```console run            each "$ omnigraph ..." must end with code 0 and print what follows it, spacing aside
```console run=3          the same with another code, and what it writes to stderr behind the rest
                          A command may end in "> file". The page stands in a clone: it finds examples/.
```pg                     a schema that compiles; queries below it are checked against it
```gq                     queries that compile against the schema above them
```pg error=CODE,CODE     refused with exactly these codes; so ```gq error=CODE
```pg warning=CODE        compiles, and lint warns
```pg title="path"        also a file, for the commands of the page; so ```gq title="path"
```jsonl title="path"     a file for the commands of the page
```python title="path"    a file of the example backend, word for word; those below smallest/ are run by pytest
```sh, text, toml, json, ebnf   for reading

A page whose Python imports omnigraph_spark is run where Spark is installed, which is `tox run -e spark`.
"""

from __future__ import annotations

import configparser
import doctest
import errno
import functools
import importlib.util
import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import omnigraph
import omnigraph_spark
from omnigraph import (
    Branch,
    Change,
    ChangeBlock,
    ChangeCause,
    Commit,
    CommitPage,
    CopyResult,
    FeedPage,
    LoadResult,
    LostHistory,
    MaintenanceStats,
    MergeResult,
    MutationResult,
    RepairReport,
    Result,
    Tag,
    errors,
    testing,
)
from omnigraph.embedding import EmbedderProvider
from omnigraph.errors import CompileError, ErrorKind, MergeConflictKind, OmnigraphError, StorageCondition
from omnigraph.graph import Branches, Changes, Commits, Graph, Recoveries, Tags
from omnigraph.lang import Code, Diagnostic, Severity, SourceText, render
from omnigraph.lang.types import Scalar
from omnigraph.plan import RULES
from omnigraph.plugins import CliVerb, hookspecs, open_adapter
from omnigraph.query import compile_queries
from omnigraph.query.lint import lint
from omnigraph.schema import Catalog, compile_schema
from omnigraph.storage import Capability, ListBounds, StorageAdapter, StorageBackend, StorageOption
from omnigraph.storage.failures import BY_ERRNO
from omnigraph.testing import storage_contract
from omnigraph.testing.storage_contract import clauses
from omnigraph.write.records.reasons import MEANINGS
from omnigraph_cli import verbs
from omnigraph_cli.exit_codes import CODE_OF_KIND
from omnigraph_cli.main import cli
from omnigraph_spark import exporting
from omnigraph_spark.options import OPTIONS as SPARK_OPTIONS
from omnigraph_storage_s3.plugin import S3_OPTIONS

NEEDS_SPARK = pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="Spark is not installed")
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "omnigraph-storage-example"
DOCS = ROOT / "docs"
HOW_TO = DOCS / "how-to" / "write-a-storage-backend.md"
CONTRACT = DOCS / "reference" / "contract.md"
STORAGE = DOCS / "reference" / "storage.md"
PAGES = sorted([
    *ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("packages/*/README.md"), *ROOT.glob("examples/*/README.md"),
])  # fmt: skip

WRITE = "packages/omnigraph-core/src/omnigraph/write"

COMPILED = {"pg", "gq"}
LANGUAGES = {"python", "pycon", "console", "sh", "text", "toml", "json", "jsonl", "ebnf", *COMPILED}


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    words: str
    text: str

    @property
    def title(self) -> str | None:
        found = re.search(r'title="([^"]+)"', self.words)
        return found[1] if found else None

    @property
    def exit_code(self) -> int:
        """Of every command in a console block."""
        return int(self.words.partition("=")[2] or 0)

    def codes(self, severity: Severity) -> set[str]:
        """What a schema or query is refused with, or warned of."""
        found = re.search(rf"{severity}=(\S+)", self.words)
        return set(found[1].split(",")) if found else set()

    @property
    def is_run(self) -> bool:
        if self.language == "console":
            return self.words.partition("=")[0] == "run"
        if self.language == "jsonl":
            return self.title is not None
        return self.language in COMPILED or (self.language in ("python", "pycon") and self.title is None)

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@functools.cache
def split_page(page: Path) -> tuple[str, tuple[Block, ...]]:
    """A page as prose, its fenced blocks blanked out, and those blocks."""
    prose: list[str] = []
    blocks: list[Block] = []
    lines = enumerate(page.read_text("utf-8").splitlines(), 1)
    for number, line in lines:
        prose.append("" if line.startswith("```") else line)
        assert not re.match(r"\s+```", line), f"{page}:{number}: a fence starts its line"
        if line.startswith("```"):
            inside = []
            for _, code in lines:
                prose.append("")
                if code == "```":
                    break
                inside.append(code + "\n")
            else:
                raise AssertionError(f"{page}:{number}: a fence is not closed")
            language, _, words = line.removeprefix("```").partition(" ")
            blocks.append(Block(page, number, language, words, "".join(inside)))
    return "\n".join(prose), tuple(blocks)


def sections(page: Path, level: int) -> dict[str, str]:
    """The prose below each heading of one level, up to the next heading of that level."""
    parts = re.split(rf"^{'#' * level} (.+)$", split_page(page)[0], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(prose: str) -> list[list[str]]:
    """The body rows of every table, as cells."""
    found = []
    for table in re.findall(r"(?:^\|.*\|\n?)+", prose, flags=re.MULTILINE):
        found += [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().split("\n")[2:]]
    return found


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def slug(heading: str) -> str:
    """A heading's anchor, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


# ── what the docs show ───────────────────────────────────────────────────────────────────────────────────────────────


def all_blocks() -> Iterator[Block]:
    return (block for page in PAGES for block in split_page(page)[1])


def run_console(block: Block) -> None:
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
        name, *arguments = shlex.split(command)
        assert name == "omnigraph", f"{block.place}: only omnigraph is run"
        target = arguments[-1] if arguments[-2:-1] == [">"] else None
        if target is not None:
            del arguments[-2:]
        # In this process: starting one per command would take longer than all the rest.
        environment: dict[str, str | None] = {name: None for name in os.environ if name.startswith("AWS_")}
        done = CliRunner().invoke(cli, arguments, env=environment | {"NO_COLOR": "1", "COLUMNS": "200"})
        assert done.exit_code == block.exit_code, f"{block.place}: {command}\n{done.output}"
        if target is not None:
            Path(target).write_text(done.stdout, "utf-8")
        printed = ("" if target else done.stdout) + (done.stderr if done.exit_code else "")
        is_as_shown = doctest.OutputChecker().check_output(
            shown, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        )
        assert is_as_shown or not shown, f"{block.place}: {command}\nprinted\n{printed}\nand not\n{shown}"


def compile_block(block: Block, catalog: Catalog | None) -> Catalog | None:
    """Compile a schema, or queries against the schema so far; answers the schema for what follows."""
    if block.title:
        Path(block.title).write_text(block.text, "utf-8")
    source = SourceText.of(block.text, block.place)
    found: tuple[Diagnostic, ...] = ()
    try:
        if block.language == "pg":
            catalog = compile_schema(source)
            found = lint(source).diagnostics
        else:
            assert catalog is not None, f"{block.place}: no schema stands above"
            compile_queries(source, catalog)
    except CompileError as error:
        found = error.diagnostics
    for severity in Severity:
        codes = {each.code for each in found if each.severity is severity}
        assert codes == block.codes(severity), f"{block.place}: {severity}\n{render(found)}"
    return catalog


def run_python(block: Block, namespace: dict[str, Any]) -> None:
    # Blank lines in front, so that a traceback names the line of the page.
    source = "\n" * block.line + block.text
    exec(compile(source, block.page, "exec", dont_inherit=True), namespace)


def run_pycon(block: Block, namespace: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, namespace, block.place, str(block.page), block.line)
    assert test.examples, f"{block.place}: no prompt"
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append, clear_globs=False)
    assert not report, "".join(report)
    namespace.update(test.globs)


def uses_spark(page: Path) -> bool:
    return any(block.is_run and "import omnigraph_spark" in block.text for block in split_page(page)[1])


def page_to_run(page: Path) -> Any:
    """A page as a parameter, skipped where it needs Spark and there is none."""
    return pytest.param(page, id=page.name, marks=[NEEDS_SPARK] if uses_spark(page) else [])


@pytest.fixture
def workplace(page: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that a page is run in. Java stays in the one that it was started in, so that pages with Spark share
    one, which each of them finds empty."""
    if not uses_spark(page):
        return tmp_path
    shared = tmp_path_factory.getbasetemp() / "spark-pages"
    shared.mkdir(exist_ok=True)
    for each in shared.iterdir():
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each)
        else:
            each.unlink()
    return shared


@pytest.mark.parametrize(
    "page", [page_to_run(page) for page in PAGES if any(block.is_run for block in split_page(page)[1])]
)
def test_the_code_of_a_page_runs(page: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(workplace)
    (workplace / "examples").symlink_to(ROOT / "examples")
    namespace: dict[str, Any] = {"__name__": "__page__"}
    catalog: Catalog | None = None
    for block in split_page(page)[1]:
        if not block.is_run:
            continue
        if block.language in COMPILED:
            catalog = compile_block(block, catalog)
        elif block.language == "console":
            run_console(block)
        elif block.language == "jsonl":
            Path(block.title or "").write_text(block.text, "utf-8")
        elif block.language == "pycon":
            run_pycon(block, namespace)
        else:
            run_python(block, namespace)


def test_every_block_names_a_language_that_this_module_knows():
    assert [block.place for block in all_blocks() if block.language not in LANGUAGES] == []


def test_the_how_to_holds_every_file_of_the_example_word_for_word():
    titled = [block for block in split_page(HOW_TO)[1] if block.title and block not in smallest_files()]
    shown = {block.title: block.text for block in titled}
    files = [EXAMPLE / "pyproject.toml", *EXAMPLE.glob("src/**/*.py"), *EXAMPLE.glob("tests/*.py")]
    assert shown == {file.relative_to(EXAMPLE).as_posix(): file.read_text("utf-8") for file in files}


def smallest_files() -> list[Block]:
    return [block for block in all_blocks() if block.title and block.title.startswith("smallest/")]


def test_the_smallest_backend_keeps_the_contract_as_shown(tmp_path: Path):
    for block in smallest_files():
        assert block.title
        file = tmp_path / block.title
        file.parent.mkdir(exist_ok=True)
        file.write_text(block.text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-W", "error", "-p", "no:cacheprovider", tmp_path],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for clause in (
        "test_tiny.py::TestTiny::test_of_many_creators",
        "test_deviation.py::TestSmall::test_of_many_creators",
    ):
        assert re.search(rf"{clause}\w+.* PASSED", done.stdout), clause
    assert re.search(r"\b1 xfailed\b", done.stdout), "the deviation shows"


def test_the_smallest_backend_has_no_more_than_the_page_says():
    (adapter,) = (block.text for block in smallest_files() if "(StorageAdapter):" in block.text)
    assert set(re.findall(r"    def (\w+)", adapter)) == StorageAdapter.__abstractmethods__ | {"lance_location"}
    assert "capabilities" not in adapter


def test_the_commands_of_the_readme_are_in_its_first_screen():
    first_screen = "\n".join((ROOT / "README.md").read_text("utf-8").splitlines()[:24])
    assert "python -m pip install tox && tox run -e demo\n" in first_screen
    assert "python -m pip install tox && tox run\n" in first_screen


# ── what the docs list ───────────────────────────────────────────────────────────────────────────────────────────────


def test_every_hook_is_documented_with_its_exact_arguments():
    hooks = {
        f"`{name}({', '.join(inspect.signature(function).parameters)})`"
        for name, function in inspect.getmembers(hookspecs, inspect.isfunction)
        if hasattr(function, f"{hookspecs.PROJECT}_spec")
    }
    assert hooks
    assert set(sections(DOCS / "reference" / "hooks.md", 2)) == hooks


@pytest.mark.parametrize("record", [StorageBackend, StorageOption, EmbedderProvider, CliVerb])
def test_every_field_of_a_record_is_explained(record: type):
    listed = rows(sections(DOCS / "reference" / "hooks.md", 3)[f"Fields of `{record.__name__}`"])
    assert sorted(quoted(row[0])[0] for row in listed) == sorted(inspect.signature(record).parameters)


def test_everything_that_a_verb_of_a_plugin_may_use_is_explained():
    listed = rows(sections(DOCS / "reference" / "hooks.md", 3)["What a verb may use"])
    assert sorted(name for row in listed for name in quoted(row[0])) == sorted(verbs.__all__)


def test_the_arguments_of_an_export_with_spark_are_those_of_the_code():
    section = sections(DOCS / "how-to" / "export-with-spark.md", 2)["Arguments"]
    assert f"`omnigraph_spark.{called('export', exporting.export)}`" in " ".join(section.split())
    fields = {
        each for shape in (exporting.ExportResult, exporting.ExportProgress) for each in shape.__dataclass_fields__
    }
    assert fields <= set(quoted(section))


def test_every_error_kind_has_its_section_and_names_its_class():
    described = {
        name.strip("`"): body
        for name, body in sections(DOCS / "reference" / "errors.md", 2).items()
        if name.startswith("`")
    }
    assert set(described) == set(ErrorKind)
    raised = [each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, OmnigraphError)]
    for error in raised:
        if error is not OmnigraphError:
            assert f"`{error.__name__}`" in described[error.kind], error


def test_every_kind_of_merge_conflict_is_listed():
    listed = [quoted(row[0])[0] for row in rows(sections(DOCS / "reference" / "errors.md", 2)["`merge_conflict`"])]
    assert listed == list(MergeConflictKind)


def test_every_condition_is_listed_with_its_error_numbers():
    listed = {
        quoted(condition)[0]: {getattr(errno, name) for name in quoted(names)}
        for condition, _, names in rows(sections(DOCS / "reference" / "errors.md", 2)["Storage conditions"])
    }
    actual = {
        str(condition): {number for number, found in BY_ERRNO.items() if found is condition}
        for condition in StorageCondition
    }
    assert listed == actual


def test_every_error_kind_is_listed_with_its_class_and_exit_code():
    listed = [
        (quoted(kind)[0], quoted(name)[0], int(code))
        for kind, name, code in rows(split_page(DOCS / "reference" / "errors.md")[0].partition("\n## ")[0])
    ]
    classes = [each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, OmnigraphError)]
    assert sorted(listed) == sorted(
        (str(each.kind), each.__name__, int(CODE_OF_KIND[each.kind])) for each in classes if each is not OmnigraphError
    )


def test_every_diagnostic_code_is_listed_with_its_severity_and_meaning_and_no_other():
    listed = [(row[0], row[1]) for row in rows(sections(DOCS / "reference" / "errors.md", 2)["Diagnostic codes"])]
    assert listed == [
        (f"`{code}`" if code.severity is Severity.ERROR else f"`{code}` ({code.severity})", code.meaning)
        for code in Code
    ]


def test_every_diagnostic_code_is_shown_by_an_example_that_runs():
    shown = "\n".join(f"{block.words}\n{block.text}" for block in all_blocks() if block.is_run)
    hidden = [code for code in Code if not re.search(rf"\b{code}\b", shown)]
    # Bytes that are no text, too many levels and too many errors do not fit on a page; the rest is never raised.
    assert hidden == [
        Code.NOT_UTF8,
        Code.TOO_DEEP,
        Code.TOO_MANY_ERRORS,
        Code.GRAPH_DROPPED,
        Code.NODE_TYPE_DROPPED,
        Code.EDGE_TYPE_DROPPED,
        Code.PROPERTY_DROPPED,
        Code.VECTOR_PROPERTY_DROPPED,
        Code.PROPERTY_MADE_REQUIRED,
        Code.TOO_MANY_STEPS,
        Code.Q000,
    ]


def test_the_walk_through_the_compiler_names_modules_that_are_there_and_every_rule_in_its_order():
    steps, applied = sections(DOCS / "explanation" / "compiler.md", 2).values(), []
    for body in steps:
        for row in rows(body):
            for name in [each for cell in row for each in quoted(cell) if each.startswith("omnigraph.")]:
                assert importlib.util.find_spec(name), name
            applied += [each for each in quoted(row[0]) if not each.startswith("omnigraph.")]
    assert applied == [rule.__name__ for rule in RULES]


def test_every_verb_is_listed_with_its_parameters():
    listed = {}
    for row in rows(sections(STORAGE, 2)["Verbs"]):
        name, parameters = re.fullmatch(r"(\w+)\((.*)\)", quoted(row[0])[0]).groups()
        listed[name] = [each.partition("=")[0] for each in parameters.split(", ") if each]
    # How a key and its URI are made is in the section on keys.
    public = {name for name, _ in inspect.getmembers(StorageAdapter, inspect.isfunction) if not name.startswith("_")}
    assert listed == {
        name: list(inspect.signature(getattr(StorageAdapter, name)).parameters)[1:] for name in public - {"key", "uri"}
    }


def test_the_arguments_of_open_adapter_and_the_fields_of_list_bounds_are_those_of_the_code():
    (heading,) = (name for name in sections(STORAGE, 2) if name.startswith("`open_adapter"))
    signature = inspect.signature(open_adapter)
    for name, default in re.findall(r"(\w+)=([^,)]+)", heading):
        assert repr(signature.parameters[name].default) == default.replace('"', "'")
    # "plugins" is for tests of the plugin manager.
    assert set(re.findall(r"\b(\w+)(?=[,=)])", heading)) - {"None", "rw", "True"} == set(signature.parameters) - {
        "plugins"
    }
    fields = [quoted(row[0])[0] for row in rows(sections(STORAGE, 2)["`ListBounds`"])]
    assert fields == list(inspect.signature(ListBounds).parameters)


def test_every_name_of_the_front_door_is_documented():
    page = (DOCS / "reference" / "python.md").read_text("utf-8")
    listed = {name for heading in sections(DOCS / "reference" / "python.md", 2) for name in quoted(heading)}
    functions = {each.partition("(")[0] for each in documented_calls("Functions")}
    # What is passed to a callback has no section of its own.
    assert "`LoadProgress`" in page
    assert listed | functions | {"LoadProgress", "__version__"} == set(omnigraph.__all__)


def documented_calls(heading: str) -> list[str]:
    """The calls and attributes that a table of the Python page lists."""
    listed = rows(sections(DOCS / "reference" / "python.md", 2)[heading])
    return [each for row in listed for each in quoted(row[0])]


def called(name: str, function: Any) -> str:
    """A call as the page spells it: defaults in double quotes, without annotations and self."""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "self"
    ]
    return f"{name}{inspect.Signature(parameters)}".replace("'", '"')


def test_every_function_and_method_is_documented_with_its_exact_arguments():
    functions = [
        called(name, getattr(omnigraph, name)) for name in ("init", "open", "copy", "discard_sidecar", "explain")
    ]
    assert documented_calls("Functions") == functions
    assert documented_calls("`aio`") == [
        called(name, getattr(omnigraph.aio, name)) for name in ("init", "open", "copy")
    ]
    methods = [called(name, each) for name, each in inspect.getmembers(Graph, inspect.isfunction) if name[0] != "_"]
    properties = [name for name, _ in inspect.getmembers(Graph, lambda each: isinstance(each, property))]
    assert sorted(documented_calls("`Graph`")) == sorted([*methods, *properties, "actor"])
    page = " ".join((DOCS / "reference" / "python.md").read_text("utf-8").split())
    assert f"`g.{called('changes', Changes.__call__)}`" in page
    held = {"branches": Branches, "changes": Changes, "commits": Commits, "recoveries": Recoveries, "tags": Tags}
    for attribute, owner in held.items():
        for name, function in inspect.getmembers(owner, inspect.isfunction):
            assert name.startswith("_") or f"`g.{attribute}.{called(name, function)}`" in page


@pytest.mark.parametrize(
    "shape",
    [
        LoadResult,
        MaintenanceStats,
        MutationResult,
        Commit,
        Branch,
        MergeResult,
        Tag,
        Change,
        CopyResult,
        LostHistory,
        RepairReport,
    ],
)
def test_every_field_of_a_shape_is_documented(shape: type):
    fields = list(inspect.signature(shape).parameters)
    assert sorted(documented_calls(f"`{shape.__name__}`")) == sorted(fields)


def test_every_field_of_the_change_feed_is_documented():
    shapes = (FeedPage, ChangeBlock, ChangeCause, CommitPage)
    page = DOCS / "reference" / "python.md"
    section = sections(page, 2)[", ".join(f"`{each.__name__}`" for each in shapes)]
    for shape in shapes:
        (table,) = re.findall(rf"^\| field of `{shape.__name__}` (?:.*\n)+?\n", section, re.MULTILINE)
        listed = [name for row in rows(table) for name in quoted(row[0])]
        assert sorted(listed) == sorted(inspect.signature(shape).parameters)


def test_every_member_of_a_result_is_documented():
    listed = {each.rstrip("()") for each in documented_calls("`Result`")}
    public = {name for name in dir(Result) if not name.startswith("_")}
    assert public <= listed


def test_every_reason_for_which_a_record_is_refused_is_documented_with_its_meaning():
    listed = dict(row[:2] for row in rows(sections(DOCS / "how-to" / "load-data.md", 2)["What can be wrong"]))
    meanings = {f"`{reason}`": meaning for reason, meaning in MEANINGS.items()}
    assert {word: listed[word].replace("`", "") for word in meanings} == meanings
    # Rules of the schema have no registry: their words stand where they are found out.
    sources = "".join(file.read_text("utf-8") for file in (ROOT / WRITE).rglob("*.py") if "reasons" not in file.name)
    rules = set(re.findall(r'reason="(\w+)"|report\(problems, "(\w+)"|problem_at\(rows, [^,]+, "(\w+)"', sources))
    found = {f"`{word}`" for words in rules for word in words if word}
    assert listed.keys() - meanings.keys() == found


@pytest.mark.parametrize("name", [each for each in storage_contract.__all__ if each.endswith("Contract")])
def test_every_clause_of_a_contract_is_listed_and_no_other(name: str):
    listed = [quoted(row[0])[0] for row in rows(sections(CONTRACT, 3)[f"`{name}`"].partition("\n## ")[0])]
    actual = {clause for clause in dir(getattr(testing, name)) if clause.startswith("test")}
    assert sorted(listed) == sorted(actual)


def test_the_sizes_of_the_contract_are_those_of_the_code_and_of_tox():
    listed = {quoted(row[0])[0]: row[1:3] for row in rows(sections(CONTRACT, 2)["Sizes"])}
    defaults = dict(re.findall(r'environ\.get\("(\w+)", "(\d+)"\)', inspect.getsource(clauses)))
    full = dict(re.findall(r"(OMNIGRAPH_\w+) = (\d+)", tox_ini()["testenv:races"]["set_env"]))
    assert listed == {name: [default, full[name]] for name, default in defaults.items()}


def test_every_option_of_s3_is_listed_with_its_variables():
    listed = {
        quoted(row[0])[0]: tuple(quoted(row[1])) for row in rows(sections(DOCS / "how-to" / "use-s3.md", 2)["Options"])
    }
    assert listed == {option.name: option.environment for option in S3_OPTIONS}


@NEEDS_SPARK
def test_every_function_of_spark_is_documented_with_its_exact_arguments():
    page = sections(DOCS / "reference" / "spark.md", 2)
    functions = {name: getattr(omnigraph_spark, name) for name in omnigraph_spark.__all__ if name.islower()}
    calls = {f"`{called(name, each)}`" for name, each in functions.items()}
    assert calls == page.keys() - {"Errors"}
    body = "".join(page.values())
    assert {name for name in omnigraph_spark.__all__ if not name.islower()} <= set(quoted(body))


@NEEDS_SPARK
def test_every_error_that_a_function_of_spark_promises_is_documented():
    promised = {
        word
        for name in omnigraph_spark.__all__
        for word in re.findall(r"^\s+(\w+Error)\b", inspect.getdoc(getattr(omnigraph_spark, name)) or "", re.MULTILINE)
    }
    listed = {quoted(row[0])[0] for row in rows(sections(DOCS / "reference" / "spark.md", 2)["Errors"])}
    assert promised == listed


def test_every_option_of_spark_is_listed_with_its_meaning():
    body = "".join(sections(DOCS / "reference" / "spark-options.md", 2).values())
    listed = {quoted(row[0])[0]: row[1] for row in rows(body.partition("| in the graph |")[0])}
    assert listed == {option.name: option.help for option in SPARK_OPTIONS}


def test_the_page_of_spark_options_lists_the_scalars_of_the_language():
    listed = {
        word for row in rows(sections(DOCS / "reference" / "spark-options.md", 2)["Types"]) for word in quoted(row[0])
    }
    assert {word.partition("(")[0] for word in listed} == {*map(str, Scalar), "enum", "[T]"}


def test_the_how_to_lists_the_methods_and_capabilities_that_there_are():
    adapter = sections(HOW_TO, 2)["3. The adapter"]
    required, optional = (
        re.findall(r"^\| `(\w+)\(", adapter, re.MULTILINE),
        re.findall(r"^\| `(\w+)` \|", adapter, re.MULTILINE),
    )
    assert set(required) == StorageAdapter.__abstractmethods__
    assert [name for name in optional if not hasattr(StorageAdapter, name)] == []
    assert set(optional) >= {"_read_versioned", "_write_if_match", "_condition", "lance_location", "make_durable"}
    declared = rows(sections(HOW_TO, 3)["Capabilities"].partition("### Options")[0])
    assert {quoted(row[0])[0] for row in declared} == set(Capability.__members__)


def tox_ini() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "tox.ini", encoding="utf-8")
    return parser


def test_every_tox_environment_is_explained_with_where_it_runs():
    listed = {quoted(row[0])[0]: row[2] for row in rows(sections(ROOT / "CONTRIBUTING.md", 2)["Environments"])}
    tox = tox_ini()
    assert set(listed) == {name.removeprefix("testenv:") for name in tox.sections() if name.startswith("testenv:")}
    by_default = {name for name, when in listed.items() if when == "`tox run`"}
    assert by_default == {name.strip() for name in tox["tox"]["env_list"].split(",")}
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    (named,) = re.findall(r"environment: \[(.+)\]", workflow)
    assert set(named.split(", ")) == {name for name, when in listed.items() if "workflow" in when}


# ── where the docs point ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_somewhere(page: Path):
    for link in re.findall(r"\]\(([^)\s]+)\)", split_page(page)[0]):
        if re.match(r"https?://", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page}: {link}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", split_page(target)[0], flags=re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, f"{page}: {link}"


def test_every_page_is_reached_from_the_index():
    index = DOCS / "index.md"
    linked = {(DOCS / link).resolve() for link in re.findall(r"\]\(([^)#\s]+)\)", split_page(index)[0])}
    assert linked == set(DOCS.rglob("*.md")) - {index}
