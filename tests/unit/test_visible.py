"""Text of others in a pack and on a terminal: nothing unseen, no quotation mark, no citation."""

import json
import unicodedata

import pytest

from schemas.citation import cited
from streams import output
from streams.context.visible import quoted, sanitize

ALL = [chr(code) for code in (*range(0x20000), *range(0xE0000, 0xE1000))]
IGNORABLE = [
    *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0xE0000, 0xE0080), 0x00AD, 0x034F,
    0x061C, 0x115F, 0x1160, 0x17B4, 0x180B, 0x180E, 0x200B, 0x200E, 0x202E, 0x2060, 0x2064, 0x2066,
    0x206A, 0x3164, 0xFEFF, 0xFFA0, 0x1D173, 0x1BCA0, 0xFFF0,
]  # fmt: skip


@pytest.mark.parametrize("around", ["{}", "a{}b", "é{0}{0}é", "a {} b"])
def test_what_is_not_seen_goes(around: str) -> None:
    plain = sanitize(around.format("").replace("  ", " "))
    for code in IGNORABLE:
        assert sanitize(around.format(chr(code))) == plain, hex(code)


def test_no_hidden_category_is_left() -> None:
    text = sanitize("a" + "b".join(ALL))
    assert {unicodedata.category(one) for one in text}.isdisjoint({"Cc", "Cf", "Cs", "Co", "Cn"})
    assert not {chr(code) for code in IGNORABLE} & set(text)


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم قهوه",
        "ক্\u200dষ",
        "👩\u200d👧 and 👨\u200d👩\u200d👧\u200d👦",
        "क्\u200cष",
        "naïve café",
        "한국어",
    ],
)
def test_joiners_that_change_what_is_seen_stay(text: str) -> None:
    assert sanitize(text) == text


def test_joiners_carry_nothing_unseen() -> None:
    for bits in ("\u200c\u200d" * 40, "\u200d\u200c", "\u200d"):
        for text in ("ab", "قه", "👩👧", "क्ष", " "):
            assert len(sanitize(text[:1] + bits + text[1:])) <= len(text) + 1
        assert sanitize(f"a{bits}b") == "ab"
        assert sanitize(bits) == ""


def test_no_text_closes_its_quotation() -> None:
    for one in ALL:
        if unicodedata.category(one)[0] in "CLMNZ" and unicodedata.category(one) != "Lm":
            continue
        inner = quoted(one)[1:-1]
        assert inner in "‘’" or (
            unicodedata.category(inner) not in ("Pi", "Pf")
            and "QUOTATION MARK" not in unicodedata.name(inner, "")
            and inner != '"'
        ), hex(ord(one))
    assert quoted("it's 「x」 (y)") == "“it's 「x」 (y)”"


@pytest.mark.parametrize("kind", ["state", "preference", "session_memory", "event"])
@pytest.mark.parametrize(
    "form",
    [
        "[{}]",
        "[ {} ]",
        "[{}",
        "［{}］",
        "【{}】",
        "x”[{}]",
        "[\ufe0f{}]",
        "[\u200b{}]",
        "[{}\ufe0f]",
    ],
)
def test_no_text_has_a_citation(kind: str, form: str) -> None:
    citation = cited(kind, "id")
    for spelt in (
        citation,
        citation.upper(),
        citation.replace(":", "："),
        citation[:1] + " : " + citation[2:],
    ):
        text = sanitize(form.format(spelt))
        assert "(" in text and not any(
            unicodedata.category(one) == "Ps" and one != "(" for one in text
        )
    assert (
        sanitize("[a] list[0]: see [1] and [note: this]") == "[a] list[0]: see [1] and [note: this]"
    )


def test_a_terminal_is_not_steered(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = (
        "".join(one for one in ALL if unicodedata.category(one) == "Cc" and one not in "\n\t")
        + "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )
    output.say(hostile)
    output.note(hostile)
    output.say_json({"text": hostile, hostile: 1})
    output.table([{"a": hostile}], ["a"])
    said = capsys.readouterr()
    assert not set(hostile) & set(said.out + said.err)
    output.say_json({"text": hostile})
    assert json.loads(capsys.readouterr().out) == {"text": hostile}
    output.say("می\u200cخواهم 👩\u200d👧")
    assert capsys.readouterr().out == "می\u200cخواهم 👩\u200d👧\n"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 dead letters"), (1, "1 dead letter"), (2000, "2,000 dead letters")],
)
def test_one_is_counted_in_the_singular(number: int, text: str) -> None:
    assert output.counted(number, "dead letter") == text
