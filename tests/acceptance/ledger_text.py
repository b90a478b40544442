"""What the user of the ledger says in each of its turns, in Japanese as people speak it.

The sentences are made of the entries' `value` and `replaces`: nothing of the ledger stands here.
Only a `tell` turn says something new. The others are there to be passed over: questions, answers
that show what is remembered, confirmations, moods, and what friends like.
"""

from typing import Any, TypeVar

T = TypeVar("T")
Entry = dict[str, Any]  # {key, session, op (add, correct), value, replaces}

# By key of the ledger: how the user says it at first, and how when it has changed.
TOLD: dict[str, tuple[str, ...]] = {
    "P01": ("{value}と呼んでください。", "私のことは{value}と呼んでもらえますか。"),
    "P02": ("飲み物は{value}がいちばん好きです。", "好きな飲み物は{value}です。"),
    "P03": ("{value}が苦手です。", "食べ物だと、{value}だけはどうしても嫌いです。"),
    "P04": ("{value}のほうが集中できます。", "いちばん集中できるのは{value}です。"),
    "P05": ("いまは{value}を目標にしています。", "今の目標は{value}です。"),
    "P06": ("好きな作品は{value}です。", "作品でいうと、{value}がいちばん好きですね。"),
}
CHANGED: dict[str, tuple[str, ...]] = {
    "P01": (
        "前は{replaces}と呼んでと言ったけど、今は{value}と呼んでほしいです。",
        "{replaces}じゃなくて、これからは{value}と呼んでください。",
        "呼び方、{replaces}じゃなくて{value}にしてもらえますか。",
    ),
    "P02": (
        "前は{replaces}が好きと言ったけど、今は{value}のほうが好きです。",
        "好きな飲み物、もう{replaces}じゃなくて{value}になりました。",
        "以前は{replaces}ばかり飲んでいましたが、最近は{value}が好きです。",
    ),
    "P03": (
        "前は{replaces}が苦手と言ったけど、もう平気で、今は{value}が苦手です。",
        "訂正です。嫌いなのは{replaces}じゃなくて{value}です。",
        "{replaces}はもう嫌いじゃなくて、今だめなのは{value}です。",
    ),
    "P04": (
        "前は{replaces}が集中できると言ったけど、今は{value}のほうが集中できます。",
        "集中できる時間、{replaces}じゃなくて{value}に変わりました。",
        "最近は{replaces}より{value}のほうが集中できるようになりました。",
    ),
    "P05": (
        "前は{replaces}が目標と言ったけど、今は{value}が目標です。",
        "目標を見直しました。{replaces}じゃなくて{value}にします。",
        "{replaces}じゃなくて、{value}を目標にすることにしました。",
    ),
    "P06": (
        "前は{replaces}が好きと言ったけど、今いちばん好きな作品は{value}です。",
        "好きな作品は{replaces}じゃなくて{value}になりました。",
        "やっぱり{replaces}じゃなくて、{value}がいちばん好きな作品です。",
    ),
}
TOLD_OTHER = (
    "今いちばん関心があるのは{value}です。",
    "ひとつ覚えておいてください。最近の私のテーマは{value}です。",
    "これからの予定に{value}を入れました。",
    "それと、{value}も覚えておいてください。",
    "新しく{value}を計画に加えたので、覚えておいてもらえますか。",
)
CHANGED_OTHER = (
    "前は{replaces}と言ったけど、今は{value}です。",
    "{replaces}じゃなくて{value}にしました。",
)
ASKED = (
    "前に話したこと、覚えていますか。",
    "私の好きな飲み物って何だったっけ？",
    "この前、苦手な食べ物の話をしましたよね。何と言っていましたか？",
    "今の目標、何だったか教えてください。",
    "私のこと、どのくらい覚えてる？",
)
CONFIRMED = (
    "はい、さっき言ったとおりです。",
    "そうそう、それで合ってる。",
    "うん、{values}で間違いないよ。",
    "ええ、{values}の件はそのとおりです。よろしくお願いします。",
)
NOTHING_NEW = "今日は特に変わったことはありません。"
FELT: dict[str | None, tuple[str, ...]] = {
    "joy": (
        "今日はうれしいことがあって、ずっと笑ってました。",
        "朝から楽しくて、とても幸せな気分です。",
        "やった！うれしくて、誰かに話したくて。",
    ),
    "achievement": (
        "ついにやりきりました。達成感でいっぱいです。",
        "思った以上にうまくいって、自分が誇らしいです。",
        "苦労したけど報われました。満足しています。",
    ),
    "anxiety": (
        "なんだか不安で、ずっとそわそわしています。",
        "この先のことを考えると心配で、よく眠れません。",
        "うまくいくか怖くて、胸がどきどきします。",
    ),
    "dejection": (
        "落ち込んでいます。何もする気が起きません。",
        "うまくいかないことばかりで、悲しい気分です。",
        "がっかりして、ため息ばかり出ます。",
    ),
    None: ("気分はいつもどおりです。",),
}
ELSEWHERE = (
    ("外は雨ですね。明日は晴れるでしょうか。", "夕方には上がりそうですよ。"),
    ("友だちは紅茶が好きなんだそうです。", "紅茶もおいしいですよね。"),
    ("犬と猫ならどっちが好きですか？", "どちらも好きです。"),
    ("妹はトマトが嫌いで、いつも残すんですよ。", "食感が苦手な方は多いですね。"),
    ("もし海の近くに住んでいたら、毎日泳ぐのになあ。", "気持ちよさそうですね。"),
    ("同僚が「あだ名で呼んで」と言うので、ちょっと困りました。", "距離が近い方なんですね。"),
    ("最近は早起きが好きな人が多いみたいですね。", "そのようですね。"),
)


