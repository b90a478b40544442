"""Japanese: what is worth keeping of what was said: values cut out of a word, courtesies, choices of
the moment and general talk are not. It is read alone, months later."""

# ruff: noqa: E501 - a pattern that stands alone is one line

import re
from collections.abc import Callable

_CUT = re.compile(  # begins or ends within a word or with a particle: "の分", "根おろし"
    r"(?:の(?=[一-龠ァ-ヶ])|に(?=[一-龠ァ-ヶ])|を|が(?=[一-龠ァ-ヶ])|で(?=[はも、]|$)|も(?=[一-龠])|では|には|とは|から(?=[一-龠ァ-ヶ])|まで|より).*"
    r"|.*(?:中で|の中|というより.*|でないと|という|があ|を|ばかりに|だけで)",
    re.DOTALL,
)
_POINTING = re.compile(
    r"(?:大|とて|です|ありません|ない|ません|はい|いいえ|いえ|ええ|うん|私|僕|こっち|そっち|あっち)|(?:どちら|こちら|そちら|あちら|どっち|とある|さまざま|いろいろ|色々|もちろん|他の|別の|同じ|本当|なかなか|さすが|いつ)(?![ァ-ヶ]).*"
)

# --- likes ------------------------------------------------------------------------------------------
_SCENERY = re.compile(
    r".*(?:そうで|なった|して|くて|割と|雰囲気|ところ|感じ|点|部分|場面|の方|ほう|方法|やり方|言い方|話|意見)|.*(?:さん|くん|ちゃん|先輩|先生)(?:の.*)?"
)

# --- limits and wishes --------------------------------------------------------------------------------
_COURTESY = re.compile(  # said to comfort or to advise: "無理しないで"
    r".*(?:遠慮|笑わ|心配|無理(?:を|は)?し|気を(?:落と|使|遣)|気に|焦ら|怒ら|泣か|諦め|あきらめ|驚か|慌て|落ち込ま|緊張し|がっかりし|恐れ|怖がら|迷わ|悩ま|油断し|忘れ|負け|待た|誤解し)(?:ない|ず).*"
)
_OWN_DEED = re.compile(  # what the user does, or means to, is no wish
    r".*(?:ので|から|ましたら|ようにし(?:て)?|ましょう|頑張って|(?:て|で)(?:い|あ)(?:る|ます)?)|.*(?:いつも|必ず|常に|毎回|絶対)[^、。]*(?:て|で)(?<!ないで)(?<!して)(?<!書いて)(?<!答えて)(?<!使って)(?<!話して)(?<!教えて)(?<!呼んで)(?<!言って)(?<!入れて)(?<!付けて)(?<!つけて)(?<!止めて)(?<!避けて)(?<!確認して)"
)
_ADVICE = re.compile(
    r".*(?:体|身体|風邪|けが|怪我|寝|休ん|休み|慣らす|頑張|がんば|精進|大切に|気をつけ|気を付け|注意し|徐々に|くれぐれも|どうぞ|お元気|持参して|見てみて|行ってみて|試してみて|食べてみて|使ってみて|楽しんで|来て|待って|座って|見て|聞いて|ちょうだい).*"
)
_AT_ONCE = re.compile(  # not able to just now, or in general
    r".*(?:今度|しばらく|今回|過ぎて|すぎて|用事|普通に|普通は|滅多に|なかなか|それで|急に|こんな|そんな|あんな|あれほど|簡単に|とても|誰|人|今日|明日|昨日|来週|週末|これ以上).*"
    r"|.*(?:ことが|ことは|ことも)(?:ない|ありません)|.*(?:る|う|く|す|つ|む|ぶ|ぐ|ぬ)しか.*|.*(?:知ら|知りま|残って|思い浮か|思い出せ|浮かば|想像|見え|言えな|言えま|勝て|敵わ|かなわ|しかたが|仕方).*|.*しかい(?:ない|ません)|.*しか(?:ない|ありません)(?<!時間しかない)(?<!分しかない)(?<!円しかない)(?<!日しかない)(?<!時間しかありません)(?<!分しかありません)(?<!円しかありません)(?<!日しかありません)"
)

