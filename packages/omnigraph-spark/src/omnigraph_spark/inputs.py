"""What a user gives to ``load`` becomes frames by type, and ranges of text.

{"Person": DataFrame}                 a frame of Spark's
{"Person": "people.parquet"}          Parquet, read by Spark
"seed.jsonl", ["a.jsonl", "b/"]       records of all types, read by tasks of ours, range by range
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from omnigraph.errors import InvalidInputError
from omnigraph_spark.text_ranges import TextRange, is_text, list_texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMS: Final = (
    'Give DataFrames or Parquet by type, such as {"Person": df, "Knows": "knows.parquet"}; or JSONL files of records, '
    'such as "seed.jsonl" or ["a.jsonl", "more/"].'
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TypedInput:
    """Rows of one type."""

    type_name: str
    frame: DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class TextInput:
    """Records of any types, in ranges by ascending place."""

    ranges: tuple[TextRange, ...]


def sort_inputs(spark: SparkSession, data: Any) -> list[TypedInput] | TextInput:
    """What was given.

    Raises:
        InvalidInputError: it is nothing that can be loaded, or a file is not there.
    """
    if isinstance(data, Mapping):
        return [TypedInput(type_name=name, frame=_frame(spark, name, given)) for name, given in data.items()]
    if _is_path(data):
        data = [data]
    if isinstance(data, Sequence) and data and all(_is_path(each) for each in data):
        return TextInput(ranges=tuple(list_texts(data)))
    raise InvalidInputError(f"A value of type {type(data).__name__} cannot be loaded.", help=_FORMS)


def _frame(spark: SparkSession, name: str, given: Any) -> DataFrame:
    if callable(getattr(given, "mapInArrow", None)):
        frame: DataFrame = given
        return frame
    paths = [os.fspath(each) for each in ([given] if _is_path(given) else given) if _is_path(each)]
    if not paths:
        raise InvalidInputError(f"What is given for {name} is a {type(given).__name__}.", help=_FORMS)
    for each in paths:
        if not _is_parquet(each):
            help = "Records of all types: pass the file without a type." if is_text(each) else _FORMS
            raise InvalidInputError(f"{each} of {name} is no Parquet.", help=help)
    return spark.read.parquet(*paths)


def _is_path(given: Any) -> bool:
    return isinstance(given, str | os.PathLike)


def _is_parquet(path: str) -> bool:
    if "://" not in path and Path(path).is_dir():
        return any(Path(path).rglob("*.parquet"))
    return path.lower().endswith(".parquet")
