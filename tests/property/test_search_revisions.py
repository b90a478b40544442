"""Revisions that are indexed together leave the same index as one after the other."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.search import versions
from streams.search.document import FOREVER, Doc
from streams.search.history_source import Change
from streams.search.store import Index

TEXTS = ["the heron", "a zebra", "the heron and the zebra"]
KINDS = [("state", None, "ann"), ("preference", None, "ann"), ("session_memory", "s1", None)]


@st.composite
def changes(draw: st.DrawFn) -> list[Change]:
    """Of a few states, preferences and items, of each owner in its order; some are told twice."""
    made = []
    for seq in range(1, draw(st.integers(1, 40)) + 1):
        kind, session, user = draw(st.sampled_from(KINDS))
        since = draw(st.integers(1, 5)) if kind == "state" else seq
        ends = draw(st.sampled_from([FOREVER, since + 2])) if kind == "state" else FOREVER
        doc = Doc(
            kind, draw(st.sampled_from("xyz")), session, user, seq, since, ends, seq,
            draw(st.sampled_from(TEXTS)), "", ["e1"],
        )  # fmt: skip
        change = Change(doc, draw(st.integers(0, 3)) == 0)
        made += [change] * draw(st.integers(1, 2))
    return made


def indexed(batches: Sequence[Sequence[Change]]) -> list[Any]:
    """All that the index then holds."""
    with TemporaryDirectory() as folder, closing(Index.create(Path(folder) / "i")) as index:
        index.db.execute("BEGIN")
        for some in batches:
            versions.apply(index, some)
        words = ("heron", "zebra", '"§kstate"', '"§u1"')
        found = "SELECT rowid FROM term WHERE term MATCH ?"
        return [
            index.docs,
            index.db.execute("SELECT * FROM doc ORDER BY id").fetchall(),
            index.db.execute("SELECT * FROM passage ORDER BY no").fetchall(),
            [index.db.execute(found, [word]).fetchall() for word in words],
        ]


@pytest.mark.component
@given(changes(), st.integers(1, 20))
def test_together_or_one_after_the_other(every: list[Change], size: int) -> None:
    alone = indexed([[one] for one in every])
    assert indexed([every]) == alone
    assert indexed([every[at : at + size] for at in range(0, len(every), size)]) == alone