# --- what happens -------------------------------------------------------------------------------------
_NO_OBJECT = re.compile(  # "初めて聞いた", "毎日着ている", "先月から通い始めた"
    r"(?:(?:本当に|今|私も|また|最近|先日|先月|先週|昨日|今日|今年|去年|この前|毎[日朝晩週月年]|いつも|普段|初めて|はじめて|ついに|やっと|無事に?)(?:に|は|も|から)?)*(?:見|聞|聴|知|食べ|飲|着|使|行|来|買|読|会|やっ|し|通い?始め|始め|出|頼|作|乗|飛|感じ|体験し|経験し)[きいっんまりちしき]?(?:に)?(?:い?て(?:い|くれて|き)?)?(?:ました|まし|た|だ|る|ます|きた|きました|いる|います|くれている)*"
)
_SEEN = re.compile(
    r".*(?:でした|時に(?:見|聞|食べ)(?:まし)?た|.*して|.*元気に過ごし.*|と思っている|と思ってる|思います)"
)
_OTHERS = re.compile(
    r".*(?:さん|くん|君|ちゃん|チーム|部|クラス|選手|会社|先生|みんな|人)(?:が|は|も).*|.*(?:てくれ|てもら|ていただ|てくださ).*"
)
_BELIEF = re.compile(r".*(?:た|だ|ている|ない)つもり")
_WHIM = re.compile(  # a wish of the moment, or no more than a wish to go on
    r".*(?:(?:にし|これ|それ|お茶|ご飯|ランチ|予約|注文|質問|お願い|紹介|相談|参加|確認|見せ|試し?着|試食|協力|手伝|お邪魔|頑張|がんば|続け|大事に|大切に|楽し|見習|お礼|挨拶|返事|使って|注意し|気をつけ|利用|拝見|検討|説明|ゆっくり|応援)[^、。]{0,6}(?:よう|たい))(?:と思っている)?"
    r"|.*(?:横にな|(?:買う|作る|食べる|飲む|見る|寝る|帰る)(?:予定|つもり)).*|(?:挑戦|参加|旅行|勉強|運動|見学)し(?:て(?:み)?)?たい"
    r"|(?:また|ぜひ|是非|一度|いつか|いつかは|私も|もう一度)*(?:行って|見て|食べて|やって|して|乗って|会って|読んで|飲んで|使って|聞いて)?み?たい(?:と思っている)?"
)

# --- corrections ----------------------------------------------------------------------------------------
_TALK = re.compile(
    r".*(?:だけ|のような|ほど|わけ|という|といった|良かった|よかった|ほうが|方|なり|なっ|して|しま|ください|ところ|こと|もの|とか|かも|多め|感じ|ため|から|ので|いい|よく|より|必要|です|ます)"
)
_LONG_CONTRAST = 14
_ADVISED = re.compile(
    r"(?:だけ|ばかり|ほど|のよう|わけ|普通|全く|決して|単なる|必ずしも|特別|面倒)"
)

_MOMENT = re.compile(
    r".*(?:持って行|連れて行|時に|時ごろ|時頃|今から|今日|明日|代わりに|病院に行く|これ|それ|注文|頼む|食べる|飲む|帰る|休む|待つ|出かける|出掛ける|行ってくる|買う|見る|お願い).*"
)


def _limit(value: str) -> bool:
    return not any(
        one.fullmatch(value) for one in (_COURTESY, _OWN_DEED, _ADVICE, _AT_ONCE, _OTHERS)
    )


def _like(value: str) -> bool:
    return not _SCENERY.fullmatch(value)


def _event(value: str) -> bool:
    return not any(one.fullmatch(value) for one in (_NO_OBJECT, _OTHERS, _SEEN))


def _plan(value: str) -> bool:
    return not (_BELIEF.fullmatch(value) or _WHIM.fullmatch(value))


def _correction(value: str) -> bool:
    return len(value) <= _LONG_CONTRAST and not _TALK.fullmatch(value)