def texts(
    session: int, number: int, kind: str, told: list[Entry], feeling: str | None
) -> tuple[str, str]:
    """(user_input, agent_answer) of a session's turn, both numbers from 1.

    `told` are the ledger's entries so far, in its order: those of this session are what `tell` and
    `confirm` speak of, those of earlier ones what the answer to `recall` shows.
    """
    turn = session + number
    new = [entry for entry in told if entry["session"] == session]
    if kind == "recall":
        return _pick(ASKED, turn), _remembered(turn, told, session)
    if kind == "tell":
        said = "".join(_sentence(entry, turn + order) for order, entry in enumerate(new))
        return said or NOTHING_NEW, "わかりました。覚えておきます。"
    if kind == "confirm":
        values = "、".join(entry["value"] for entry in new)
        asked = _pick(CONFIRMED, turn).format(values=values) if new else NOTHING_NEW
        return asked, f"{values}、ですね。" if new else "わかりました。"
    if kind == "feeling":
        return _pick(FELT[feeling], turn), "話してくれてありがとうございます。"
    if kind == "mixed":
        return _pick(ELSEWHERE, turn)
    raise ValueError(f"kind: {kind!r} of session {session}, turn {number} is no kind of the ledger")


def _sentence(entry: Entry, turn: int) -> str:
    wordings = (
        CHANGED.get(entry["key"], CHANGED_OTHER)
        if entry["op"] == "correct"
        else TOLD.get(entry["key"], TOLD_OTHER)
    )
    return _pick(wordings, turn).format(**entry)


def _remembered(turn: int, told: list[Entry], session: int) -> str:
    """The newest of each key, in the user's own words: as evidence it would count again."""
    newest = {entry["key"]: entry for entry in told if entry["session"] < session}
    quoted = "".join(f"「{_sentence(entry, turn)}」" for entry in newest.values())
    return f"はい、{quoted}と伺いました。" if quoted else "まだ何も伺っていません。"


def _pick(choices: tuple[T, ...], turn: int) -> T:
    return choices[turn % len(choices)]
