"""Chinese and Japanese affect: words of feeling with negation and degree, from lists by hand.

A list's line is `theme v a d : words`, in tenths. The longest word that matches at a place counts;
a negation turns it round, a word of degree makes it more or less; the text has the mean of its
words, pulled a little towards neutral. What is covered: docs/affect.md.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from streams.extractors.affect_english import Axes

TENTH = 0.1
DENIED = (-0.6, 0.5, -0.5)  # "not happy" is less than unhappy, and calmer than happy
PULL = 0.3  # words of no feeling that are added to the mean: one word alone is not sure
BREAK = re.compile(r"[\s，。！？、；：,.!?;:…「」『』（）()~～]")


class Degree(NamedTuple):
    """Words before a feeling and what they make of it."""

    factor: float
    words: tuple[str, ...]


class Language(NamedTuple):
    """How a language denies and grades: negation in the text before a word, or in that after it."""

    code: str
    denied_before: re.Pattern[str] | None
    denied_after: re.Pattern[str] | None
    degrees: tuple[Degree, ...]


CHINESE = Language(
    "zh",
    # Up to three characters between: 不会太难过, 没有那么开心.
    re.compile(r"(?:(?<!差)不(?![过但仅断久管论同])|没(?!想到)|未|毫无|并非)[^不没]{0,3}$"),
    None,
    (
        Degree(1.3, (
            "非常", "特别", "十分", "极", "超", "太", "最", "好", "真", "很", "相当", "格外",
            "无比",
        )),
        Degree(0.6, ("有点", "有些", "稍微", "略", "还算")),
    ),
)  # fmt: skip
JAPANESE = Language(
    "ja",
    None,
    # Endings and particles between alone (悲しくはなかった); 嬉しいかもしれない and 怒らないで
    # deny nothing.
    re.compile(r"[ぁ-ん]{0,5}?(?<!かもしれ)(?:ない(?!で(?!す))|なかった|なく|ません|ねえ)"),
    (
        Degree(1.3, (
            "とても", "すごく", "非常に", "めっちゃ", "めちゃくちゃ", "超", "かなり", "本当に",
            "ほんとに", "ほんとうに", "最も", "一番", "なんて", "大変",
        )),
        Degree(0.6, ("少し", "ちょっと", "やや", "少々", "まあまあ", "なんとなく")),
    ),
)  # fmt: skip

# A traditional character, then the simplified one that the list has.
TRADITIONAL = (
    "開开興兴樂乐歡欢悅悦遊游愛爱戀恋親亲擁拥優优傑杰絕绝讚赞獎奖順顺適适運运氣气訊讯鮮鲜麗丽"
    "靜静寧宁鬆松閒闲從从謝谢幫帮勵励熱热誠诚懇恳夢梦賀贺贏赢勝胜奪夺軍军錄录畢毕業业職职達达"
    "實实現现進进長长決决復复驕骄獨独強强聰聪學学動动奮奋驚惊嘆叹禮礼節节陽阳贊赞諒谅認认難难"
    "過过傷伤慘惨憐怜淚泪憂忧鬱郁喪丧沒没單单離离棄弃別别後后慚惭內内責责臉脸尷尴惱恼惡恶煩烦"
    "厭厌罵骂爭争滾滚癡痴負负視视滿满懼惧嚇吓險险脅胁擔担慮虑緊紧張张著着糾纠結结壓压潰溃亂乱"
    "勞劳無无頭头燒烧嘔呕殺杀謀谋毆殴擊击戰战彈弹槍枪災灾車车禍祸毀毁壞坏騙骗詐诈謊谎賣卖違违"
    "貪贪汙污敗败虛虚偽伪陰阴殘残員员產产虧亏損损黴霉錯错誤误丟丢評评爛烂質质聽听聞闻臟脏髒脏"
    "醜丑艱艰機机嚴严貧贫窮穷飢饥餓饿錢钱債债礙碍懲惩罰罚對对魯鲁見见為为說说還还點点極极級级"
    "當当時时衝冲諧谐團团憤愤懷怀關关閨闺圓圆獲获寶宝貝贝堅坚盡尽鬧闹涼凉費费間间掛挂術术貼贴"
    "愜惬穩稳溫温墳坟膽胆發发燦灿壯壮觀观艷艳慶庆僅仅斷断論论頂顶與与倫伦傳传誇夸稱称揚扬薦荐"
    "體体賴赖滅灭營营給给題题"
)
SIMPLIFIED = str.maketrans(TRADITIONAL[::2], TRADITIONAL[1::2])


@cache
def words(code: str) -> dict[str, Axes]:
    """The list of a language: word -> (valence, arousal, dominance)."""
    text = files("streams.extractors").joinpath(f"affect_{code}.txt").read_text("utf-8")
    axes_of_word: dict[str, Axes] = {}
    for line in text.splitlines():
        head, colon, listed = line.partition(" : ")
        if colon and not line.startswith("#"):
            _, v, a, d = head.split()
            axes_of_word |= dict.fromkeys(
                listed.split(), (int(v) * TENTH, int(a) * TENTH, int(d) * TENTH)
            )
    return axes_of_word


@cache
def reach(code: str) -> dict[str, int]:
    """First character -> length of the longest word that begins with it."""
    lengths: dict[str, int] = {}
    for word in words(code):
        lengths[word[0]] = max(len(word), lengths.get(word[0], 0))
    return lengths


def felt(text: str, by: Language) -> list[Axes]:
    """The values of each emotion word in its context."""
    if by is CHINESE:
        text = text.translate(SIMPLIFIED)
    axes_in_text: list[Axes] = []
    behind = 0
    for start, end, axes in _matches(text, words(by.code), reach(by.code)):
        if any(axes):
            # What stands before the word felt last belongs to that one.
            axes_in_text.append(
                _here(text[max(behind, start - 8) : start], text[end : end + 12], axes, by)
            )
        behind = end
    return axes_in_text


def _matches(
    text: str, listed: dict[str, Axes], reach: dict[str, int]
) -> Iterator[tuple[int, int, Axes]]:
    """(start, end, values) of the longest words, from left to right."""
    start = 0
    while start < len(text):
        length = reach.get(text[start], 0)
        while length and text[start : start + length] not in listed:
            length -= 1
        if length:
            yield start, start + length, listed[text[start : start + length]]
        start += length or 1


def _here(before: str, behind: str, axes: Axes, by: Language) -> Axes:
    """A word's values after what stands before and behind it in its clause."""
    before = BREAK.split(before)[-1]
    factor = next(
        (degree.factor for degree in by.degrees for word in degree.words if word in before[-5:]),
        1.0,
    )
    v, a, d = (value * factor for value in axes)
    denied = (by.denied_before and by.denied_before.search(before)) or (
        by.denied_after and by.denied_after.match(behind)
    )
    return (v * DENIED[0], a * DENIED[1], d * DENIED[2]) if denied else (v, a, d)


def mean(axes_in_text: list[Axes]) -> Axes:
    """The values of a text: the mean over its words, of which there is at least one."""
    size = len(axes_in_text) + PULL
    v, a, d = (sum(column) / size for column in zip(*axes_in_text, strict=True))
    return v, a, d
