"""What repeats in a rule is read in one way, and no text that almost fits a rule takes long."""

import time
from collections.abc import Iterator
from re import _constants as op
from re import _parser as parser
from typing import Any

import pytest

from streams.extractors import rules
from streams.extractors.engine import MAX_CLAUSE, Language

pytestmark = pytest.mark.nightly

REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT)
BOUND = 0.5  # seconds of CPU for a text; without end where a loop could be read in two ways
ENDS = {
    "en": " happyish", "zh": "恐龙", "ja": "草", "de": " dass?", "fr": " donc?", "es": " pues?",
}  # fmt: skip


def loops(tree: Any) -> Iterator[Any]:
    """What each repeated group of a parsed pattern repeats, the inner ones too."""
    for code, value in tree:
        if code in REPEATS and value[1] > 1:
            yield value[2]
        for part in value if isinstance(value, (tuple, list)) else (value,):
            for branch in part if isinstance(part, list) else (part,):
                if isinstance(branch, parser.SubPattern):
                    yield from loops(branch)


def spellings(tree: Any) -> list[str]:
    """Texts that a parsed pattern matches, in the order in which they are tried; one of a class."""
    texts = [""]
    for code, value in tree:
        texts = [text + more for text in texts for more in _each(code, value)]
    return texts


def _each(code: Any, value: Any) -> list[str]:
    if code is op.LITERAL:
        return [chr(value)]
    if code is op.BRANCH:
        return [text for branch in value[1] for text in spellings(branch)]
    if code in (op.SUBPATTERN, op.ATOMIC_GROUP):
        return spellings(value[-1] if code is op.SUBPATTERN else value)
    if code in REPEATS:
        least, most, inner = value
        once = spellings(inner)
        return [*once, *([""] if least == 0 else [])] if most else [""]
    if code is op.IN:
        kind, what = value[0]
        if kind is op.RANGE:
            return [chr(what[0])]
        return [chr(what) if kind is op.LITERAL else "a"]
    return ["" if code in (op.AT, op.ASSERT, op.ASSERT_NOT) else "a"]


@pytest.mark.parametrize("name", rules.LANGUAGES)
def test_a_loop_takes_a_word_whole_the_longer_one_first(name: str) -> None:
    """A word that comes after its own beginning would never be found."""
    language = rules.LANGUAGES[name]
    for rule, pattern in zip(language.rules, language._patterns, strict=True):
        for loop in loops(parser.parse(pattern.pattern)):
            whole = loop[0][0] is op.ATOMIC_GROUP and len(loop) == 1
            assert whole or loop.getwidth() == (1, 1), rule.example
            texts = spellings(loop)
            assert "" not in texts, rule.example
            late = [
                (before, after)
                for number, after in enumerate(texts)
                for before in texts[:number]
                if before != after and after.startswith(before)
            ]
            assert not late, rule.example


def _spent(language: Language, text: str) -> float:
    began = time.process_time()
    language.find(text)
    return time.process_time() - began


@pytest.mark.parametrize("name", rules.LANGUAGES)
def test_repeats_before_what_fits_no_rule_cost_little(name: str) -> None:
    """Each rule's example with each word of its loops (of a loop met before, with two of them)
    again and again: as many as a clause may hold, 40, and 400, before an end that no rule knows."""
    language = rules.LANGUAGES[name]
    met: set[tuple[str, ...]] = set()
    for rule, pattern in zip(language.rules, language._patterns, strict=True):
        said = rule.example[:-1]
        middle = said.find(" ", len(said) // 2) + 1 or len(said) // 2
        repeated = {tuple(spellings(loop)) for loop in loops(parser.parse(pattern.pattern))}
        words = {word for loop in repeated for word in (loop[:2] if loop in met else loop)}
        met |= repeated
        for word in sorted(words):
            fits = max(1, (MAX_CLAUSE - len(said) - len(ENDS[name])) // len(word))
            for place in (middle, len(said)):
                for times in (fits, 40, 400):
                    text = f"{said[:place]}{word * times}{said[place:]}{ENDS[name]}"
                    assert _spent(language, text) < BOUND, (rule.example, word, times)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("en", "I feel " + "very " * 20 + "happyish"),
        ("en", "I feel " + "so very " * 12 + "happyish"),
        ("ja", "今日はとても疲れた" + "w" * 40 + "草"),
        ("zh", "我" + "刚刚早就" * 30 + "恐龙"),
    ],
)
def test_what_took_for_ever_does_not(name: str, text: str) -> None:
    assert _spent(rules.LANGUAGES[name], text) < BOUND
