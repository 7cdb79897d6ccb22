"""The files behind a name that a user gives, on a disk or wherever Arrow gets to, and what they hold by their names.

    people.csv  people.csv.gz  people/  people-*.csv  s3://bucket/people/

Files of a directory, and what a pattern matches, come by name. What begins with a dot or an underscore is not looked
at: Spark and Hadoop leave such files beside their parts.
"""

from __future__ import annotations

import glob
import gzip
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import pyarrow as pa
import pyarrow.fs as pafs

from omnigraph.errors import InvalidInputError, StorageCondition, StorageError
from omnigraph.storage.failures import advice_for, condition_of, describe_failure

_PACKED: Final = ".gz"
_LISTED: Final = 3


class Form(StrEnum):
    """What a file holds."""

    JSONL = "JSONL"
    CSV = "CSV"
    TSV = "TSV"
    PARQUET = "Parquet"


_FORMS: Final = {
    ".jsonl": Form.JSONL,
    ".ndjson": Form.JSONL,
    ".csv": Form.CSV,
    ".tsv": Form.TSV,
    ".parquet": Form.PARQUET,
}
_NAMES: Final = f"Give files that end in {', '.join(_FORMS)}; .gz may follow, but for Parquet"


class NoFileError(InvalidInputError):
    """Nothing is behind a name, as far as Arrow sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """Something that has a name, with its size in bytes."""

    path: str
    size: int
    is_file: bool = True


def form_of(path: str) -> Form | None:
    """What a file holds by its own name, packed or not; None when it does not say it."""
    return _FORMS.get(Path(_bare(path).lower().removesuffix(_PACKED)).suffix)


def is_packed(path: str) -> bool:
    """Whether a file has to be unpacked, so that it can be read from its beginning only."""
    return _bare(path).lower().endswith(_PACKED)


def form_behind(name: str) -> Form:
    """What the files behind a name hold: by the name itself, or by those of the files that it stands for.

    Raises:
        InvalidInputError: nobody can say, or they hold several things.
    """
    form = form_of(name)
    if form is not None:
        return form
    inside = [each for path in _names_of(name) for each in _entries(path)]
    if not inside and ("://" in name or not Path(name).is_dir()):
        raise NoFileError(f"There is no file behind {name!r}.", help=f"{_NAMES}; or a directory, or a pattern.")
    if [each.path for each in inside] == [name]:
        raise InvalidInputError(f"The name of {name} does not say what it holds.", help=f"{_NAMES}.")
    forms = {_form_inside(each) for each in inside}
    if len(forms) != 1 or None in forms or not _are_of_one_kind(inside):
        what = ", ".join(sorted(each.path for each in inside)[:_LISTED]) if inside else "nothing"
        raise InvalidInputError(
            f"What {name} holds is not of one form; there is: {what}.",
            help=f"{_NAMES}, or a directory of files that all end alike.",
            details={"path": name},
        )
    (found,) = forms
    return cast("Form", found)


def find_files(name: str, form: Form | None) -> list[FoundFile]:
    """The files behind a name.

    Args:
        name: a file, a directory or a pattern.
        form: what all of them hold; None for JSONL, whatever else there is in a directory.

    Raises:
        InvalidInputError: there is none, or one that holds something else.
    """
    found = [each for path in _names_of(name) for each in _files_at(path, form)]
    if others := [each.path for each in found if form is not None and not _is_a(form, each)]:
        raise InvalidInputError(
            f"{others[0]} is no {form} file, and all of {name} should be.", help="Give files of one form.",
            details={"path": others[0]},
        )  # fmt: skip
    if not found:
        wanted = form or Form.JSONL
        raise NoFileError(
            f"There is no {wanted} file behind {name!r}.",
            help=f"{_NAMES}; or a directory that has some, or a pattern.",
            details={"path": name},
        )
    return found


@contextmanager
def open_file(name: str) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked.

    Raises:
        InvalidInputError: it is not there, or not any more.
    """
    with open_native(name) as native:
        file: Any = io.BufferedReader(native)
        yield cast("BinaryIO", gzip.GzipFile(fileobj=file) if is_packed(name) else file)


@contextmanager
def open_native(name: str) -> Iterator[pa.NativeFile]:
    """A file as it is, in the form in which Arrow reads it.

    Raises:
        InvalidInputError: it is not there, or not any more.
        StorageError: the store says something else.
    """
    try:
        with store_errors(name):
            if "://" in name:
                system, path = _remote(name)
                file = system.open_input_file(path)
            else:
                file = pa.OSFile(name)
    except StorageError as error:
        if error.condition is not StorageCondition.NOT_FOUND:
            raise
        raise InvalidInputError(
            f"{name} cannot be read: {error.__cause__}.",
            help="The file must be there for the tasks too, under the same name.",
        ) from error
    with file:
        yield file


