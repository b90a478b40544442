"""Japanese: which values a slot takes, by the words around them."""

# ruff: noqa: E501 - a pattern that stands alone is one line

import re

DEED_DONE = re.compile(  # of a task: what anybody would call one
    r".*(?:書|論文|原稿|レポート|課題|資料|変更|申し込み|歯医者|美容院|病院|申告|申請|手続|契約|請求|支払|税|荷造り|スクリプト|修正|対応|見積|提出物|年賀状|予約|願書|更新|登録|引き継ぎ|報告|掃除|宿題|テスト勉強|履歴書)"
)
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
_DUE = re.compile(r"\d|まで|曜|週|月")
_AT_LAST = re.compile(".*(?:そろそろ|早く|忘れずに)")
_BORN = re.compile(r"\d|[月日年代]$|昭和|平成|令和")
_OF_A_THING = re.compile("賞味|消費|有効|使用|保証")
_OF_A_TIME = re.compile(
    r"(?:歳|才|代)の(?:時|とき|頃|ころ|誕生日|人|方|子|夫婦|両?親|父|母|男|女|グループ|友)"
)
_ABOUT_ALLERGY = re.compile("アレルギー(?:対策|反応を|検査|について|は初めて|になるとは)")
_OF_YOU = re.compile(r"(?:です|ます|ました|でした|ません)よ?ね$")  # said of whom one talks to
_I = re.compile("私|僕|俺|うち|自分")
_NO_HOME = re.compile(
    r"(?:の家|^家|^山|^海|^田舎|遠く|隣|現地|週末|そば|ここ|そこ|こっち|時|地方|さん|ママ|パパ|人)$|^(?:生まれ|つい)|からずっと|で現地|レストラン"
)
_IF = re.compile("[るすむくつぐぶう]と[、,]?$|のでは")
_OF_OTHERS = re.compile("働いて(?:い)?る[^、。]{1,10}(?:士|師|者|員|家|人|方)")
_ASIDE = re.compile("にあたって|経験から")  # "在宅勤務にあたって、机は買いましたか？"
_OF_BIRTH = re.compile(r"出身(?:校|者|の(?![でなんよ])|地)|友人|友達")
_POINTED = re.compile(
    r"(?:これ|それ|あれ|この|その|あの|ここ|そこ|彼|[^、。]{0,8}場合|[^、。]{0,12}の(?:は|が)|[^、。]{0,3}教室|むしろ|単に|ただ)"
)
_ORDERED = re.compile(  # of a correction: what one room, meal or way is to be like
    r"[洋和]室|布団|ふとん|ベッ[トド]|ツイン|シングル|ダブル|旅館|ホテル|民宿|ペンション|禁煙|喫煙|[朝夕昼]食|素泊|バイキング|窓側|通路側|レンタカー|電車|新幹線|飛行機|バス(?!ケ)|往復|片道|\d泊|チェックイン|チェックアウト|部屋|露天|内湯|大浴場"
)
_LIKENED = re.compile(  # of a correction: what a thing is like, or how a year goes
    r"のような|みたいな|[春夏秋冬朝昼夜]から[春夏秋冬朝昼夜]|から.+(?:変わ|移)る(?:とき|時|の|こと|ころ|頃)|(?:て|で)(?:では|じゃ|から)"
)
_ONE_ORDER = re.compile(  # of a budget: what one stay, meal or ticket may cost
    r"[\d０-９一二三四五両何]+[人名泊]|(?:お願い|いただ|頂)|(?:嬉し|うれし|助か|ありがた)|(?:今回|プラン|朝食|夕食|宿|旅行|食事)"
)
_IN_TURN = re.compile(r"(?:まず|次に?|それから|最後に?|あとは?|今回は?|できれば)(?:は|、)")
_AGED = re.compile(r"[89]\d(?:歳|才)")
_TOLD_OF_ONESELF = re.compile(  # "しています": a deed of the user's, no wish
    r".*(?:ようにし|(?:て|で)(?:い|お|み|しま|あ)?)(?:ます|まし|る|り|きます|きました|いました|った).*"
)


def fits(takes: str, value: str, said: str) -> bool:
    """Whether a value is of the kind that a rule takes; any is where nothing is known of the kind."""
    if _ABOUT_ALLERGY.search(said) or "とても無理" in said:
        return False
    if _OF_YOU.search(said) and not _I.search(said):
        return False
    if takes == "name":
        if not _NAME.fullmatch(value) or _NO_NAME.fullmatch(value) or "「" in said:
            return False
        return bool(
            (_INTRODUCED.search(said) and "出せ" not in value) or _LIKE_A_NAME.fullmatch(value)
        )
    if takes.endswith("deadline"):
        return bool(
            _DATED.search(value) and not _NO_TERM.fullmatch(value) and not _OF_A_THING.search(said)
        )
    if takes == "origin":
        return not (_BORN.search(value) or _NO_HOME.search(value) or _OF_BIRTH.search(said))
    if takes == "home":
        return not (_NO_HOME.search(value) or _IF.search(said))
    if takes in ("work", "employer"):
        return not (_OF_OTHERS.search(said) or _ASIDE.search(said))
    if takes.startswith("my "):
        return not (
            _POINTED.match(said)
            or _ORDERED.search(said)
            or _LIKENED.search(said)
            or _IN_TURN.match(said)
        )
    if takes == "budget":
        return not _ONE_ORDER.search(said)
    if takes == "age":
        return not (
            (_AGED.match(value) and "私" not in said)
            or "代の部" in said
            or _OF_A_TIME.search(said)
            or re.fullmatch(r"[\d一二三四五六七八九](?:歳|才)", value)
        )
    if takes == "later":
        return not _TODAY.search(said)
    if takes == "duty":
        return bool(
            (_DUE.search(value) or DEED_DONE.search(value) or _AT_LAST.match(said))
            and not _TODAY.search(said)
        )
    if takes == "intended":
        return bool(DEED_DONE.search(value) and _DATED.search(value))
    if takes == "wish":
        return not _TOLD_OF_ONESELF.fullmatch(said)
    return True
