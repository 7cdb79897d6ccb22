"""Postings score texts as the formula of BM25 does, and those of a changed column are as good as new ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_world import SearchWorld, some_docs

from omnigraph.engine import postings as module
from omnigraph.engine.postings import Postings, extend_postings, make_postings, postings_name
from omnigraph.testing.text_model import VOCABULARY, bm25, words

TEXT = st.none() | st.lists(st.sampled_from(VOCABULARY[:6]), max_size=6).map(" ".join)
TEXTS = st.lists(TEXT, max_size=12)
QUERY = st.lists(st.sampled_from(VOCABULARY[:7]), max_size=4).map(" ".join)


def scores(postings: Postings, query: str) -> dict[int, float]:
    positions, found = postings.score(tuple(dict.fromkeys(words(query))))
    assert positions.tolist() == sorted(set(positions.tolist()))
    return dict(zip(positions.tolist(), found.tolist(), strict=True))


@pytest.mark.parametrize("is_sparse", [False, True])
@given(texts=TEXTS, query=QUERY)
def test_scores_are_those_of_the_formula(is_sparse: bool, texts: list[str | None], query: str) -> None:
    postings = make_postings(pa.array(texts, pa.string()))
    if is_sparse:
        # Room for many texts, so that the few that match are added up one by one.
        lengths = np.concatenate((postings.lengths, np.full(1000, -1, dtype=np.int32)))
        postings = Postings(**{**vars(postings), "lengths": lengths})
    known = [each for each in texts if each is not None]
    expected = {row: bm25(each, query, known) for row, each in enumerate(texts) if each is not None}
    assert scores(postings, query) == {row: pytest.approx(each) for row, each in expected.items() if each is not None}


def test_a_word_of_the_query_counts_once_and_one_of_the_text_as_often_as_it_is_there() -> None:
    postings = make_postings(pa.array(["gold", "gold gold", "salt"]))
    once, twice = scores(postings, "gold"), scores(postings, "gold gold")
    assert once == twice
    assert once[1] > once[0]


@given(texts=TEXTS, added=TEXTS, query=QUERY, data=st.data())
def test_extended_postings_answer_as_new_ones_do(
    texts: list[str | None], added: list[str | None], query: str, data: st.DataObject
) -> None:
    kept = [row for row in range(len(texts)) if data.draw(st.booleans())]
    taken = list(kept)
    for number in range(len(added)):
        lower = taken.index(len(texts) + number - 1) + 1 if number else 0
        taken.insert(data.draw(st.integers(lower, len(taken))), len(texts) + number)
    every = [*texts, *added]
    now = [every[each] for each in taken]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MAX_PIECES", data.draw(st.sampled_from([0, 512])))
        extended = extend_postings(
            make_postings(pa.array(texts, pa.string())), np.array(taken, dtype=np.int64), pa.array(added, pa.string())
        )
        fresh = make_postings(pa.array(now, pa.string()))
        assert scores(extended, query) == scores(fresh, query)
        for word, number in fresh.numbers.items():
            assert extended.having([extended.numbers[word]]).tolist() == fresh.having([number]).tolist()
    assert extended.lengths.tolist() == fresh.lengths.tolist()
    assert set(extended.known(list(extended.numbers))) == {extended.numbers[each] for each in fresh.numbers}


def test_after_a_commit_only_what_it_added_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    world = SearchWorld(some_docs(1, 40))
    assert world.names('$d: Doc  search($d.title, "gold")') == world.where(lambda each: "gold" in (each["title"] or ""))
    seen: list[list[str | None]] = []
    analyse = module.analyse

    def watched(texts: pa.Array, numbers: dict[str, int], *, is_stemmed: bool = True) -> module.Tokens:
        seen.append(texts.to_pylist())
        return analyse(texts, numbers, is_stemmed=is_stemmed)

    monkeypatch.setattr(module, "analyse", watched)
    world.load([{"name": "d0005", "title": "pure gold", "year": None, "v": None}])
    assert world.names('$d: Doc  search($d.title, "gold")') == world.where(lambda each: "gold" in (each["title"] or ""))
    assert seen == [["pure gold"]]


def test_words_that_nothing_has_any_more_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW_WORDS", 4)
    world = SearchWorld(some_docs(1, 30))
    sizes = []
    for number in range(40):
        world.load([{"name": "d000", "title": f"word{number} other{number}", "year": None, "v": None}])
        assert world.names("$d: Doc  search($d.title, $q)", q=("String", f"other{number}")) == ["d000"]
        image = world.source(settings=world.settings).image("node:Doc")
        assert image is not None
        sizes.append(len(image.peek(postings_name("title")).numbers))  # type: ignore[union-attr]
    assert max(sizes) <= 2 * (8 + 2) + 2


def test_postings_are_counted_with_what_they_hold() -> None:
    postings = make_postings(pa.array(["gold salt", None]))
    assert postings.nbytes >= sum(
        each.nbytes for each in (postings.starts, postings.positions, postings.frequencies, postings.lengths)
    )
    assert postings_name("title") != postings_name("title", is_stemmed=False)
