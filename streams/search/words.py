"""Lists of words: what says nothing in a question, what asks for the present or the past, numbers,
months."""

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
"""Pairs of characters, as `tokens` makes them."""
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


def _spoken(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def asks_for_now(text: str) -> bool:
    """Whether a question is about the present."""
    return not NOW.isdisjoint(_spoken(text)) or any(one in text for one in (*NOW_EAST, "last time"))


def asks_for_then(text: str) -> bool:
    """Whether a question is about what was."""
    return not THEN.isdisjoint(_spoken(text)) or any(one in text for one in (*THEN_EAST, "used to"))
