"""Which URI schemes Lance can reach, pinned against Lance's own list."""

from __future__ import annotations

import re

import lance
import pytest

from omnigraph.storage.backend import LANCE_SCHEMES


def test_lance_names_exactly_the_schemes_that_a_backend_may_declare():
    with pytest.raises(ValueError, match="Valid schemes") as caught:
        lance.dataset("no-such-scheme://host/table")
    listed = re.search(r"Valid schemes: (.*?), /", str(caught.value), re.DOTALL)
    assert listed is not None, str(caught.value)
    assert set(listed.group(1).split(", ")) == LANCE_SCHEMES
