"""Dates and points in time: text to numbers and back.

    Date       2024-05-01  20240501  2024-5-1  +12345-01-01  -0044-03-15, or the UTC day of a point in time
    DateTime   a date, which is its midnight, or a date, one of T, t and a blank, and a time: 10:30:00  10:30:00.250
               103000, then nothing or Z for UTC, or an offset: +02:00  +0200  +02

A Date is a count of days and a DateTime a count of milliseconds since 1970-01-01 in UTC. The calendar is the Gregorian
one, extended to all years; years reach from -262143 to 262142, which is what the engine below can compute with.
Python's own dates end at year 9999, so the arithmetic is here.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

MIN_YEAR: Final = -262_143
MAX_YEAR: Final = 262_142

_DAY_MILLISECONDS: Final = 86_400_000
_MONTHS: Final = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
                  "November", "December")  # fmt: skip
_MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LONGEST: Final = 256
"""A fraction may have any number of digits; nobody writes this many."""

_DAY_FORM: Final = "YYYY-MM-DD, such as 2024-05-01"
_TIME_FORM: Final = "YYYY-MM-DDTHH:MM:SSZ, such as 2024-05-01T10:30:00Z"

_DATE: Final = re.compile(r"([0-9]{4}|[+-][0-9]{4,})-([0-9]{1,2})-([0-9]{1,2})(?![0-9])")
_COMPACT_DATE: Final = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?![0-9])")
_TIME: Final = re.compile(
    r"[Tt ](?:([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?|([0-9]{2})([0-9]{2})([0-9]{2}))(?![0-9])"
)
_ZONE: Final = re.compile(r"[Zz]| *([+-])([0-9]{2})(?::?([0-9]{2}))?(?![0-9:])")
_NO_SECONDS: Final = re.compile(r"[Tt ](?:[0-9]{2}:[0-9]{2}|[0-9]{4}|[0-9]{1,2})(?![0-9:])")


def parse_date(text: str) -> int:
    """The day, counted from 1970-01-01. A point in time stands for its day in UTC.

    Raises:
        ValueError: the text is no date; says why, and how one is written.
    """
    return _parse(text, "Date", _DAY_FORM) // _DAY_MILLISECONDS


def parse_datetime(text: str) -> int:
    """The milliseconds since 1970-01-01T00:00:00Z. Digits behind the third of a fraction are cut off.

    Raises:
        ValueError: the text is no point in time; says why, and how one is written.
    """
    return _parse(text, "DateTime", _TIME_FORM)


def format_date(days: int) -> str:
    """The day as ``YYYY-MM-DD``; years outside 0 to 9999 have a sign."""
    year, month, day = _civil(days)
    return f"{_year(year)}-{month:02}-{day:02}"


def format_datetime(milliseconds: int) -> str:
    """The point in time as ``YYYY-MM-DDTHH:MM:SS.mmmZ``, always with three digits of fraction."""
    days, rest = divmod(milliseconds, _DAY_MILLISECONDS)
    seconds, fraction = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{format_date(days)}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z"


def _parse(text: str, kind: str, form: str) -> int:
    """The milliseconds since 1970; all of the text must be used."""

    def refuse(reason: str) -> NoReturn:
        raise ValueError(f"{_shown(text)} is not a {kind}: {reason} (expected {form})")

    if len(text) > _LONGEST:
        refuse(f"it has {len(text)} characters")
    is_compact = False
    date = _DATE.match(text)
    if date is None:
        date = _COMPACT_DATE.match(text)
        if date is None:
            refuse(_why_no_date(text))
        is_compact = True
    year, month, day = int(date[1]), int(date[2]), int(date[3])
    if not MIN_YEAR <= year <= MAX_YEAR:
        refuse(f"the year must be between {MIN_YEAR} and {MAX_YEAR}")
    if not 1 <= month <= 12:
        refuse(f"there is no month {month}")
    if not 1 <= day <= _days_in_month(year, month):
        refuse(f"there is no day {day} in {_MONTHS[month - 1]} {_year(year)}")
    total = _days(year, month, day) * _DAY_MILLISECONDS
    place = date.end()
    if place == len(text):
        return total

    time = _TIME.match(text, place)
    if time is None:
        refuse(_why_no_time(text, place))
    if is_compact or len(date[2]) + len(date[3]) != 4:
        refuse("before a time the date must be written with hyphens and two digits each for month and day")
    hour, minute, second = map(int, time.group(1, 2, 3) if time[1] else time.group(5, 6, 7))
    if hour > 23:
        refuse(f"there is no hour {hour}")
    if minute > 59:
        refuse(f"there is no minute {minute}")
    if second == 60:
        refuse("leap seconds cannot be stored")
    if second > 59:
        refuse(f"there is no second {second}")
    total += ((hour * 60 + minute) * 60 + second) * 1000 + int((time[4] or "0")[:3].ljust(3, "0"))
    place = time.end()
    if place == len(text):
        return total

    zone = _ZONE.match(text, place)
    if zone is None:
        refuse(_why_no_zone(text, place))
    if zone[1]:
        hour, minute = int(zone[2]), int(zone[3] or "0")
        if hour > 23 or minute > 59:
            refuse(f"there is no offset {zone[0].strip()}")
        offset = (hour * 60 + minute) * 60_000
        total += -offset if zone[1] == "+" else offset
        if not MIN_MILLISECONDS <= total <= MAX_MILLISECONDS:
            refuse(f"in UTC the year must be between {MIN_YEAR} and {MAX_YEAR}")
    if zone.end() != len(text):
        refuse(_trailing(text, zone.end()))
    return total


# ── what is wrong ──


def _why_no_date(text: str) -> str:
    if not text:
        return "it is empty"
    if text != text.strip():
        return "there are blanks around it"
    if re.match(r"[+-][0-9]{1,3}-", text):
        return "a year with a sign has at least four digits"
    if re.match(r"[0-9]{5,}-", text):
        return "a year of more than four digits needs a sign, + or -"
    if re.match(r"[0-9]{1,3}-", text):
        return "a year has four digits"
    if re.match(r"[0-9]{1,4}[/.]", text):
        return "the parts are joined by hyphens"
    if re.match(r"[0-9]{2}:", text):
        return "a time needs its date"
    return "it does not start with a year, a month and a day"


def _why_no_time(text: str, place: int) -> str:
    if _NO_SECONDS.match(text, place):
        return "the seconds are missing"
    if text[place] in "Tt ":
        return "the time is not HH:MM:SS" if text[place:].strip() else _trailing(text, place)
    return _trailing(text, place)


def _why_no_zone(text: str, place: int) -> str:
    if text[place] in ".,":
        return "a fraction is a point and digits behind HH:MM:SS"
    if re.match(r" *[+-]", text[place:]):
        return "an offset is +HH:MM, +HHMM or +HH"
    return _trailing(text, place)


def _trailing(text: str, place: int) -> str:
    return f"{_shown(text[place:])} cannot stand behind {_shown(text[:place])}"


def _shown(text: str) -> str:
    """A text of unknown origin, short and on one line."""
    cut = text if len(text) <= 40 else text[:37] + "..."
    return '"' + "".join(each if each.isprintable() else f"\\u{{{ord(each):x}}}" for each in cut) + '"'


# ── the calendar ──


def _year(year: int) -> str:
    return f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}"


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in_month(year: int, month: int) -> int:
    return 29 if month == 2 and _is_leap(year) else _MONTH_DAYS[month - 1]


# Both ways count years from March, so that the leap day is the last of its year, and in eras of 400 years, which all
# have 146097 days. 719468 days lie between 0000-03-01 and 1970-01-01.


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01."""
    era, year_of_era = divmod(year - (month <= 2), 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a count of days; the inverse of ``_days``."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return era * 400 + year_of_era + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


MIN_DAYS: Final = _days(MIN_YEAR, 1, 1)
MAX_DAYS: Final = _days(MAX_YEAR, 12, 31)
MIN_MILLISECONDS: Final = MIN_DAYS * _DAY_MILLISECONDS
MAX_MILLISECONDS: Final = MAX_DAYS * _DAY_MILLISECONDS + _DAY_MILLISECONDS - 1
