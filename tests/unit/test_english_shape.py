"""English patterns stay readable: short, and made of named lists and parts that are all in use."""

import re

import pytest

from streams.extractors.english import ENGLISH, NAMED
from streams.extractors.english_ahead import PARTS as AHEAD
from streams.extractors.english_circle import PARTS as CIRCLE
from streams.extractors.english_daily import PARTS as DAILY
from streams.extractors.english_deeds import PARTS as DEEDS
from streams.extractors.english_errands import PARTS as ERRANDS
from streams.extractors.english_lists import LISTS
from streams.extractors.english_making import PARTS as MAKING
from streams.extractors.english_matters import PARTS as MATTERS
from streams.extractors.english_over import PARTS as OVER
from streams.extractors.english_pursuits import PARTS as PURSUITS
from streams.extractors.english_traits import PARTS as TRAITS
from streams.extractors.english_words import WORDS
from streams.extractors.rule import Rule

LONGEST = 300  # characters of a pattern, as it is written
NAME = re.compile(r"(?<!P)<([a-z]+)\d*>")


@pytest.mark.parametrize("rule", ENGLISH.rules, ids=lambda rule: rule.example)
def test_a_rule_is_short_and_names_what_is_long(rule: Rule) -> None:
    assert len(rule.pattern) <= LONGEST


def test_a_part_is_short_and_names_what_is_long() -> None:
    long = {name for name, part in NAMED.items() if len(part) > 2 * LONGEST}
    assert long <= {*LISTS, "tech"}


def test_every_name_stands_for_one_thing_and_is_used() -> None:
    assert len(NAMED) == sum(
        len(one)
        for one in (
            LISTS,
            WORDS,
            DEEDS,
            PURSUITS,
            ERRANDS,
            MATTERS,
            TRAITS,
            AHEAD,
            DAILY,
            CIRCLE,
            MAKING,
            OVER,
        )
    )
    texts = [*(rule.pattern for rule in ENGLISH.rules), *NAMED.values()]
    assert {name for text in texts for name in NAME.findall(text)} == set(NAMED)
