"""The pytest plugin: a clause runs as written, or its deviation is declared."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

STORE = """
    import pytest
    from omnigraph.storage import parse_uri
    from omnigraph.storage.memory import MemoryAdapter
    from omnigraph.testing import WriteIfMatchContract

    class Store:
        capabilities = frozenset()

        @pytest.fixture
        def adapter(self, request):
            return MemoryAdapter(parse_uri(f"memory://guard-{request.node.name[:40]}"))
"""

CLAUSE = "test_a_missing_object_is_not_created"


@pytest.fixture
def run(tmp_path: Path):
    """Run pytest on a module in a process of its own; the exit code and everything printed."""

    def run_module(body: str) -> tuple[int, str]:
        module = tmp_path / "test_author.py"
        module.write_text(textwrap.dedent(STORE) + textwrap.dedent(body), encoding="utf-8")
        # The plugin of hypothesis takes longer to import than the whole run.
        without = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *without, "--strict-markers", str(module)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return run_module


def test_a_backend_that_keeps_the_contract_passes(run):
    code, printed = run("class TestStore(Store, WriteIfMatchContract): pass")
    assert code == 0, printed
    assert "8 passed" in printed


def test_the_author_is_told_to_give_the_adapter_fixture(run):
    code, printed = run("class TestStore(WriteIfMatchContract): capabilities = frozenset()")
    assert code != 0
    assert "gives no `adapter` fixture" in printed


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (f"def {CLAUSE}(self, adapter): assert True", "overrides a clause"),
        (f"{CLAUSE} = None", "removes a clause"),
        (f"def {CLAUSE}(self, adapter): pytest.skip('later')", "overrides a clause"),
        ("__test__ = False", "__test__ may not be set"),
        ("__omnigraph_contract__ = False", "__omnigraph_contract__ may not be set"),
        ("def race(self, adapter, contest): pass", "race may not be set"),
        (f"__module__ = 'omnigraph.testing.storage_contract'; {CLAUSE} = None", "removes a clause"),
    ],
    ids=["override", "none", "override-that-skips", "uncollected", "unflagged", "race", "faked-module"],
)
def test_a_hollowed_out_clause_is_a_usage_error(run, body: str, complaint: str):
    code, printed = run(f"class TestStore(Store, WriteIfMatchContract):\n    {body}")
    assert code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED), printed
    assert complaint in printed
    assert "deviates" in printed


def test_a_mixin_cannot_hollow_out_a_clause_either(run):
    code, printed = run(
        f"""
        class Mixin:
            def {CLAUSE}(self, adapter): pass

        class TestStore(Mixin, Store, WriteIfMatchContract): pass
        """
    )
    assert code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED), printed
    assert "overrides a clause" in printed


@pytest.mark.parametrize(
    "body",
    [
        "@pytest.mark.skip\nclass TestStore(Store, WriteIfMatchContract): pass",
        "pytestmark = pytest.mark.skip\nclass TestStore(Store, WriteIfMatchContract): pass",
        "@pytest.mark.xfail\nclass TestStore(Store, WriteIfMatchContract): pass",
        "@pytest.mark.skipif(True, reason='x')\nclass TestStore(Store, WriteIfMatchContract): pass",
    ],
    ids=["class-skip", "module-skip", "class-xfail", "class-skipif"],
)
def test_a_mark_that_hides_clauses_is_a_usage_error(run, body: str):
    code, printed = run(body)
    assert code == pytest.ExitCode.USAGE_ERROR, printed
    assert "may only deviate" in printed


@pytest.mark.parametrize(
    "evasion",
    [
        'pytest.skip("no server today")',
        'pytest.xfail("flaky")',
        'request.node.add_marker(pytest.mark.xfail(reason="flaky")); raise OSError',
    ],
    ids=["skip", "xfail", "mark"],
)
def test_a_skip_inside_a_fixture_of_a_clause_is_a_failure(run, evasion: str):
    code, printed = run(
        f"""
        class TestStore(WriteIfMatchContract):
            capabilities = frozenset()

            @pytest.fixture
            def adapter(self, request):
                {evasion}
        """
    )
    assert code == pytest.ExitCode.TESTS_FAILED, printed
    assert "may not be skipped" in printed or "OSError" in printed


DEVIATION = """
    class TestStore(Store, WriteIfMatchContract):
        @pytest.mark.deviates({arguments})
        def test_a_missing_object_is_not_created(self, adapter):
            {body}
"""


def test_a_declared_deviation_that_fails_as_declared_is_expected(run):
    code, printed = run(DEVIATION.format(arguments='"cannot do it", raises=KeyError', body="raise KeyError"))
    assert code == 0, printed
    assert "1 xfailed" in printed


def test_a_deviation_that_is_mended_must_be_removed(run):
    code, printed = run(DEVIATION.format(arguments='"cannot do it", raises=KeyError', body="pass"))
    assert code == pytest.ExitCode.TESTS_FAILED, printed
    assert "XPASS(strict)" in printed


def test_a_deviation_that_fails_otherwise_is_a_failure(run):
    code, printed = run(DEVIATION.format(arguments='"cannot do it", raises=KeyError', body="raise OSError"))
    assert code == pytest.ExitCode.TESTS_FAILED, printed


@pytest.mark.parametrize(
    "arguments", ["", '"reason only"', "raises=KeyError", '"  ", raises=KeyError', '"x", raises=3']
)
def test_a_deviation_without_reason_or_error_is_a_usage_error(run, arguments: str):
    code, printed = run(DEVIATION.format(arguments=arguments, body="raise KeyError"))
    assert code == pytest.ExitCode.USAGE_ERROR, printed
    assert "says why and what it raises" in printed


@pytest.mark.parametrize("size", ["race_rounds = 0", "race_writers = 1"])
def test_a_race_of_nobody_is_a_failure(run, size: str):
    code, printed = run(
        f"""
        from omnigraph.testing import StorageRaceContract

        class TestStore(Store, StorageRaceContract):
            {size}
        """
    )
    assert code == pytest.ExitCode.TESTS_FAILED, printed
    assert "a race needs" in printed


def test_a_declared_capability_without_its_contract_class_is_a_failure(run):
    code, printed = run(
        """
        from omnigraph.storage import Capability
        from omnigraph.testing import StorageAdapterContract

        class TestStore(Store, StorageAdapterContract):
            capabilities = frozenset({Capability.WRITE_IF_MATCH, Capability.ATOMIC_RENAME})

        class TestSwap(Store, WriteIfMatchContract): pass
        """
    )
    assert code == pytest.ExitCode.TESTS_FAILED, printed
    assert "no contract class for ['atomic_rename', 'races', 'races of write_if_match']" in printed
    assert "1 failed" in printed


def test_tests_that_are_no_clauses_are_left_alone(run):
    code, printed = run(
        """
        class TestOther:
            @pytest.mark.skip(reason="free to")
            def test_one(self): pass

            @pytest.mark.xfail(strict=True)
            def test_two(self): assert False
        """
    )
    assert code == 0, printed
    assert "1 skipped, 1 xfailed" in printed
