"""Random values as a query writes them: as literals, or as parameters with what is given for them.

Numbers go across widths and to the edges of their types; some parameters are null. ``query_strategies`` writes whole
queries around them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from omnigraph.testing.strategies import ENUMS, SPELLINGS, VALUES

NUMERIC: Final = ("I32", "I64", "U32", "U64", "F32", "F64")

EXTRA_NUMBERS: Final = (
    0,
    1,
    2,
    3,
    2**53,
    2**53 + 1,
    2**63 - 1,
    -1,
    -(2**63),
    0.5,
    0.1,
    1.5,
    2.7,
    1.0,
    2.0,
    -0.5,
    1e300,
)


@dataclass
class ValueWriter:
    """Writes values of one query, and keeps the parameters that it declared for them."""

    random: Random
    params: dict[str, Any] = field(default_factory=dict)
    declared: list[str] = field(default_factory=list)

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def parameter(self, declared: str, value: Any) -> str:
        """A new parameter; rarely a nullable one, and then maybe null or left out."""
        name = f"p{len(self.declared)}"
        if self.chance(0.2):
            declared += "?"
            if self.chance(0.4):
                value = None
        self.declared.append(f"${name}: {declared}")
        if value is not None or self.chance(0.5):
            self.params[name] = value
        return f"${name}"

    def given(self, owner: str, kind: str) -> str:
        """A literal or a parameter that can be compared with a property of this kind."""
        if kind.startswith("["):
            kind = kind[1:-1]
        if kind in NUMERIC:
            return self.number(kind)
        if kind == "Bool":
            value = self.pick(True, False)
            return self.parameter("Bool", value) if self.chance(0.3) else str(value).lower()
        if kind in ("Date", "DateTime"):
            value = self.pick(*VALUES[kind])
            return self.parameter(kind, value) if self.chance(0.4) else f'{kind.lower()}("{value}")'
        if kind == "enum":
            value = self.pick(*ENUMS[owner])
        elif kind == "text":
            value = self.pick("", "river", "the", "o", *SPELLINGS[:4])
        else:
            value = self.pick(*VALUES["String"])
        return self.parameter("String", value) if self.chance(0.4) else quoted(value)

    def number(self, kind: str) -> str:
        value = self.pick(*VALUES[kind], *EXTRA_NUMBERS)
        is_float = isinstance(value, float)
        plain = format(value, "f").rstrip("0") if is_float else str(value)
        plain += "0" if plain.endswith(".") else ""
        is_literal = plain[0] != "-" and (not is_float or (len(plain) < 25 and float(plain) == value))
        if is_literal and value < 2**64 and self.chance(0.6):
            return plain
        if is_float:
            # A parameter is F32 only where that loses nothing.
            return self.parameter("F32" if kind == "F32" and value in (0.5, 1.5, 2.0) else "F64", value)
        if value >= 2**64:
            return self.parameter("F64", float(value))
        fitting = [each for each in ("I32", "I64", "U32", "U64", "F64") if _fits(value, each)]
        declared = self.pick(*fitting)
        return self.parameter(declared, str(value) if declared != "F64" and self.chance(0.1) else value)

    def query_text(self, most: int = 3) -> str:
        text = " ".join(self.random.choices(SPELLINGS, k=self.random.randint(1, most)))
        if self.chance(0.1):
            text += " zzz"
        return self.parameter("String", text) if self.chance(0.3) else quoted(text)


def _fits(value: int, kind: str) -> bool:
    if kind == "F64":
        return float(value) == value
    low, high = {"I32": (-(2**31), 2**31), "I64": (-(2**63), 2**63), "U32": (0, 2**32), "U64": (0, 2**64)}[kind]
    return low <= value < high


def quoted(text: str) -> str:
    """A text as a literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
