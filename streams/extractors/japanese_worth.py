"""Japanese: what is worth keeping of what was said. It is read alone, months later.

Who somebody is, where they live and whom they live with says something however short it is. What
they did, do, plan, decide, bought or must keep to says something only if it is of a kind that lasts
(`_LIFE`). In doubt it is left out; search finds the turn. Values cut out of a word are none.
"""

# ruff: noqa: E501 - a pattern that stands alone is one line

import re
from collections.abc import Callable

from streams.extractors.japanese_slots import DEED_DONE

_LIFE = re.compile(
    # work and studies
    r"仕事|転職|就職|起業|独立|副業|昇進|異動|転勤|赴任|入社|退職|会社|開業|休職|復職|育休|産休|内定|課長|部長|店長|カフェを|お店|店を|企画|営業|"
    r"大学|大学院|高校|留学|卒業|入学|進学|受験|合格|試験|検定|資格|免許|英検|簿記|toeic|宅建|[語学]を|語の|塾|教室|スクール|講座|勉強|学び|を習|習い(?!た)|習字|研究|論文|教師|先生に(?=な)|看護|弁護士|"
    # arts and what is made
    r"ピアノ|ギター|バイオリン|ドラム|ベース|楽器|バンド|合唱|吹奏楽|オーケストラ|ライブ|コンサート|フェス|個展|展に|展を|美術|博物館|水族館|動物園|絵を|漫画を描|小説|写真|カメラ|陶芸|書道|茶道|華道|"
    r"編み|刺繍|手芸|手帳|日記|ブログ|ボードゲーム|将棋|囲碁|そば打ち|ソファ|家具|テント|星を|園芸|菜園|ガーデニング|畑|農業|diy|本を読|読書|映画祭|"
    # the body
    r"ヨガ|ジム|マラソン|ランニング|ジョギング|ウオーキング|ウォーキング|散歩|登山|登|キャンプ|釣り|水泳|プール|泳|スキー|スノボ|サーフィン|ダイビング|テニス|サッカー|フットサル|野球|バスケ|バレー|バドミントン|卓球|ゴルフ|"
    r"柔道|剣道|空手|ダンス|バレエ|筋ト|筋力|体操|ストレッチ|自転車|ロードバイク|走|キロ|トレーニング|大会|優勝|入賞|受賞|スポーツ|"
    r"手術|入院|退院|骨折|捻挫|通院|診断|治療|妊娠|出産|赤ちゃん|ダイエット|減量|痩せ|禁煙|禁酒|断酒|タバコ|お酒|コーヒー|1日2食|糖質|食事制限|献血|うつ|病気|リハビリ|"
    # people, animals, homes, things
    r"結婚|婚約|離婚|入籍|プロポーズ|付き合|別れ|子ども|子供|双子|亡くな|他界|葬|同窓会|スピーチ|ボランティア|寄付|"
    r"犬|猫|うさぎ|インコ|ハムスター|ペット|飼|保護|引っ越|移住|上京|家を|マンション|マイホーム|実家|離れて|自炊|貯|借金|投資|保険|"
    r"(?<!自転)車(?!で|掌)|バイク|免許|海外|旅|世界一周|ワーホリ|富士山|山に|島|温泉|京都|大阪|東京|北海道|沖縄|札幌|仙台|横浜|神戸|福岡|博多|名古屋|広島|台湾|韓国|中国|アメリカ|カナダ|イギリス|フランス|ドイツ|イタリア|スペイン|ポルトガル|ハワイ|タイに|インド|北欧|ヨーロッパ|"
    r"バンコク|ロンドン|パリ|ニューヨーク|シドニー|国に|\d+点|\d万円|万円"
)
_CUT = re.compile(  # begins or ends within a word or with a particle: "の分", "根おろし"
    r"(?:の(?=[一-龠ァ-ヶ])|に(?=[一-龠ァ-ヶ])|を|が(?=[一-龠ァ-ヶ])|で(?=[はも、]|$)|も(?=[一-龠])|では|には|とは|から(?=[一-龠ァ-ヶ])|まで|より|は(?=[一-龠])|だから|ので).*"
    r"|.*(?:中で|の中|というより.*|でないと|という|があ|を|ばかりに|だけで|は)",
    re.DOTALL,
)
_POINTING = re.compile(
    r"(?:なあに|なに|何|どんな.*|とある.*|大|とて|です|ありません|ない|ません|はい|いいえ|いえ|ええ|うん|私|僕|こっち|そっち|あっち)|(?:どちら|こちら|そちら|あちら|そこ|ここ|どっち|とある|さまざま|いろいろ|色々|もちろん|他の|別の|同じ|本当|なかなか|さすが|いつ|それ|これ)(?![ァ-ヶ]).*"
)
_OTHERS = re.compile(
    r".*(?:さん|くん|君|ちゃん|氏|チーム|部|クラス|選手|会社|先生|みんな|人|母|父|兄|姉|妹|弟|息子|娘|主人|妻)(?:が|は|も).*|.*(?:てくれ|てもら|ていただ|てくださ|行われ|言って|のご予定).*"
)
_WHIM = re.compile(
    r".*(?:て|で)(?:みよう|いこう|おこう|しまおう)?と思って.*|.*(?<![めけ])ようと思っている|.*(?:誘う|買う|置こう|見習い|回って|泊まる|行って試し|(?<!き)[^学]室に行く).*|(?:また|ぜひ|是非|一度|私も)?(?:勉強|参加|旅行|運動|挑戦)(?:し)?たい.*"
)
_BROKEN = re.compile(r".*(?:でした|て|で)|[^にへ]*(?:\d年前に)?[^にへ]*(?:で|と)行.*")
_NO_NOUN = re.compile(  # of a like: more than a noun, or a person, or what is before one
    r".*(?:そう|なった|して|くて|雰囲気|ところ|感じ|点|部分|場面|の方|ほう|方法|やり方|言い方|話|意見|ので|から|ため|くらい.*|たり|って|[ぁ-ん]く|[^な]で|に|(?<!こ)と|が.+|は.+)"
    r"|.*(?:さん|くん|ちゃん|先輩|先生)(?:の.*)?|(?:去年|特に|とくに|最近|確かに|相変わらず|小さい頃から|しっかりと|いつも|また通|似て|とても|少し|この|その|あの|こんな|そんな|不器用|何(?!でも)).*|.*(?:あなた|君|お前).*|.{21,}|.*(?:だと|たら|ずに|ように|なら).*の|[^のをが]{1,4}(?<!寒)(?<!暑)(?<!辛)(?<!甘)(?<!高)いの|.*(?:私|僕|系)|(?:普通に|ずっと|結構|かなり|わりと|どちらかと).*|.*(?:しい|ない|なの|ですし|いし)|[^のをがでにも]{1,4}の|.{10,}の|.*で.+の"
)
_TURN = re.compile(  # a turn of a life, however short it is said
    "別れ|離婚|婚約|辞め|やめて?働|手放し|解約|売っ|売りま|亡くな|虹の橋|免許|合格|受か|入院|骨折|出産|引退|卒業し"
)
_FOOD = re.compile(  # what one cannot eat or do whatever the day
    r"(?!.*(?:最中|上手|思うよう|それほど|たくさん|市販|普通))(?!あまり|毎|そんなに|少し|今|まだ|なかなか|雨|とても|沢山)(?:宗教上|体質的に|健康上)?[^てで]{1,14}?(?:が|は|を|も|、)?(?:一滴も|一切|全く|まったく|もう)?(?:食べられ|飲め|食べ|飲み|飲ま)(?:ない|ません)"
    r"|(?=.*(?:平日|土日|週末|毎日|一日|1日|週に|夜|朝|月に|普段)).*[\d一二三四五六七八九十半]+(?:時|分|円|万|日|回|時間).{0,8}しか.*|[^てでは]{1,10}(?:運転|乗れ|インストール|使え|泳げ|水泳)(?:が)?(?:でき|れ)?(?:ない|ません)|.*オフライン.*"
)
_ORDER = re.compile(  # how the agent is to answer
    r".*(?:回答|返事|説明|返信|答え|返答|口調|文章|コード|コメント|要約|敬語|タメ口|絵文字|箇条書き|英語|日本語|関西弁|大文字|小文字|文字|行以内|字以内|短く|簡潔|雑談|連絡|電話|通知|メール|メッセージ|ライブラリ|用語|専門用語|sql|呼|リスト|献立|レシピ|料理に|入れない|単位|メートル|カタカナ|ひらがな|漢字|ふりがな|出典|リンク|出さない|変数|テスト|コミット).*(?<!います)(?<!いますので)"
)
_COURTESY = re.compile(
    r".*(?:遠慮|笑わ|心配|無理|気を|気に|焦ら|怒ら|泣か|あきらめ|慌て|落ち込ま|緊張|がっかり|恐れ|迷わ|悩ま|油断|待た|誤解|動かさ|忘れ|頑張|ようにし|からね|ましょう|見ない).*"
)
_OWNED = re.compile(  # of what was bought or is used: what lasts
    r"車|バイク|自転車|スクーター|カメラ|レンズ|ギター|ピアノ|バイオリン|ベース|ドラム|楽器|パソコン|pc|mac|windows|linux|スマホ|スマートフォン|iphone|ipad|android|アンドロイド|pixel|kindle|switch|playstation|steam|xbox|ゲーム機|"
    r"スバル|トヨタ|ホンダ|日産|マツダ|スズキ|ダイハツ|レクサス|ベンツ|ヤマハ|カワサキ|ハーレー|ソニー|キヤノン|ニコン|フジ|ライカ|家|マンション|一軒家|別荘|土地|畑|時計|洗濯機|冷蔵庫|食洗機|掃除機|電子レンジ|テント|望遠鏡|ドローン|ミシン|自動車|ヨット|キャンピング|プリウス|[a-z]{3,}|眼鏡|メガネ|コンタクト|補聴器|車椅子|杖|電気シェーバー|手帳|レコード|着物|経験|歴"
)
_TERM = re.compile(  # both sides of a correction are names, dates or numbers
    r"[一-龠々]{1,4}(?:さん)?|[ァ-ヶー]{2,4}|[a-z\d.+#-]{2,}[^ぁ-ん]{0,4}|.*(?:\d|[一二三四五六七八九十]+)(?:日|時|月|歳|円|名|人|番|個|分|年|回|階|号|万).{0,3}|.{0,3}曜日?.{0,4}|[一-龠]{1,4}の[一-龠]{1,4}"
)
_EVERY_ONE = re.compile(
    r"(?:今まで|前は|以前|もう|まだ|ちょうど|憧れ|来週|でき|ママ|はじめ).*|.*(?:ので.*|ません|(?<!と)して|人間|時の|ときの)|\d年生|.*年目"
)


