r"""Whether a text is a regular expression that data can be checked with.

The dialect is that of the ``regex`` crate of Rust, which matches the pattern of a ``@check`` when data is written: no
look-around, no references back, every pattern runs in linear time. A schema with a pattern that the crate would refuse
is refused at once, with the place.

    patterns        groups, alternatives, repetitions, and how large the whole becomes
    pattern_sets    what stands in brackets
    pattern_atoms   characters and escapes
    pattern_names   what ``\p{...}`` may name

The crate also refuses patterns that compile to more than 10 MiB, which counted repetitions reach quickly: ``\w{300}``
does. The weights here are lower bounds, so that only what the crate refuses is refused; some patterns above the limit
pass. What else passes without being known: values of the properties ``age``, ``gcb``, ``sb`` and ``wb``, and combining
marks in the name of a group.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

from omnigraph.schema.pattern_atoms import Fault, Scanner, any_character, literal, read_escape
from omnigraph.schema.pattern_sets import MAX_DEPTH, read_set

MAX_LENGTH: Final = 50_000
"""A longer pattern is no check that a person wrote."""

_MAX_WEIGHT: Final = 10 * 1024 * 1024
_GROUP_WEIGHT: Final = 64
_LOOP_WEIGHT: Final = 40
_FLAGS: Final = frozenset("imsRUux")
_FOREIGN_GROUPS: Final = (
    ("?=", "look-ahead"),
    ("?!", "look-ahead"),
    ("?<=", "look-behind"),
    ("?<!", "look-behind"),
    ("?P=", "a reference back to a group"),
    ("?P>", "a call of a group"),
    ("?&", "a call of a group"),
    ("?>", "an atomic group"),
    ("?|", "a group that resets the numbering"),
    ("?(", "a condition"),
    ("?#", "a comment in a group"),
)


def check_pattern(pattern: str) -> str | None:
    """What is wrong with a pattern and where, in words; None when nothing is.

    Takes time linear in the length of the pattern, whatever it holds.
    """
    if len(pattern) > MAX_LENGTH:
        return f"the pattern has {len(pattern)} characters, more than {MAX_LENGTH}"
    try:
        _Check(pattern).run()
    except Fault as fault:
        return f"{fault.reason} (at character {fault.place + 1})"
    return None


@dataclass(slots=True)
class _Item:
    """A part of a sequence.

    Attributes:
        weight: the least it takes in a compiled program; 0 for what matches only the empty text.
        height: how many levels lie in it.
    """

    weight: int
    height: int
    can_repeat: bool = True


class _Group:
    """A group that is open; the whole pattern is one too."""

    __slots__ = ("alternatives", "count", "height", "heights", "is_capturing", "is_spaced", "is_unicode", "last",
                 "place", "weight", "weights")  # fmt: skip

    def __init__(self, place: int, scanner: Scanner, *, is_capturing: bool) -> None:
        self.place = place
        self.is_capturing = is_capturing
        self.is_spaced = scanner.is_spaced
        self.is_unicode = scanner.is_unicode
        self.alternatives = 0  # that are complete
        self.weights = self.heights = 0  # the largest among them
        self.start_alternative()

    def start_alternative(self) -> None:
        self.count = self.weight = self.height = 0
        self.last: _Item | None = None

    def add(self, item: _Item, place: int) -> None:
        self.settle_last()
        self.count += 1
        self.last = item
        # The sequence around it is one level more.
        if item.height + (self.count > 1) > MAX_DEPTH:
            raise Fault(f"this is nested deeper than {MAX_DEPTH} levels", place)

    def settle_last(self) -> None:
        """The last item can no longer be repeated."""
        if self.last is not None:
            self.weight += self.last.weight
            self.height = max(self.height, self.last.height)
            self.last = None

    def end_alternative(self) -> None:
        self.settle_last()
        self.alternatives += 1
        self.weights = max(self.weights, self.weight)
        self.heights = max(self.heights, self.height + (self.count > 1))
        self.start_alternative()

    def close(self) -> _Item:
        """All of it as one item, without the level of the group itself."""
        self.end_alternative()
        return _Item(self.weights, self.heights + (self.alternatives > 1))


class _Check:
    """One run over a pattern."""

    def __init__(self, pattern: str) -> None:
        self.scanner = Scanner(pattern)
        self.group = _Group(0, self.scanner, is_capturing=False)
        self.outer: list[_Group] = []
        self.names: set[str] = set()
        self.heaviest = (0, 0)  # the weight and place of the largest repetition

    def run(self) -> None:
        """All of the pattern.

        Raises:
            Fault: it is not part of the dialect.
        """
        scanner = self.scanner
        while True:
            scanner.skip_blanks()
            start = scanner.place
            character = scanner.next
            if not character:
                break
            if character == "(":
                self._open_group()
            elif character == ")":
                self._close_group()
            elif character == "|":
                scanner.place += 1
                self.group.end_alternative()
            elif character == "[":
                atom, height = read_set(scanner)
                self.group.add(_Item(atom.weight, height), start)
            elif character in "?*+":
                self._repeat()
            elif character == "{":
                self._repeat_counted()
            elif character == "\\":
                self.group.add(_Item(read_escape(scanner).weight, 0), start)
            else:
                scanner.place += 1
                self.group.add(_Item(self._weight(character, start), 0), start)
        if self.outer:
            raise Fault("this group is not closed", self.group.place)
        whole = self.group.close()
        if whole.height > MAX_DEPTH:
            raise Fault(f"this is nested deeper than {MAX_DEPTH} levels", 0)
        if whole.weight > _MAX_WEIGHT:
            advice = r"; [0-9A-Za-z_] takes far less than \w" if r"\w" in scanner.text else ""
            raise Fault(f"the pattern becomes too large by this repetition{advice}", self.heaviest[1])

    def _weight(self, character: str, place: int) -> int:
        if character in "^$":
            return 0
        if character == ".":
            return any_character(self.scanner, place).weight
        return literal(ord(character)).weight

    # ── repetitions ──

    def _repeated(self, place: int) -> _Item:
        item = self.group.last
        if item is None or not item.can_repeat:
            raise Fault("there is nothing to repeat", place)
        return item

    def _replace(self, item: _Item, weight: int, place: int) -> None:
        self.group.last = None
        self.group.count -= 1
        self.group.add(_Item(weight, item.height + 1), place)
        self.heaviest = max(self.heaviest, (weight, place))

    def _repeat(self) -> None:
        scanner, start = self.scanner, self.scanner.place
        item = self._repeated(start)
        scanner.place += 1
        scanner.take_if("?")
        self._replace(item, item.weight and item.weight + _LOOP_WEIGHT, start)

    def _repeat_counted(self) -> None:
        scanner, start = self.scanner, self.scanner.place
        item = self._repeated(start)
        if not scanner.move():
            raise Fault("this brace is not closed", start)
        least = scanner.take_decimal()
        most = least
        if scanner.next == ",":
            if not scanner.move():
                raise Fault("this brace is not closed", start)
            most = None
            if scanner.next != "}":
                most = scanner.take_decimal()
                if most is None:
                    raise Fault("a repetition is {n}, {n,} or {n,m}", start)
        if least is None:
            raise Fault("a repetition is {n}, {n,} or {n,m}; a brace itself is written \\{", start)
        if scanner.next != "}":
            raise Fault("this brace is not closed", start)
        if scanner.move() == "?":
            scanner.place += 1
        if most is not None and most < least:
            raise Fault("this repetition ends before it starts", start)
        weight = item.weight * (max(least, 1) if most is None else least)
        if most is not None and item.weight:
            weight += (item.weight + _LOOP_WEIGHT) * (most - least)
        self._replace(item, weight, start)

    # ── groups ──

    def _open_group(self) -> None:
        scanner, start = self.scanner, self.scanner.place
        scanner.move()
        for sign, word in _FOREIGN_GROUPS:
            if scanner.text.startswith(sign, scanner.place):
                raise Fault(f"{word} is not part of the dialect", start)
        if scanner.take_if("?P<") or scanner.take_if("?<"):
            self._read_name()
            opened = _Group(start, scanner, is_capturing=True)
        elif scanner.take_if("?"):
            opened = _Group(start, scanner, is_capturing=False)
            if self._read_flags(start) == ")":
                # They hold up to the end of the group in which they stand.
                self.group.add(_Item(0, 0, can_repeat=False), start)
                return
        else:
            opened = _Group(start, scanner, is_capturing=True)
        self.outer.append(self.group)
        self.group = opened
        if len(self.outer) > MAX_DEPTH:
            raise Fault(f"this is nested deeper than {MAX_DEPTH} levels", start)

    def _close_group(self) -> None:
        scanner, closed = self.scanner, self.group
        if not self.outer:
            raise Fault("this parenthesis closes nothing", scanner.place)
        scanner.place += 1
        scanner.is_spaced, scanner.is_unicode = closed.is_spaced, closed.is_unicode
        item = closed.close()
        item.height += 1
        if closed.is_capturing and item.weight:
            item.weight += _GROUP_WEIGHT
        self.group = self.outer.pop()
        self.group.add(item, closed.place)

    def _read_name(self) -> None:
        scanner = self.scanner
        start = scanner.place
        end = scanner.text.find(">", start)
        name = scanner.text[start:end] if end >= 0 else scanner.text[start:]
        for offset, character in enumerate(name):
            if not (_is_letter(character) or (offset and (character.isalnum() or character in ".[]"))):
                raise Fault("the name of a group is made of letters, digits and _", start + offset)
        if end < 0:
            raise Fault("the name of this group is not closed by >", start)
        if not name:
            raise Fault("this group has an empty name", start)
        if name in self.names:
            raise Fault(f'there are two groups "{name[:40]}"', start)
        self.names.add(name)
        scanner.place = end + 1

    def _read_flags(self, start: int) -> str:
        """Set flags; answers what stands behind them."""
        scanner = self.scanner
        seen: set[str] = set()
        while (flag := scanner.next) not in (":", ")"):
            if not flag:
                raise Fault("this group is not closed", start)
            if flag != "-" and flag not in _FLAGS:
                raise Fault("a flag is one of i m s R U u x", scanner.place)
            if flag in seen:
                raise Fault(f'"{flag}" stands here twice', scanner.place)
            if flag == "x":
                scanner.is_spaced = "-" not in seen
            elif flag == "u":
                scanner.is_unicode = "-" not in seen
            seen.add(flag)
            scanner.place += 1
        if scanner.text[scanner.place - 1] == "-":
            raise Fault("a flag was expected behind -", scanner.place)
        if flag == ")" and not seen:
            raise Fault("there is nothing to repeat", start + 1)
        scanner.place += 1
        return flag


def _is_letter(character: str) -> bool:
    """Whether the crate counts it as a letter in a name.

    Python does not know which marks and signs are alphabetic, so all marks and the circled letters pass.
    """
    if character == "_" or character.isalpha():
        return True
    return not character.isascii() and (
        unicodedata.category(character) in ("Mc", "Mn", "Nl") or "LATIN" in unicodedata.name(character, "")
    )
