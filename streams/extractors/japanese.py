"""Japanese: a first-person statement as a plain sentence about the user."""

import re

_KEPT = (  # stems whose last letter stays, though it looks like that of the other class
    "起き", "でき", "出来", "生き", "飽き", "浴び", "落ち", "過ぎ", "借り", "降り", "足り",
    "てみ", "でみ", "てき",
)  # fmt: skip
_PAST = {
    "き": "いた", "ぎ": "いだ", "ち": "った", "り": "った", "い": "った", "に": "んだ",
    "び": "んだ", "み": "んだ", "し": "した", "じ": "じた",
}  # fmt: skip
_BASE = {
    "き": "く", "ぎ": "ぐ", "ち": "つ", "り": "る", "い": "う", "に": "ぬ", "び": "ぶ", "み": "む",
    "し": "する", "じ": "じる",
}  # fmt: skip
_TE = "捨建立育当慌企隔果充宛"  # of these the て is the verb's own
_SPOKEN = tuple(
    (re.compile(pattern), plain)
    for pattern, plain in (
        (rf"(?<![{_TE}])てい?ました$", "ていた"),
        (r"(?<=[んい])でい?ました$", "でいた"),
        (rf"(?<![{_TE}])てい?(?:ます|る)$", "ている"),
        (r"(?<=[んい])でい?(?:ます|る)$", "でいる"),
        (r"ちゃ(?:った|いました)$", "てしまった"),
        (r"じゃ(?:った|いました)$", "でしまった"),
        (r"たいです$", "たい"),
        (r"(?<=[えけせてねへめれげぜでべぺ])ません$", "ない"),
    )
)
_PAST_POLITE = re.compile(r"(?P<stem>.+?)ました$", re.DOTALL)
_POLITE = re.compile(r"(?P<stem>.+?)ます$", re.DOTALL)
_GODAN_SU = re.compile(
    r"(?:(?<![電会対談])話|出|返|貸|探|直|押|消|渡|指|回|過ご|起こ|暮ら|こな|増や|減ら)し$"
)
_OWN = (
    (re.compile(r"(?:私|僕|俺|わたし|ぼく|うち)の"), "自分の"),
    (re.compile(r"(?:私|僕|俺|わたし|ぼく)(?:たち|達|ら)?(?=[はがもとにをで])"), "自分"),
)


def tell(says: str, parts: dict[str, str]) -> str:
    """A rule's `says` with its parts, plain and in the third person."""
    sentence = says.format_map({name: third_person(plain(text)) for name, text in parts.items()})
    if parts["condition"]:
        sentence = f"{sentence.removesuffix('。')}（{parts['condition']}）。"
    return sentence


def third_person(text: str) -> str:
    """ "私の店に行った" -> "自分の店に行った"."""
    for pattern, replacement in _OWN:
        text = pattern.sub(replacement, text)
    return text


def plain(text: str) -> str:
    """The plain form of a polite or spoken ending: "会いました" -> "会った"."""
    for pattern, ending in _SPOKEN:
        if pattern.search(text):
            return pattern.sub(ending, text)
    if past := _PAST_POLITE.match(text):
        return _joined(past["stem"], _PAST, "た")
    if polite := _POLITE.match(text):
        stem = polite["stem"]
        return stem[:-1] + "す" if _GODAN_SU.search(stem) else _joined(stem, _BASE, "る")
    return text


def _joined(stem: str, endings: dict[str, str], default: str) -> str:
    """The stem of a polite form with a plain ending: that of its last letter, or the other one."""
    if stem.endswith("行き") and default == "た":
        return stem[:-1] + "った"
    if stem.endswith(_KEPT) or stem[-1] not in endings:
        return stem + default
    return stem[:-1] + endings[stem[-1]]
