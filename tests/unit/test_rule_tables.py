"""The tables of the rules: an entry takes its examples, leaves out what it must, has its schema."""

import re

import pytest

from streams.extractors import languages
from streams.extractors.table import parsed

AT = 1_772_000_000_000_000
GUARDS = """
[guards]
sentence = [.]
clause = ,
lead = \\s*
forgets = forget
[takes]
empty = it
[rules]
"""
RULE = "background | family=home | slot=home | says=Lives in {value}.\n"


@pytest.mark.parametrize("code", languages.CODES)
def test_an_entry_takes_its_examples(code: str) -> None:
    language = languages.language(code)
    missed = []
    for rule in language.rules:
        for example in rule.examples:
            text, _, value = example.partition(" >> ")
            findings = [one for one in language.find(text, AT) if one.rule is rule]
            if not any(value in ("", one.value, one.old) for one in findings):
                missed.append((example, findings))
    assert not missed


@pytest.mark.parametrize("code", languages.CODES)
def test_an_entry_leaves_out_what_it_must(code: str) -> None:
    language = languages.language(code)
    wrong = [
        (text, rule.example)
        for rule in language.rules
        for text in rule.leaves
        if any(one.rule is rule for one in language.find(text, AT))
    ]
    assert not wrong


@pytest.mark.parametrize("text", ["play a song", "is it in range", "my device", "who developed it"])
def test_a_word_of_a_list_is_a_cue_as_a_whole_word(text: str) -> None:
    """ "son", "rang" and "dev" would have each of these turns read clause by clause."""
    assert not languages.language("en")._cues.hits(text)


@pytest.mark.parametrize("code", languages.CODES)
def test_an_entry_is_found_behind_a_date_and_what_opens_a_sentence(code: str) -> None:
    """The words that say when something is so are no part of an entry."""
    before = {"en": "Yesterday ", "zh": "昨天", "ja": "昨日", "de": "", "fr": "", "es": ""}[code]
    language = languages.language(code)
    ends = [rule for rule in language.rules if rule.kind == "end"]
    found = sum(
        any(one.rule is rule for one in language.find(before + text, AT))
        for rule in ends
        for text, *_ in [rule.example.split(" >> ")]
    )
    assert found >= len(ends) * 0.75


DATED = {
    "en": (["I live in Leeds {}.", "I started at Acme {}.", "I am allergic to nuts {}."],
           ["in May 2023", "since May 2023", "ever since 5 May 2023", "since around 2019",
            "back in the spring of 2023", "from 2023-05-01", "since last May", "since 2019"]),
    "zh": (["我{}住在北京。", "我{}在腾讯工作。", "我{}对花生过敏。"],
           ["从2023年5月", "自从2019年起", "从2019年开始", "2019年以来", "2023年5月"]),
    "ja": (["{}大阪に住んでいます。", "{}トヨタで働いています。"],
           ["2019年から", "2019年以来", "2023年の春に", "去年の5月から"]),
    "de": (["Ich wohne {} in Leipzig.", "Ich bin {} Lehrer."],
           ["seit Mai 2023", "seit 2019", "seit dem 5. Mai 2023", "seit Ende Mai 2023"]),
    "fr": (["J'habite à Lyon {}.", "Je suis professeur {}."],
           ["depuis mai 2023", "depuis 2019", "depuis le 5 mai 2023", "depuis l'été 2022"]),
    "es": (["Vivo en Madrid {}.", "Soy profesor {}."],
           ["desde mayo de 2023", "desde 2019", "desde el 5 de mayo de 2023"]),
}  # fmt: skip


@pytest.mark.parametrize("code", languages.CODES)
def test_the_words_before_and_after_a_date_are_no_part_of_a_value(code: str) -> None:
    def values(text: str) -> set[str]:
        return {finding.value for finding in languages.language(code).find(text, AT)}

    statements, dates = DATED[code]
    for statement in statements:
        plain = values(statement.replace(" {}", "").replace("{}", ""))
        assert plain, statement
        for date in dates:
            assert values(statement.format(date)) == plain, statement.format(date)


@pytest.mark.parametrize("before", ["", "I live in Leeds and "])
def test_a_contraction_needs_no_apostrophe(before: str) -> None:
    english = languages.language("en")
    contraction = re.compile(r"(?<=[A-Za-z])'(?=(?:m|ve|t)\b)")
    texts = [example.partition(" >> ")[0] for rule in english.rules for example in rule.examples]
    contracted = [
        before + text for text in texts if text.startswith("I") and contraction.search(text)
    ]
    assert len(contracted) > 20
    for text in contracted:
        bare = contraction.sub("", text)
        assert [finding.value for finding in english.find(bare, AT)] == [
            finding.value for finding in english.find(text, AT)
        ], bare


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (RULE + "~ live\n+ I live in Rome. >> Rome\n- Live!\n", "'patterns'"),
        (RULE.replace("background", "fact") + "~ a\n/ a\n+ a\n- b\n", "'fact'"),
        (RULE.replace("slot", "slut") + "~ a\n/ a\n+ a\n- b\n", "slut"),
    ],
)
def test_an_entry_out_of_its_schema_is_named_with_its_line(lines: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"t\.txt:\d+: ") as raised:
        parsed(GUARDS + lines, "t.txt")
    assert reason in str(raised.value)


def test_a_pattern_without_a_name_is_named_with_its_line() -> None:
    with pytest.raises(ValueError, match=r"t\.txt:2: expected 'name = pattern'"):
        parsed("[words]\nkin\n", "t.txt")