@contextmanager
def store_errors(name: str) -> Iterator[None]:
    """What the system or a store says about a file in the block, as an error of ours that says what it means."""
    try:
        yield
    except OSError as error:
        condition = condition_of(error)
        raise StorageError(
            f"{name} cannot be read: {describe_failure(error)}.",
            condition=condition,
            uri=name,
            help=advice_for(error, condition),
        ) from error


def refuse_secrets(name: str) -> None:
    """Raise if a URI has a user or a password in it: it would stand in messages and logs.

    Raises:
        InvalidInputError: it has.
    """
    scheme, _, rest = name.partition("://")
    before, at, place = rest.partition("/")[0].rpartition("@")
    if rest and at:
        shown = f"{scheme}://{place}{rest[len(before) + 1 + len(place) :]}"
        raise InvalidInputError(
            f"The name of {shown} has credentials before it.",
            help="Leave them out of the name, and give them to the driver and the executors by their environment.",
            details={"path": shown},
        )


def _bare(name: str) -> str:
    """A name without what a URI has behind its path."""
    return name.partition("?")[0].rstrip("/") if "://" in name else name


def is_cut_by_values(name: str) -> bool:
    """Whether a directory on a disk, or each that a pattern matches, holds directories of Parquet named by values."""
    inside = [] if "://" in name else [each for path in _names_of(name) for each in _entries(path)]
    return bool(inside) and all(not each.is_file and _form_inside(each) is Form.PARQUET for each in inside)


def _form_inside(each: FoundFile) -> Form | None:
    """What something in a directory holds; None when it is neither a file of ours nor Parquet cut by values."""
    if each.is_file:
        return form_of(each.path)
    # Directories named by the values of a column, such as year=2026; Spark knows what to make of them.
    inside = _list_directory(each.path) if "=" in Path(each.path).name and "://" not in each.path else []
    is_parquet = {_form_inside(other) for other in inside or []} == {Form.PARQUET} and _are_of_one_kind(inside or [])
    return Form.PARQUET if is_parquet else None


def _are_of_one_kind(entries: Sequence[FoundFile]) -> bool:
    """Whether all are files, or all directories: of a directory with both, Spark takes the one and drops the other."""
    return len({each.is_file for each in entries}) == 1


def _entries(path: str) -> list[FoundFile]:
    """What a directory has, or the file itself."""
    inside = _list_directory(path)
    return [FoundFile(path=path, size=0)] if inside is None else inside


def _names_of(name: str) -> list[str]:
    """A name, or what matches it as a pattern; hidden files are matched by their whole name only."""
    if "://" in name or Path(name).exists():
        return [name]
    return [each for each in sorted(glob.glob(name)) if _is_shown(Path(each).name)]


def _files_at(path: str, form: Form | None) -> list[FoundFile]:
    """The file of a name, or those in the directory; of a directory that is asked for no form, the JSONL in it."""
    inside = _list_directory(path)
    if inside is not None:
        return inside if form is not None else [each for each in inside if _is_a(Form.JSONL, each)]
    if "://" in path:
        system, place = _remote(path)
        with store_errors(path):
            info = system.get_file_info(place)
        return [FoundFile(path=path, size=info.size)] if info.type is pafs.FileType.File else []
    return [FoundFile(path=path, size=Path(path).stat().st_size)] if Path(path).is_file() else []


def _is_a(form: Form, each: FoundFile) -> bool:
    return each.is_file and form_of(each.path) is form


def _list_directory(name: str) -> list[FoundFile] | None:
    """What a directory has that is not hidden, by name; None when it is none."""
    if "://" not in name:
        if not Path(name).is_dir():
            return None
        with store_errors(name):
            children = [each for each in sorted(Path(name).iterdir()) if _is_shown(each.name)]
            return [FoundFile(path=str(each), size=each.stat().st_size, is_file=each.is_file()) for each in children]
    system, path = _remote(name)
    with store_errors(name):
        if system.get_file_info(path).type is not pafs.FileType.Directory:
            return None
        listed = sorted(system.get_file_info(pafs.FileSelector(path)), key=lambda each: str(each.base_name))
    where, question, options = name.partition("?")
    return [
        FoundFile(
            path=f"{where.rstrip('/')}/{each.base_name}{question}{options}", size=each.size or 0, is_file=each.is_file
        )
        for each in listed
        if _is_shown(each.base_name)
    ]


def _is_shown(name: str) -> bool:
    return not name.startswith((".", "_"))


def _remote(name: str) -> tuple[Any, str]:
    try:
        system, path = pafs.FileSystem.from_uri(name)
    except (pa.ArrowException, OSError) as error:
        raise NoFileError(
            f"{name!r} cannot be reached: {error}.", help="Give a path, or a URI that Arrow knows, such as s3://."
        ) from error
    return system, path
