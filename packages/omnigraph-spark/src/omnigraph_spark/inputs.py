"""What a user gives to ``load`` becomes frames by type, and ranges of files.

{"Person": DataFrame}                 a frame of Spark's
{"Person": "people.parquet"}          rows of one type, Parquet, CSV or JSONL, read by tasks of ours, range by range
"seed.jsonl", ["a.jsonl", "b/"]       records of all types, read the same way
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from omnigraph.errors import InvalidInputError
from omnigraph_spark.file_ranges import FileRange, list_ranges
from omnigraph_spark.input_files import Form, NoFileError, form_behind, is_cut_by_values, refuse_secrets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MANY_FILES: Final = 64
SMALL_BYTES: Final = 4 * 1024 * 1024
"""More files of Parquet on a disk, which are smaller on average, are left to Spark: each would be a task and a part."""

_FORMS: Final = (
    'Give DataFrames or files by type, such as {"Person": df, "Knows": "knows.parquet", "City": ["a.csv", "b.csv"]}; '
    'or JSONL files of records of all types, such as "seed.jsonl" or ["a.jsonl", "more/"].'
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TypedInput:
    """Rows of one type."""

    type_name: str
    frame: DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Everything that was given.

    Attributes:
        frames: what Spark reads.
        ranges: what tasks read by themselves, by ascending place within each file.
    """

    frames: tuple[TypedInput, ...] = ()
    ranges: tuple[FileRange, ...] = ()

    @property
    def types(self) -> list[str] | None:
        """The types that are given; None when records say them."""
        found = [*(each.type_name for each in self.frames), *(each.type_name for each in self.ranges)]
        named = [each for each in dict.fromkeys(found) if each is not None]
        return None if None in found else named


def sort_inputs(spark: SparkSession, data: Any) -> Inputs:
    """What was given.

    Raises:
        InvalidInputError: it is nothing that can be loaded, or a file is not there.
    """
    if isinstance(data, Mapping) and data:
        given = [_of_type(spark, name, each) for name, each in data.items()]
        return Inputs(
            frames=tuple(frame for each in given for frame in each.frames),
            ranges=tuple(piece for each in given for piece in each.ranges),
        )
    if _is_path(data):
        data = [data]
    if isinstance(data, Sequence) and data and all(_is_path(each) for each in data):
        for each in data:
            refuse_secrets(os.fspath(each))
        return Inputs(ranges=tuple(list_ranges(data)))
    what = f"A value of type {type(data).__name__}" if data else "Nothing was given, which"
    raise InvalidInputError(f"{what} cannot be loaded.", help=_FORMS)


def _of_type(spark: SparkSession, name: str, given: Any) -> Inputs:
    if callable(getattr(given, "mapInArrow", None)):
        return Inputs(frames=(TypedInput(type_name=name, frame=given),))
    several = [given] if _is_path(given) else given
    if isinstance(several, Sequence) and not several:
        raise InvalidInputError(f"There is nothing in the list that is given for {name}.", help=_FORMS)
    if not isinstance(several, Sequence) or not all(_is_path(each) for each in several):
        kind = f"{type(given).__module__.partition('.')[0]}.{type(given).__qualname__}".removeprefix("builtins.")
        # Of pandas, polars and Arrow, which have DataFrames and tables too.
        is_table = hasattr(given, "columns")
        raise InvalidInputError(
            f"What is given for {name} is of type {kind}.",
            help="Make a DataFrame of Spark of it: spark.createDataFrame(...)." if is_table else _FORMS,
        )
    paths = [os.fspath(each) for each in several]
    for each in paths:
        refuse_secrets(each)
    forms = {form_behind(each): each for each in paths}
    if len(forms) > 1:
        told = ", ".join(f"{path} ({form})" for form, path in forms.items())
        raise InvalidInputError(f"What is given for {name} is not of one form: {told}.", help="Give files of one form.")
    (form,) = forms
    if form is Form.PARQUET:
        return _of_parquet(spark, name, paths)
    return Inputs(ranges=tuple(list_ranges(paths, name, form)))


def _of_parquet(spark: SparkSession, name: str, paths: Sequence[str]) -> Inputs:
    """Ranges of Parquet; a frame where Spark is to read it.

    Spark knows directories that are named by values, has its own patterns, reaches places that Arrow does not, and
    reads several files in one task, where they are many and small.

    Raises:
        InvalidInputError: there is none, or something else.
        StorageError: Arrow knows the place, and the store says that something is wrong.
    """
    missing: NoFileError | None = None
    ranges: list[FileRange] = []
    if not all(is_cut_by_values(each) for each in paths):
        try:
            ranges = list_ranges(paths, name, Form.PARQUET)
        except NoFileError as error:
            missing = error
    if ranges and not _are_many_and_small(paths, ranges):
        return Inputs(ranges=tuple(ranges))
    try:
        return Inputs(frames=(TypedInput(type_name=name, frame=_read_parquet(spark, paths)),))
    except InvalidInputError as error:
        if missing is None:
            raise
        # What Arrow says of a name that neither knows is about that name alone.
        raise missing from error


def _are_many_and_small(paths: Sequence[str], ranges: Sequence[FileRange]) -> bool:
    files, size = len({each.path for each in ranges}), sum(each.end - each.start for each in ranges)
    return files > MANY_FILES and size < files * SMALL_BYTES and not any("://" in each for each in paths)


def _read_parquet(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    from pyspark.errors import PySparkException

    try:
        # Without this, Spark takes the columns of one file for those of all, and drops others in silence.
        frame = spark.read.option("mergeSchema", "true").parquet(*paths)
        # Over Connect nobody looks at the files before somebody asks.
        _ = frame.schema
    except Exception as error:
        # What is wrong with the inside of a file comes as it was raised in Java, with all of its stack.
        raised = getattr(error, "java_exception", None)
        if raised is None and not isinstance(error, PySparkException):
            raise
        told = str(error if raised is None else raised.getMessage())
        raise InvalidInputError(
            f"{', '.join(paths)} cannot be read as Parquet: {told.strip().splitlines()[0].rstrip('.')}.",
            help="The files must be there for Spark, under the same name, and hold Parquet.",
        ) from error
    return frame


def _is_path(given: Any) -> bool:
    return isinstance(given, str | os.PathLike)
