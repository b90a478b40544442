"""The MemorySummary for an intent router, from rules and templates without a model.

The table of templates is in docs/http.md.
"""

import re
from typing import Any, Literal, NamedTuple

from streams.folds.constants import Rules
from streams.folds.effects import Rows
from streams.folds.learner import LEARNER, TOPICS, Learner, mastery, score
from streams.folds.session_state import HEADER, Session, visible

Language = Literal["zh", "ja", "en"]
LANGUAGES: tuple[Language, ...] = ("zh", "ja", "en")

KINDS = {
    "quiz": "quiz", "quiz_session": "quiz", "take_quiz": "quiz",
    "homework": "homework", "homework_help": "homework",
    "explanation": "explanation", "explain": "explanation", "question": "explanation",
    "notes": "notes", "summary": "notes",
    "flashcards": "flashcards", "review": "flashcards",
}  # fmt: skip
"""Kind of behaviour by intent; all others are `other`."""

KANA = re.compile("[\u3040-\u30ff]")
HAN = re.compile("[\u3400-\u9fff]")

NEWCOMER: dict[Language, str] = {"zh": "新用户", "ja": "新しいユーザー", "en": "New user"}

BEHAVIOUR: dict[str, dict[Language, tuple[str, str]]] = {
    "quiz": {
        "zh": ("用户刚做过{topic}练习题", "用户刚做过练习题"),
        "ja": (
            "ユーザーは{topic}の練習問題を解いたところです",
            "ユーザーは練習問題を解いたところです",
        ),
        "en": ("The user has just done a quiz on {topic}", "The user has just done a quiz"),
    },
    "homework": {
        "zh": ("用户刚问过{topic}作业", "用户刚问过作业"),
        "ja": (
            "ユーザーは{topic}の宿題について質問したところです",
            "ユーザーは宿題について質問したところです",
        ),
        "en": (
            "The user has just asked for help with homework on {topic}",
            "The user has just asked for help with homework",
        ),
    },
    "explanation": {
        "zh": ("用户刚看过{topic}讲解", "用户刚看过讲解"),
        "ja": (
            "ユーザーは{topic}の説明を読んだところです",
            "ユーザーは説明を読んだところです",
        ),
        "en": (
            "The user has just had {topic} explained",
            "The user has just had something explained",
        ),
    },
    "notes": {
        "zh": ("用户刚整理过{topic}笔记", "用户刚整理过笔记"),
        "ja": (
            "ユーザーは{topic}のノートをまとめたところです",
            "ユーザーはノートをまとめたところです",
        ),
        "en": ("The user has just made notes on {topic}", "The user has just made notes"),
    },
    "flashcards": {
        "zh": ("用户刚用卡片复习过{topic}", "用户刚用卡片复习过"),
        "ja": (
            "ユーザーは{topic}を単語カードで復習したところです",
            "ユーザーは単語カードで復習したところです",
        ),
        "en": (
            "The user has just reviewed {topic} with flashcards",
            "The user has just reviewed with flashcards",
        ),
    },
    "other": {
        "zh": ("用户刚聊过{topic}", "用户刚聊过天"),
        "ja": (
            "ユーザーは{topic}について話したところです",
            "ユーザーは話をしたところです",
        ),
        "en": ("The user has just talked about {topic}", "The user has just talked"),
    },
}  # fmt: skip
"""Sentences about the latest behaviour: with a topic, and without one."""


Known = tuple[Rows, Rules]
"""The rows of a session or user, and the rules that they were folded under."""


class Latest(NamedTuple):
    """The latest intent of a session or learner, and the topic it went with."""

    at: int
    said_by: str
    intent: str
    topic: str | None


def summary(session: Known | None, user: Known | None, language: Language | None) -> dict[str, Any]:
    """Returns the summary (schemas.learner.MemorySummary).

    `session` and `user` are None if not requested. `language` defaults to the language of the
    topic, then of the latest message, then English.
    """
    header = _header(*session) if session else None
    learner = user[0].get(LEARNER) if user else None
    topic = header.topic[2] if header and header.topic else None
    hint = _mastery(*user, topic) if user and topic else None
    return {
        "topic_hint": topic,
        "user_mastery_hint": hint or "weak",
        "known": hint is not None,
        "recent_behavior": _behaviour(header, learner, language),
    }


def user_of(session: Rows, rules: Rules) -> str | None:
    """Returns the user of the session's earliest turn that has one."""
    header = _header(session, rules)
    return header.user[2] if header and header.user else None


def _header(session: Rows, rules: Rules) -> Session | None:
    base = session.get(HEADER)
    return visible(session, base, rules) if base else None


def _mastery(user: Rows, rules: Rules, name: str) -> str | None:
    """The mastery of a topic, if there are answers in it."""
    topic = user.get(TOPICS.key(name))
    p = score(topic.days, rules) if topic else None
    return None if p is None else mastery(p, rules)


def _behaviour(header: Session | None, learner: Learner | None, language: Language | None) -> str:
    """One sentence of the latest behaviour of the learner or in the session."""
    hint = header.topic[2] if header and header.topic else None
    latest = _latest(header, learner)
    topic = (latest.topic if latest else None) or hint
    message = header.message[2] if header and header.message else None
    language = language or _spoken(topic, message)
    if header is None and learner is None:
        return NEWCOMER[language]
    kind = KINDS.get(latest.intent, "other") if latest else "other"
    naming, plain = BEHAVIOUR[kind][language]
    # a topic that ends with a dash has no last part
    return naming.format(topic=topic.rsplit("-", 1)[-1].strip() or topic) if topic else plain


def _latest(header: Session | None, learner: Learner | None) -> Latest | None:
    candidates: list[Latest] = []
    if learner and learner.latest:
        at, record_id, intent, topic = learner.latest
        candidates.append(Latest(at, record_id, intent or "", topic))
    if header and header.intents:
        candidates.append(Latest(*header.intents[-1], header.topic[2] if header.topic else None))
    return max(candidates, key=lambda latest: latest[:2], default=None)


def _spoken(topic: str | None, message: str | None) -> Language:
    """The language of a topic, then of a message, by their script; kana anywhere is Japanese."""
    texts = [text for text in (topic, message) if text]
    scripts = [_script(text) for text in texts]
    if "ja" in scripts and scripts[0] != "en":
        return "ja"
    return scripts[0] if scripts else "en"


def _script(text: str) -> Language:
    if KANA.search(text):
        return "ja"
    return "zh" if HAN.search(text) else "en"
