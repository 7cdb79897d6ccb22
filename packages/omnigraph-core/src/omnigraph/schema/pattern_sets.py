"""Sets of characters in brackets, as regular expressions write them.

``[a-z]``, ``[^0-9]``, ``[[:alpha:]_]``, sets in sets, and the operators ``&&``, ``--`` and ``~~``. In comes a scanner
at the opening bracket; out goes what the set weighs in a compiled program and how many levels it is high.
"""

from __future__ import annotations

from typing import Final

from omnigraph.schema.pattern_atoms import ANY_WEIGHT, BYTE_WEIGHT, Atom, Fault, Scanner, literal, read_escape

MAX_DEPTH: Final = 250
"""How many levels of groups, repetitions, sequences and sets may lie in each other."""

_POSIX: Final = frozenset(
    {"alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph"}
    | {"lower", "print", "punct", "space", "upper", "word", "xdigit"}
)
_SET_WEIGHT: Final = 64
_RANGE_WEIGHT: Final = 8


class _Set:
    """A bracket that is open."""

    __slots__ = (
        "count",
        "height",
        "is_ascii",
        "is_known",
        "is_negated",
        "operands_height",
        "place",
        "ranges",
        "weight",
    )

    def __init__(self, place: int) -> None:
        self.place = place
        self.is_negated = False
        self.is_known = True  # no operator and no nested set: the weight can be told
        self.is_ascii = True
        self.ranges: list[tuple[int, int]] = []
        self.weight = 0  # of the heaviest set among the items
        self.count = 0  # of items since the last operator
        self.height = 0  # of these
        self.operands_height = -1  # of what stands before the last operator

    def add(self, height: int = 0) -> None:
        self.count += 1
        self.height = max(self.height, height)

    def add_range(self, first: int, last: int) -> None:
        self.add()
        self.ranges.append((first, last))
        self.is_ascii = self.is_ascii and last < 0x80

    def add_atom(self, atom: Atom, is_complement: bool) -> None:
        if atom.code_point is not None:
            self.add_range(atom.code_point, atom.code_point)
            return
        self.add()
        if is_complement or atom.weight <= BYTE_WEIGHT:
            self.is_known = False  # with other items it may become anything
        self.weight = max(self.weight, atom.weight)

    def end_operand(self) -> None:
        """An operator, or the end of the set: the items so far are one side."""
        height = self.height + 1 if self.count > 1 else self.height
        # Operators take from the left, so the left side becomes deeper by each.
        self.operands_height = height if self.operands_height < 0 else max(self.operands_height, height) + 1
        self.count = self.height = 0

    def total_weight(self) -> int:
        """The least that this set takes in a compiled program."""
        if not self.is_known or not self.is_ascii:
            return BYTE_WEIGHT
        if self.is_negated:
            return max(ANY_WEIGHT, self.weight * 9 // 10)
        if self.weight:
            return self.weight
        merged, end = 0, -2
        for first, last in sorted(self.ranges):
            if first > end + 1:
                merged += 1
            end = max(end, last)
        if merged == 1 and self.ranges and min(self.ranges)[0] == end:
            return BYTE_WEIGHT
        return _SET_WEIGHT + _RANGE_WEIGHT * merged


def read_set(scanner: Scanner) -> tuple[Atom, int]:
    """A set from its opening to its closing bracket, and how many levels it is high."""
    stack: list[_Set] = []
    while True:
        scanner.skip_blanks()
        character = scanner.next
        if not character:
            raise Fault("this bracket is not closed", stack[-1].place)
        if character == "[":
            if stack and _take_posix(scanner, stack[-1]):
                continue
            stack.append(_open_set(scanner))
            if len(stack) > MAX_DEPTH:
                raise Fault(f"this is nested deeper than {MAX_DEPTH} levels", scanner.place)
        elif character == "]":
            done = stack.pop()
            done.end_operand()
            height = done.operands_height + 1
            if done.is_negated and not scanner.is_unicode:
                raise Fault("without the flag u a negated set could match half of a character", done.place)
            if not stack:
                scanner.place += 1
                return Atom(None, is_set=True, weight=done.total_weight()), height
            scanner.place += 1
            stack[-1].is_known = False
            stack[-1].add(height)
        elif character in "&-~" and scanner.after_next() == character:
            scanner.place += 2
            stack[-1].is_known = False
            stack[-1].end_operand()
        else:
            _read_item(scanner, stack[-1])


def _open_set(scanner: Scanner) -> _Set:
    opened = _Set(scanner.place)
    character = scanner.move()
    if character == "^":
        opened.is_negated = True
        character = scanner.move()
    while character == "-":
        opened.add_range(0x2D, 0x2D)
        character = scanner.move()
    # An empty set cannot be written: a bracket right behind the opening one stands for itself.
    if character == "]" and not opened.count:
        opened.add_range(0x5D, 0x5D)
        character = scanner.move()
    if not character:
        raise Fault("this bracket is not closed", opened.place)
    return opened


def _read_item(scanner: Scanner, opened: _Set) -> None:
    """A character, an escape, or a range of characters."""
    start = scanner.place
    first = _read_member(scanner)
    scanner.skip_blanks()
    if not scanner.next:
        raise Fault("this bracket is not closed", opened.place)
    if scanner.next != "-" or _after_blanks(scanner) in ("]", "-"):
        if first.code_point is None and not first.is_set:
            raise Fault("this escape cannot stand in a set", start)
        opened.add_atom(first, scanner.text[start + 1 : start + 2] in ("D", "S", "W", "P"))
        return
    if not scanner.move():
        raise Fault("this bracket is not closed", opened.place)
    second_start = scanner.place
    second = _read_member(scanner)
    if first.code_point is None or second.code_point is None:
        raise Fault("a range goes from one character to another", start if first.code_point is None else second_start)
    if first.code_point > second.code_point:
        raise Fault("this range ends before it starts", start)
    opened.add_range(first.code_point, second.code_point)


def _read_member(scanner: Scanner) -> Atom:
    start = scanner.place
    if scanner.next == "\\":
        member = read_escape(scanner)
    else:
        scanner.place += 1
        member = literal(ord(scanner.text[start]))
    if member.code_point is not None and member.code_point > 0x7F and not scanner.is_unicode:
        raise Fault("without the flag u a set holds only ASCII characters", start)
    return member


def _after_blanks(scanner: Scanner) -> str:
    """What comes behind the next character, without moving."""
    place = scanner.place
    character = scanner.move()
    scanner.place = place
    return character


def _take_posix(scanner: Scanner, opened: _Set) -> bool:
    """A set such as ``[:alpha:]``. Anything else in this form is an ordinary set, and left to be read as one."""
    text, start = scanner.text, scanner.place
    if not text.startswith("[:", start):
        return False
    is_negated = text.startswith("^", start + 2)
    name_start = start + 2 + is_negated
    # No name is longer; without this limit many open ones would be searched to the end each.
    end = text.find(":", name_start, name_start + 8)
    if end < 0 or not text.startswith(":]", end) or text[name_start:end] not in _POSIX:
        return False
    if is_negated and not scanner.is_unicode:
        raise Fault("without the flag u a negated set could match half of a character", start)
    scanner.place = end + 2
    opened.is_known = False
    opened.add()
    return True