_THEIRS = re.compile("(?:部|さん|チーム|選手|会社|先生|たち|達|社|兄|姉|弟|妹|父|母)が")
_ONCE_WORKED = re.compile(r"(?:時に|頃に|ころに|時代)")
_DONE = re.compile(  # "思い出しました", "大会が終わりました"
    r"(?:思い|見|引き|飛び|言い|呼び|抜け|着替え|半分.*|.*の分|.*(?:大会|試合|夏|冬|春|秋|休み|梅雨|シーズン|ブーム|番組|ドラマ|映画|授業|仕事|期末テスト|会議|朝食|昼食|夕食|食事|お風呂|会計|だけで|弁当|土産|お菓子|菓子|チケット)|.*[にでて]|.*(?:気を付け|身に付け|背中に付け|ておか|決め|考え|見))"
)
_ANY_THING = re.compile(
    r"(?:もの|こと|やつ|の)(?:を?(?:買|購入|使)|$)|(?:感じて|すぐに|偶然|ついでに|たくさん)(?:買|購入)|^[^を]*(?:て|前に|くらいに)(?:買|購入)"
    r"|(?:シャドー|口紅|リップ|シャンプー|コンディショナー|洗剤|化粧品|弁当|お菓子|菓子|パン|ケーキ|アイス|宝くじ|チケット|プレゼント|土産|スナック|ジュース|食材|野菜|果物)を(?:買|購入|新調|ゲット)"
)
_CHECKS: dict[str, Callable[[str], bool]] = {
    "limit": _limit,
    "like": _like,
    "dislike": _like,
    "event": _event,
    "habit": _event,
    "plan": _plan,
    "decision": lambda value: not (_MOMENT.fullmatch(value) or _THEIRS.search(value)),
    "possession": lambda value: not _ANY_THING.search(value),
    "task": lambda value: not (_DONE.fullmatch(value) or "選手が" in value),
    "work": lambda value: not _ONCE_WORKED.search(value),
    "": _correction,
}
"""By family ("" is a correction's): whether a value says something by itself."""


def worth(family: str, value: str, fold: str) -> bool:
    """Whether it says something by itself."""
    if _CUT.fullmatch(fold) or _POINTING.fullmatch(fold):
        return False
    check = _CHECKS.get(family)
    return check is None or check(fold)


# --- which values a slot takes ------------------------------------------------------------------------
_NAME = re.compile(r"[^「」『』をは、。]{1,14}(?<!とい)")
_NO_NAME = re.compile(r".*(?:こと|という|そう|もの|ない|です|ます|だと|から|には|では|ための).*")
_INTRODUCED = re.compile(r"名前|本名|苗字|名字|フルネーム|申|呼|私|僕|俺|自分")
_LIKE_A_NAME = re.compile(
    r"[一-龠々]{1,4}[ 　]?[一-龠々ぁ-ん]{0,4}|[ァ-ヶー・]{2,12}|[ぁ-ん]{2,5}|[a-z]{2,12}",
    re.IGNORECASE,
)
_DATED = re.compile(
    r"\d|[一二三四五六七八九十]+(?:月|日|時)|曜|今日|明日|今週|来週|今月|来月|週末|年末|月末|夕方|午前|午後|朝|夜"
)
_NO_TERM = re.compile(r".*(?:早い|選べ|あるので|近い|過ぎ|切れ|迫|まだ|短い|長い|厳しい).*")
_TODAY = re.compile("今日|今晩|今夜|これから|今から|後で|あとで|このあと|明日|今度の授業")
_TRIVIAL = re.compile(r".*を(?:見る|作る|買う|食べる|飲む|聴く)")
_BORN = re.compile(r"\d|[月日年代]$|昭和|平成|令和")
_OF_A_THING = re.compile("賞味|消費|有効|使用|保証")
_OF_A_TIME = re.compile(r"(?:歳|才|代)の(?:時|とき|頃|ころ|誕生日|人|方|子)")
_TOLD_OF_ONESELF = re.compile(  # "しています": a deed of the user's, no wish
    r".*(?:ようにし|(?:て|で)(?:い|お|み|しま|あ)?)(?:ます|まし|る|り|きます|きました|いました|った).*"
)


def fits(takes: str, value: str, said: str) -> bool:
    """Whether a value is of the kind that a rule takes; any is where nothing is known of the kind."""
    if takes == "name":
        if not _NAME.fullmatch(value) or _NO_NAME.fullmatch(value):
            return False
        return bool(_INTRODUCED.search(said) or _LIKE_A_NAME.fullmatch(value))
    if takes.endswith("deadline"):
        return bool(
            _DATED.search(value) and not _NO_TERM.fullmatch(value) and not _OF_A_THING.search(said)
        )
    if takes == "origin":
        return not _BORN.search(value)
    if takes == "age":
        return not (
            _OF_A_TIME.search(said) or re.fullmatch(r"[\d一二三四五六七八九](?:歳|才)", value)
        )
    if takes == "later":
        return not _TODAY.search(said)
    if takes == "intended":
        return not _TRIVIAL.fullmatch(value)
    if takes == "wish":
        return not _TOLD_OF_ONESELF.fullmatch(said)
    return True