# --- what sounds like a fact of a kind, and is none ---------------------------------------------------
_ADVERB = re.compile(  # of a like: how much or when, before or instead of what
    r"(?:専ら|もっぱら|元々|もともと|今(?!川|治|の)|昔(?!の|話|ながら)|子供の(?:ころ|頃|時)(?!から)|小さい頃|絶対|飼うなら|むしろ|まさに|中々|平気|両方|まったく同じ|少数|あそこ).*"  # "専らセダン"
    r"|.*(?:なら基本|みたいなの|そろ|ください|買いたい|済まない|ますか|ですか|[\d０-９]時間|１人|1人|期|を入れたもの)"  # "麺類なら基本"
    r"|(?:と(?:いう|子|正反対)|て気持|ん).*|(?:好き|きき|実|外|フォルム|におい|今|期|たまに.*)"  # what is left of a word
    r"|.*(?:痛く|高く|多く)な|.*[^な]あ|食わず|めっちゃ|めちゃ(?:くちゃ)?|すごく|とても|ほんと(?:うに|に)?"
    r"|[\d０-９一二三四五六七八九十]+(?:個|つ|本|枚|回|杯|皿)(?:以上|くらい)?"  # "二個" (of "二個は無理")
    r"|.*(?:行く|食べる|食べたい|回りたい|程度|でしたら|(?<!夕)方)|(?:いえ|いや|はい|うん)[　 ].*|.+好き"  # "車で行く" (of "車で行く派")
)
_PASSING_MOOD = re.compile(
    r".*(?:[しかなゆむ]い|くなる|ました|です)|苦手"
)  # of a favourite: "楽しい"
_CHOSEN = re.compile(  # of a choice between two: "塩派"
    r"塩|タレ|醤油|味噌|とんこつ|甘口|辛口|中辛|十割|ホテル|旅館"
)
_SPOUSE = re.compile(
    r"(?:うちの)?(?:旦那|主人|夫|妻|嫁|姑|ママ|パパ|子供|子ども|娘|息子|義母|義父|義理の.*)(?:の(?!頃|ころ|時).*)?|全員.*"
)
_RARELY = re.compile(  # of a limit: a habit, or of a thing
    r"(?:他|ほか)の.*|.*(?:めった|滅多|確かに|一口|思うように|おぼつかない|様使|そんなに|思えません|滞在時間|積極的|がないと).*"
)
_NO_ANIMAL = re.compile(
    r"[\d０-９]+(?:年.*|匹|歳)?|(?:赤ちゃんから|室内で|今まで.*|.*(?:時|頃|ころ)から)|.*(?:ころ|頃).*|昔.*"
)
_RUN_DOWN = re.compile(r"(?:ダメ|だめ|駄目|バカ|馬鹿|クズ|アホ|ポンコツ|落ちこぼれ)")  # of oneself
_HOURS = re.compile(  # of work: when, where or how it is done, and whose
    r"(?:で|と(?!び|ら|こ)|すぐ|立って).*|(?:[\d一]*日中|コロナ禍|[\d０-９]+時に).*"  # "6時に"
    r"|(?:仕事|実家|自宅|短時間|思うように.*|大学生と.*|.*先生が.*|.*だった時の.*|.+派|[^、。]*だけ.*生|小学生|幼稚園児|保育園児)"
)
_BY_THE_WAY = re.compile(  # of a plan: an outing or a wish of the moment
    r".*(?:での移動|(?<![^今度近々])旅行(?:を)?(?:計画|検討)|飼うなら|飼えるもの|こういうの|日光浴|湯船|気分転換|近場|散歩に行きたい|写真を撮りに|グラウンドで|伝えたい|早いうちから|乗車し|[^、]*(?:バス|電車|新幹線|飛行機|フェリー|車|タクシー|バイク|徒歩|歩き|フェリー)で(?:来|行|向か|移動)|遊ぼう|遊びに|遊んで|買っていこう|ぶらぶら).*|飼いたい"
)
_MUSED = re.compile(  # of a habit: a thought, or what one does but once
    r".*(?:と思って|かなと|考えて|借りて|給食).*|[月火水木金土日]曜日?から.*行く|朝から[^毎]{1,6}"
)
_NO_PLACE = re.compile(  # of a home or where somebody comes from: whose else, or what it is like
    r".*(?:なので|だから|けど).*|.*[んて]$|.*(?:一家|家族|友達|親戚|彼|彼女)が.*|.*(?:近く|近所|圏内|徒歩|隣)|野良|保護|(?:わりと|割と|んー).*|.*(?:を.*て|ベットタウン)"
)
_MINDED = re.compile(
    r".*(?:気を付け|気をつけ|ておか|しかし|干さ|かいに行か).*"
)  # "今日のうちにしておか"
_FIRST_LETTERS = re.compile(r".*(?:聞きました|聞き|>)|知")


