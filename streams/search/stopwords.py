"""Word lists: stop words, words about the present or the past, numbers, months."""

import re


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


STOP = frozenset(
    _words("""
    a about after all also am an and any are as at be because been before but by can could did do
    does doing for from had has have having he her hers him his how i if in into is it its just me
    more most my no not of on once only or other our out over own s same she should so some such t
    than that the their them then there these they this those to too under up us very was we were
    what when where which while who whom whose why will with would you your tell know remember
    """)
)
STOP_EAST = frozenset(
    _words("""
    什么 甚么 怎么 哪里 哪儿 多少 几点 是不 不是 了吗 的是 是什 有没 没有 我的 你的 他的 她的 我们
    です ます まし した でし って いう とか から まで どこ だれ なに 何を 何が いつ なん すか たか
    くだ ださ さい だっ った てい いる ある この その あの
    """)
)
"""Pairs of characters, as `tokens` returns them."""
NOW = frozenset(
    _words("now current currently latest newest recent recently today nowadays anymore")
)
THEN = frozenset(
    _words("before formerly previously former previous past earlier once ago originally")
)
THEN_EAST = _words("以前 之前 从前 曾经 過去 过去 昔 当时 当時 かつて")
NOW_EAST = _words("现在 現在 目前 最近 最新 如今 今は 今の いま")
MONTHS = _words(
    "january february march april may june july august september october november december"
)
NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        _words("two three four five six seven eight nine ten eleven twelve"), start=2
    )
}


def _contains_any(text: str, words: frozenset[str], phrases: tuple[str, ...]) -> bool:
    return not words.isdisjoint(re.findall(r"[a-z]+", text.lower())) or any(
        phrase in text for phrase in phrases
    )


def asks_for_now(text: str) -> bool:
    """Whether a query is about the present."""
    return _contains_any(text, NOW, (*NOW_EAST, "last time"))


def asks_for_then(text: str) -> bool:
    """Whether a query is about the past."""
    return _contains_any(text, THEN, (*THEN_EAST, "used to"))
