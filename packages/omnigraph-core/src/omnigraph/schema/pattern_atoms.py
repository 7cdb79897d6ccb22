"""The smallest parts of a regular expression: characters and escapes.

``Scanner`` walks over the text of a pattern; ``literal``, ``any_character`` and ``read_escape`` answer an ``Atom``,
which knows the least that it weighs in a compiled program. What the dialect refuses is a ``Fault`` with its place.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from omnigraph.schema.pattern_names import is_property, normal_name

# White_Space of Unicode; str.isspace() takes four control characters more.
_BLANKS: Final = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_DIGITS: Final = frozenset("0123456789")
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_HEX_LENGTHS: Final = {"x": 2, "u": 4, "U": 8}
_CONTROLS: Final = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_ASSERTIONS: Final = frozenset("AzbB<>")
_BOUNDARIES: Final = ("start", "end", "start-half", "end-half")

# Bytes of a compiled program, measured; all of them are lower bounds.
BYTE_WEIGHT: Final = 32
ANY_WEIGHT: Final = 900
_PERL_WEIGHTS: Final = {"d": 5_100, "D": 12_700, "s": 680, "S": 1_900, "w": 50_000, "W": 46_000}
_PROPERTY_WEIGHTS: Final = {"l": 40_000, "letter": 40_000, "lu": 25_000, "uppercaseletter": 25_000}


class Fault(Exception):  # noqa: N818 - a signal inside the check of a pattern, never seen outside
    """The pattern is not part of the dialect."""

    def __init__(self, reason: str, place: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place


class Atom(NamedTuple):
    """One part.

    Attributes:
        code_point: of a part that is one character, else None.
        is_set: whether it is a set of characters; what is neither is an assertion and takes no room in the text.
        weight: the least that it takes in a compiled program.
    """

    code_point: int | None
    is_set: bool
    weight: int


class Scanner:
    """A place in the text of a pattern, and the flags that hold there."""

    __slots__ = ("is_spaced", "is_unicode", "place", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.is_spaced = False
        self.is_unicode = True

    @property
    def next(self) -> str:
        """The next character, an empty text at the end."""
        return self.text[self.place : self.place + 1]

    def after_next(self) -> str:
        """The character behind the next one."""
        return self.text[self.place + 1 : self.place + 2]

    def skip_blanks(self) -> None:
        """Leave out blanks and comments where the flag x holds."""
        if not self.is_spaced:
            return
        while (character := self.next) and (character in _BLANKS or character == "#"):
            if character == "#":
                line_end = self.text.find("\n", self.place)
                self.place = len(self.text) if line_end < 0 else line_end + 1
            else:
                self.place += 1

    def move(self) -> str:
        """Step over a character and what may be left out behind it; the next one."""
        self.place += 1
        self.skip_blanks()
        return self.next

    def take_if(self, word: str) -> bool:
        """Step over these characters if they are next."""
        if not self.text.startswith(word, self.place):
            return False
        self.place += len(word)
        return True

    def take_decimal(self) -> int | None:
        """A number with blanks around it; None without digits."""
        while self.next and self.next in _BLANKS:
            self.place += 1
        start, digits = self.place, ""
        while self.next and self.next in _DIGITS:
            digits += self.next
            self.move()
        while self.next and self.next in _BLANKS:
            self.move()
        if not digits:
            return None
        digits = digits.lstrip("0") or "0"
        if len(digits) > 10 or int(digits) > 0xFFFF_FFFF:
            raise Fault("this number is too large", start)
        return int(digits)


def literal(code_point: int) -> Atom:
    """One character as a part."""
    length = 1 if code_point < 0x80 else 2 if code_point < 0x800 else 3 if code_point < 0x1_0000 else 4
    return Atom(code_point, is_set=False, weight=BYTE_WEIGHT * length)


def any_character(scanner: Scanner, place: int) -> Atom:
    """The part that a point is."""
    if not scanner.is_unicode:
        raise Fault("without the flag u a point could match half of a character", place)
    return Atom(None, is_set=True, weight=ANY_WEIGHT)


# ── escapes ──


def read_escape(scanner: Scanner) -> Atom:
    """A backslash and what belongs to it."""
    start = scanner.place
    scanner.place += 1
    letter = scanner.next
    if not letter:
        raise Fault("nothing stands behind the backslash", start)
    if letter in _DIGITS:
        raise Fault("references back to a group are not part of the dialect", start)
    if letter in _HEX_LENGTHS:
        return literal(_read_hex(scanner, letter, start))
    if letter in "pP":
        return _read_property(scanner, start)
    scanner.place += 1
    if letter in _PERL_WEIGHTS:
        if scanner.is_unicode:
            return Atom(None, is_set=True, weight=_PERL_WEIGHTS[letter])
        if letter.isupper():
            raise Fault(f"without the flag u \\{letter} could match half of a character", start)
        return Atom(None, is_set=True, weight=BYTE_WEIGHT)
    if letter in _CONTROLS:
        return literal(_CONTROLS[letter])
    if letter in _ASSERTIONS:
        if letter == "b" and scanner.next == "{":
            _read_boundary(scanner)
        return Atom(None, is_set=False, weight=0)
    if letter.isascii() and not letter.isalnum():
        return literal(ord(letter))
    advice = {"Z": "; the end of the text is \\z", "e": "; this character is written \\x1B"}.get(letter, "")
    raise Fault(f"there is no escape \\{letter}{advice}" if letter.isprintable() else "there is no such escape", start)


def _read_hex(scanner: Scanner, letter: str, start: int) -> int:
    digits = ""
    if scanner.move() == "{":
        while (digit := scanner.move()) != "}":
            if not digit:
                raise Fault(f"\\{letter}{{ is not closed", start)
            if digit not in _HEX:
                raise Fault("a hexadecimal digit was expected", scanner.place)
            digits += digit
        if not digits:
            raise Fault(f"\\{letter}{{}} holds no digits", start)
    else:
        while True:
            if not scanner.next or scanner.next not in _HEX:
                raise Fault(f"\\{letter} needs {_HEX_LENGTHS[letter]} hexadecimal digits", start)
            digits += scanner.next
            if len(digits) == _HEX_LENGTHS[letter]:
                break
            scanner.move()
        if letter == "x" and int(digits, 16) > 0x7F and not scanner.is_unicode:
            raise Fault("without the flag u this is half of a character", start)
    scanner.move()
    digits = digits.lstrip("0") or "0"
    code_point = int(digits, 16) if len(digits) <= 6 else 0x11_0000
    if code_point > 0x10_FFFF or 0xD800 <= code_point <= 0xDFFF:
        raise Fault("there is no character with this number", start)
    return code_point


def _read_property(scanner: Scanner, start: int) -> Atom:
    kind = scanner.next
    name = scanner.move()
    if name == "{":
        letters = []
        while (letter := scanner.move()) != "}":
            if not letter:
                raise Fault(f"\\{kind}{{ is not closed", start)
            letters.append(letter)
        name = "".join(letters)
        scanner.place += 1
    elif not name or name == "\\":
        raise Fault(f"\\{kind} needs a letter, or a name in braces", start)
    else:
        scanner.move()
    if not scanner.is_unicode:
        raise Fault(f"\\{kind} needs the flag u", start)
    if not is_property(name):
        shown = f' "{name}"' if name.isprintable() and len(name) <= 40 else ""
        raise Fault(f"there is no category, script or property{shown} of characters", start)
    return Atom(None, is_set=True, weight=_PROPERTY_WEIGHTS.get(normal_name(name), BYTE_WEIGHT))


def _read_boundary(scanner: Scanner) -> None:
    r"""The word in ``\b{start}``. What is no word is a repetition, and left to be read as one."""
    start = scanner.place
    letter = scanner.move()
    if not letter:
        raise Fault("the brace is not closed", start)
    if not _is_boundary_letter(letter):
        scanner.place = start
        return
    word = ""
    while letter and _is_boundary_letter(letter):
        word += letter
        letter = scanner.move()
    if letter != "}":
        raise Fault("the brace is not closed", start)
    scanner.place += 1
    if word not in _BOUNDARIES:
        raise Fault(f"\\b{{...}} holds one of {', '.join(_BOUNDARIES)}", start)


def _is_boundary_letter(letter: str) -> bool:
    return letter == "-" or (letter.isascii() and letter.isalpha())