def _limit(value: str) -> bool:
    if _RARELY.fullmatch(value):
        return False
    if value.endswith(("ので", "ないと")) or _COURTESY.fullmatch(value) or _OTHERS.fullmatch(value):
        return False
    return bool(_FOOD.fullmatch(value) or _ORDER.fullmatch(value))


def _like(value: str) -> bool:
    return not (
        _NO_NOUN.fullmatch(value)
        or _ADVERB.fullmatch(value)
        or _CHOSEN.fullmatch(value)
        or _SPOUSE.fullmatch(value)
    )


def _deed(value: str) -> bool:
    if _TURN.search(value):
        return True
    if _OTHERS.fullmatch(value) or _BROKEN.fullmatch(value):
        return False
    return bool(_LIFE.search(value)) and not re.fullmatch(
        r".*(?:さっき|今日|今朝|写真|後$|中退して|て$|小テスト|だったかな|たので|時に見).*", value
    )


def _plan(value: str) -> bool:
    return bool(_LIFE.search(value)) and not (
        _OTHERS.fullmatch(value) or _WHIM.fullmatch(value) or _BY_THE_WAY.fullmatch(value)
    )


def _task(value: str) -> bool:
    if _MINDED.fullmatch(value):
        return False
    if _OTHERS.fullmatch(value) or re.search("ながら|早く|見|食べ|ついで|聞きに|試し|背中", value):
        return False
    return "なければ" not in value or bool(DEED_DONE.search(value))


