"""Ids are version 5 UUIDs, as any other program would make them of the same names."""

from uuid import uuid5

from hypothesis import given
from hypothesis import strategies as st

from streams.folds.ids import NAMESPACE, make_id

names = st.text(st.characters(exclude_categories=["Cs"]))


@given(names, st.lists(names | st.integers()))
def test_an_id_is_the_uuid5_of_its_parts(kind: str, parts: list[str | int]) -> None:
    name = "\x1f".join([kind, *map(str, parts)])
    assert make_id(kind, *parts) == str(uuid5(NAMESPACE, name))
