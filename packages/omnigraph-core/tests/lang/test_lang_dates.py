"""Dates and points in time: which texts are one, what they mean, and what is said of those that are none.

Python's ``datetime`` is the independent computation for the years 1 to 9999.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hang_guard import no_hang
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.lang.dates import (
    MAX_DAYS,
    MAX_MILLISECONDS,
    MIN_DAYS,
    MIN_MILLISECONDS,
    format_date,
    format_datetime,
    parse_date,
    parse_datetime,
)

EPOCH = date(1970, 1, 1)
EPOCH_TIME = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400_000

DATE_FORM = "(expected YYYY-MM-DD, such as 2024-05-01)"
TIME_FORM = "(expected YYYY-MM-DDTHH:MM:SSZ, such as 2024-05-01T10:30:00Z)"


def days_of(year: int, month: int, day: int) -> int:
    return (date(year, month, day) - EPOCH).days


def milliseconds_of(moment: datetime) -> int:
    return (moment - EPOCH_TIME) // timedelta(milliseconds=1)


# ── which texts are a date ──


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("1970-01-01", 0),
        ("1969-12-31", -1),
        ("2024-05-01", days_of(2024, 5, 1)),
        ("20240501", days_of(2024, 5, 1)),
        ("2024-5-1", days_of(2024, 5, 1)),
        ("2024-05-1", days_of(2024, 5, 1)),
        ("2024-5-01", days_of(2024, 5, 1)),
        ("2024-12-31", days_of(2024, 12, 31)),
        ("0001-01-01", days_of(1, 1, 1)),
        ("9999-12-31", days_of(9999, 12, 31)),
        ("2000-02-29", days_of(2000, 2, 29)),
        ("+2024-05-01", days_of(2024, 5, 1)),
        ("+02024-05-01", days_of(2024, 5, 1)),
        # 400 years have 146097 days, so a year far away is one near by and a count of such eras.
        ("+12345-01-01", days_of(1945, 1, 1) + 26 * 146_097),
        ("-0044-03-15", days_of(1956, 3, 15) - 5 * 146_097),
        ("0000-02-29", days_of(2000, 2, 29) - 5 * 146_097),
        ("-0000-02-29", days_of(2000, 2, 29) - 5 * 146_097),
    ],
)
def test_a_date_is_read_in_every_form(text, days):
    assert parse_date(text) == days
    assert parse_datetime(text) == days * DAY


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-05-01T23:59:59Z", (2024, 5, 1)),
        ("2024-05-01T23:59:59-00:01", (2024, 5, 2)),
        ("2024-05-01T00:00:00+02:00", (2024, 4, 30)),
        ("1969-12-31T23:59:59.999", (1969, 12, 31)),
        ("2024-12-31 235959 -08", (2025, 1, 1)),
    ],
)
def test_a_point_in_time_is_the_date_of_its_day_in_utc(text, day):
    assert parse_date(text) == days_of(*day)


# ── which texts are a point in time ──


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-05-01", datetime(2024, 5, 1, tzinfo=UTC)),
        ("2024-05-01T10:30:07", datetime(2024, 5, 1, 10, 30, 7, tzinfo=UTC)),
        ("2024-05-01t10:30:07", datetime(2024, 5, 1, 10, 30, 7, tzinfo=UTC)),
        ("2024-05-01 10:30:07", datetime(2024, 5, 1, 10, 30, 7, tzinfo=UTC)),
        ("2024-05-01T103007", datetime(2024, 5, 1, 10, 30, 7, tzinfo=UTC)),
        ("2024-05-01T10:30:07Z", datetime(2024, 5, 1, 10, 30, 7, tzinfo=UTC)),
        ("2024-05-01t10:30:07z", datetime(2024, 5, 1, 10, 30, 7, tzinfo=UTC)),
        ("2024-05-01T10:30:07.5Z", datetime(2024, 5, 1, 10, 30, 7, 500_000, tzinfo=UTC)),
        ("2024-05-01T10:30:07.25", datetime(2024, 5, 1, 10, 30, 7, 250_000, tzinfo=UTC)),
        ("2024-05-01T10:30:07.007+02:00", datetime(2024, 5, 1, 8, 30, 7, 7_000, tzinfo=UTC)),
        ("2024-05-01T10:30:07+0200", datetime(2024, 5, 1, 8, 30, 7, tzinfo=UTC)),
        ("2024-05-01T10:30:07+02", datetime(2024, 5, 1, 8, 30, 7, tzinfo=UTC)),
        ("2024-05-01 10:30:07 -08", datetime(2024, 5, 1, 18, 30, 7, tzinfo=UTC)),
        ("2024-05-01 10:30:07  -08:00", datetime(2024, 5, 1, 18, 30, 7, tzinfo=UTC)),
        ("2024-05-01T103007-0530", datetime(2024, 5, 1, 16, 0, 7, tzinfo=UTC)),
        ("2024-05-01T00:00:00+23:59", datetime(2024, 4, 30, 0, 1, tzinfo=UTC)),
    ],
)
def test_a_point_in_time_is_read_in_every_form(text, moment):
    assert parse_datetime(text) == milliseconds_of(moment)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1970-01-01T00:00:00.0019Z", 1),
        ("1970-01-01T00:00:00.999999999999Z", 999),
        # The digits are cut, not the number: before 1970 that is a step back as well.
        ("1969-12-31T23:59:59.9999Z", -1),
        ("1969-12-31T23:59:59.0009Z", -1000),
        ("1970-01-01T00:00:00." + "1" * 200, 111),
    ],
)
def test_finer_fractions_than_milliseconds_are_dropped(text, milliseconds):
    assert parse_datetime(text) == milliseconds


def test_years_with_a_sign_may_have_a_time():
    assert parse_datetime("-0044-03-15T12:00:00Z") == parse_date("-0044-03-15") * DAY + DAY // 2


# ── which texts are none ──


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        (" 2024-05-01", "there are blanks around it"),
        ("2024-05-01\n", '"\\u{a}" cannot stand behind "2024-05-01"'),
        ("2024-05-01 ", '" " cannot stand behind "2024-05-01"'),
        ("today", "it does not start with a year, a month and a day"),
        ("2024-05", "it does not start with a year, a month and a day"),
        ("2024-05-011", "it does not start with a year, a month and a day"),
        ("2024050", "it does not start with a year, a month and a day"),
        ("\u0662\u0660\u0662\u0664-05-01", "it does not start with a year, a month and a day"),
        ("2024/05/01", "the parts are joined by hyphens"),
        ("01.05.2024", "the parts are joined by hyphens"),
        ("24-05-01", "a year has four digits"),
        ("12345-01-01", "a year of more than four digits needs a sign, + or -"),
        ("-44-03-15", "a year with a sign has at least four digits"),
        ("10:30:00", "a time needs its date"),
        ("2024-00-01", "there is no month 0"),
        ("2024-13-01", "there is no month 13"),
        ("2024-05-00", "there is no day 0 in May 2024"),
        ("2024-05-32", "there is no day 32 in May 2024"),
        ("2024-04-31", "there is no day 31 in April 2024"),
        ("2024-02-30", "there is no day 30 in February 2024"),
        ("2023-02-29", "there is no day 29 in February 2023"),
        ("1900-02-29", "there is no day 29 in February 1900"),
        ("20230230", "there is no day 30 in February 2023"),
        ("+262143-01-01", "the year must be between -262143 and 262142"),
        ("-262144-12-31", "the year must be between -262143 and 262142"),
        ("+" + "9" * 200 + "-01-01", "the year must be between -262143 and 262142"),
        ("+262142-12-31T23:59:59-00:01", "in UTC the year must be between -262143 and 262142"),
        ("-262143-01-01T00:00:00+00:01", "in UTC the year must be between -262143 and 262142"),
        ("2024-05-01Z", '"Z" cannot stand behind "2024-05-01"'),
        ("2024-05-01T", "the time is not HH:MM:SS"),
        ("2024-05-01Tnoon", "the time is not HH:MM:SS"),
        ("2024-05-01T1:30:00", "the time is not HH:MM:SS"),
        ("2024-05-01T10", "the seconds are missing"),
        ("2024-05-01T10:30", "the seconds are missing"),
        ("2024-05-01T10:30Z", "the seconds are missing"),
        ("2024-05-01 1030", "the seconds are missing"),
        (
            "2024-5-1T10:30:00",
            "before a time the date must be written with hyphens and two digits each for month and day",
        ),
        (
            "20240501T103000",
            "before a time the date must be written with hyphens and two digits each for month and day",
        ),
        ("2024-05-01T24:00:00", "there is no hour 24"),
        ("2024-05-01T10:60:00", "there is no minute 60"),
        ("2024-05-01T10:30:60", "leap seconds cannot be stored"),
        ("2024-05-01T10:30:61", "there is no second 61"),
        ("2024-05-01T10:30:00.", "a fraction is a point and digits behind HH:MM:SS"),
        ("2024-05-01T10:30:00,5", "a fraction is a point and digits behind HH:MM:SS"),
        ("2024-05-01T103000.5", "a fraction is a point and digits behind HH:MM:SS"),
        ("2024-05-01T10:30:00+2", "an offset is +HH:MM, +HHMM or +HH"),
        ("2024-05-01T10:30:00+02:00:00", "an offset is +HH:MM, +HHMM or +HH"),
        ("2024-05-01T10:30:00+24:00", "there is no offset +24:00"),
        ("2024-05-01T10:30:00 -02:60", "there is no offset -02:60"),
        ("2024-05-01T10:30:00ZZ", '"Z" cannot stand behind "2024-05-01T10:30:00Z"'),
        ("2024-05-01T10:30:00 Z", '" Z" cannot stand behind "2024-05-01T10:30:00"'),
        ("2024-05-01T10:30:00 CET", '" CET" cannot stand behind "2024-05-01T10:30:00"'),
    ],
)
def test_what_is_no_date_is_refused_with_the_reason(text, reason):
    with pytest.raises(ValueError, match="is not a") as caught:
        parse_date(text)
    assert f"is not a Date: {reason} {DATE_FORM}" in str(caught.value)
    with pytest.raises(ValueError, match="is not a") as caught:
        parse_datetime(text)
    assert f"is not a DateTime: {reason} {TIME_FORM}" in str(caught.value)


def test_the_whole_sentence_names_the_text_the_reason_and_the_form():
    with pytest.raises(ValueError, match="month") as caught:
        parse_date("2024-13-01")
    assert str(caught.value) == '"2024-13-01" is not a Date: there is no month 13 ' + DATE_FORM


def test_control_characters_of_the_text_never_reach_the_message():
    with pytest.raises(ValueError, match="is not a") as caught:
        parse_datetime("2024\x1b[31m\r\n\ud800")
    assert str(caught.value).startswith('"2024\\u{1b}[31m\\u{d}\\u{a}\\u{d800}" is not a DateTime')


@pytest.mark.parametrize("piece", ["9", "2024-05-01", " ", "T", "+", "-", "2024-05-01T10:30:00.1", "\x00", "é"])
def test_a_text_of_a_mebibyte_is_refused_and_shown_short(piece):
    text = (piece * 2**20)[: 2**20]
    for prefix in ("", "2024-05-01T10:30:00.", "+"):
        with no_hang(), pytest.raises(ValueError, match="is not a") as caught:
            parse_datetime(prefix + text)
        assert len(str(caught.value)) < 500


# ── the way back ──


@pytest.mark.parametrize(
    ("days", "text"),
    [(0, "1970-01-01"), (-1, "1969-12-31"), (days_of(2024, 2, 29), "2024-02-29"), (days_of(1, 1, 1), "0001-01-01"),
     (days_of(1, 1, 1) - 1, "0000-12-31"), (days_of(1, 1, 1) - 367, "-0001-12-31"),
     (days_of(9999, 12, 31) + 1, "+10000-01-01"),
     (MIN_DAYS, "-262143-01-01"), (MAX_DAYS, "+262142-12-31")],
)  # fmt: skip
def test_a_date_is_written_with_four_digits_and_outside_of_them_with_a_sign(days, text):
    assert format_date(days) == text
    assert parse_date(text) == days


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"), (1500, "1970-01-01T00:00:01.500Z"),
     (DAY + 7, "1970-01-02T00:00:00.007Z"), (days_of(9999, 12, 31) * DAY + DAY, "+10000-01-01T00:00:00.000Z"),
     (MIN_MILLISECONDS, "-262143-01-01T00:00:00.000Z"), (MAX_MILLISECONDS, "+262142-12-31T23:59:59.999Z")],
)  # fmt: skip
def test_a_point_in_time_is_written_in_utc_with_three_digits_of_fraction(milliseconds, text):
    assert format_datetime(milliseconds) == text
    assert parse_datetime(text) == milliseconds


def test_every_date_that_can_be_read_fits_into_32_bits():
    assert MIN_DAYS >= -(2**31)
    assert MAX_DAYS < 2**31


# ── by chance ──


@given(st.integers(MIN_DAYS, MAX_DAYS))
def test_every_date_reads_back_as_it_was_written(days):
    assert parse_date(format_date(days)) == days


@given(st.integers(MIN_MILLISECONDS, MAX_MILLISECONDS))
def test_every_point_in_time_reads_back_as_it_was_written(milliseconds):
    assert parse_datetime(format_datetime(milliseconds)) == milliseconds


@given(st.dates())
def test_dates_are_those_of_python(day):
    days = (day - EPOCH).days
    assert parse_date(day.isoformat()) == parse_date(day.strftime("%Y%m%d").rjust(8, "0")) == days
    assert format_date(days) == day.isoformat()


@given(
    st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29)),
    st.integers(-1439, 1439),
    st.sampled_from("Tt "),
)
def test_points_in_time_are_those_of_python(moment, offset, separator):
    zone = timezone(timedelta(minutes=offset))
    moment = moment.replace(tzinfo=zone)
    text = moment.isoformat(sep=separator, timespec="microseconds")
    # Cutting digits of the fraction is rounding down, before 1970 too.
    expected = (moment - EPOCH_TIME) // timedelta(milliseconds=1)
    assert parse_datetime(text) == expected
    assert format_datetime(expected) == moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.").rjust(20, "0") + (
        f"{moment.microsecond // 1000:03}Z"
    )


@given(st.text(st.sampled_from("0123456789-+:.TtZz ,/x"), max_size=30))
def test_any_text_is_read_or_refused_in_words(text):
    for parse, write in ((parse_date, format_date), (parse_datetime, format_datetime)):
        reason = None
        try:
            value = parse(text)
        except ValueError as error:
            reason = str(error)
        if reason is None:
            assert parse(write(value)) == value
        else:
            assert " is not a Date" in reason