def _decision(value: str) -> bool:
    if _OTHERS.fullmatch(value) or re.fullmatch(
        ".*(?:ま|バス|電車|自転車|徒歩|で?車|大勢)|.*(?:行われ|開催|大会に|ほぼ|設け).*", value
    ):
        return False
    return bool(_LIFE.search(value) or re.search("[a-z]{2,}", value))


_CHECKS: dict[str, Callable[[str], bool]] = {
    "limit": _limit,
    "like": _like,
    "dislike": _like,
    "event": _deed,
    "habit": lambda value: _deed(value) and not _MUSED.fullmatch(value),
    "favourite": lambda value: (
        not (
            _ADVERB.fullmatch(value)
            or _PASSING_MOOD.fullmatch(value)
            or re.search("気持ちい|[1-9１-９]位", value)
        )
    ),
    "pet": lambda value: not _NO_ANIMAL.fullmatch(value),
    "home": lambda value: not _NO_PLACE.fullmatch(value),
    "origin": lambda value: not _NO_PLACE.fullmatch(value),
    "name": lambda value: not _FIRST_LETTERS.fullmatch(value),
    "ended": lambda value: (
        bool(_TURN.search(value) or re.match("[^、]{2,}?(?:を|は|が|と|前に)", value))
        and not re.search("^途中|^つい|^すぐ|断念|近く|高くて|比較|かなり", value)
    ),
    "plan": _plan,
    "goal": lambda value: (
        bool(_LIFE.search(value) or re.search(r"\d|学習|毎[日週月]", value))
        and not re.fullmatch(
            r".*なるべく.*|[\d０-９一二三四五六七八九十半]+[^\d一-龠]{0,3}(?:分|時間|回|日|個|冊|点)",
            value,
        )
    ),
    "decision": _decision,
    "possession": lambda value: (
        bool(_OWNED.search(value))
        and not re.match(
            "だから|だったかな|.*で(?:買|購入)|主に電車|.*買った時|.*みたいなの", value
        )
    ),
    "task": _task,
    "task_done": lambda value: (
        bool(DEED_DONE.search(value)) and not re.search("って|ので|た|授業", value)
    ),
    "deadline": lambda value: not value.endswith("ま"),
    "identity": lambda value: not re.search("ほし|^近い$|^冬$|元々", value),
    "work": lambda value: (
        not (_RUN_DOWN.match(value) or _EVERY_ONE.fullmatch(value) or _HOURS.fullmatch(value))
    ),
    "study": lambda value: "けど" not in value,
    "health": lambda value: (
        not re.fullmatch(
            "(?:.*[\\d０-９一二三四五何数]回|.*(?:熱中症|風邪|かぜ|インフル|二日酔い|筋肉痛)|(?:子供|子ども|娘|息子|妻|夫|母|父|祖母|祖父)の|しっかり|遺伝|まさに|必ず|もし).*|.*(?:から|ないと).*|.*が(?!.*(?:アレルギー|病|痛|症|炎|ある|聞こえ|見え|つらい|辛い|動|上がら|曲がら|手術)).*",
            value,
        )
    ),
    "people": lambda value: (
        not re.search(
            "どちら|どっち|[こそあ]れ|本気|ほとんど|出かけた|熱を|風邪|楽しみ|泣|寝て|怒って|今日|ている最中",
            value,
        )
    ),
    "": lambda value: (
        bool(_TERM.fullmatch(value))
        and not re.fullmatch("気軽|苦手|得意|今度|自由|結構|大丈夫|十分|平気|.*[員者的方]", value)
    ),
}
"""By family ("" is a correction's): whether a value says something by itself."""


def worth(family: str, value: str, fold: str) -> bool:
    """Whether it says something by itself."""
    if _CUT.fullmatch(fold) or _POINTING.fullmatch(fold):
        return False
    check = _CHECKS.get(family)
    return check is None or check(fold)
