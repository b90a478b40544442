"""Japanese dates."""

# ruff: noqa: E501 - a form is one line, however long

from streams.dates.chinese import OF_A_DAY, PATTERN, number
from streams.dates.grammar import Form, Language
from streams.dates.meaning import FEW

_NOT_HABIT = r"(?<!毎週)(?<!毎週の)(?<!隔週)(?<!第)(?<!毎)"
_ABOUT = r"(?:ほど|くらい|ぐらい|ちょっと)?"
_NO_KANA = "(?<![ぁ-ん])"
_ENDS_SAID = r"(?:[。！!…♪〜～]|$|\n|んです|けど|が|ので|から|よ|ね|な|の|って|し|わ|、|って)"

JAPANESE = Language(
    (
        Form("half_year", rf"半年{_ABOUT}前"),
        Form("half_year_ahead", r"半年後"),
        Form("ago", rf"(?<![\d.第])<n>(?:ヶ|か|カ|ケ|ヵ|箇)?<unit>{_ABOUT}前"),
        Form("ahead", r"(?<![\d.第])<n>(?:ヶ|か|カ|ケ|ヵ|箇)?<unit>後(?!悔|ろ|半|輩|藤)"),
        Form("day", r"<day>(?!香|葉|美|の敵|の友|的|は我が身)(?:の(?:朝|昼|夜|晩|夕方|午前|午後))?"),
        Form("day", _NO_KANA + r"(?P<day>おととい|きのう|ゆうべ|あした|あさって|しあさって)"),
        Form("weekday_of_week", r"<shift>の?<weekday>曜日?"),
        Form("unit", r"<shift>(?:の)?(?P<unit>末)"),
        Form("unit", r"(?P<shift>先々週|先週|今週|来週|再来週)(?P<unit>)(?!の?[月火水木金土日]曜|の?末)"),
        Form("unit", r"<monthshift>(?:の)?(?:<d>日(?!間))?(?:初め|末|上旬|中旬|下旬)?(?!号|分|額)"),
        Form("month", r"<year>年の?<month>月(?:<d>日(?!間))?"),
        Form("month", r"<yearshift>の?<month>月(?:<d>日(?!間))?"),
        Form("season", r"<year>年の?<season>"),
        Form("season", r"<yearshift>の?<season>"),
        Form("season", r"(?P<shift>この)<season>(?!休み|服)"),
        Form("month", r"(?<![\d一二三四五六七八九十])<month>月<d>日(?!間)"),
        Form("month", r"(?<![\d一二三四五六七八九十ヶか数毎])<month>月(?=に|から|まで|頃|ごろ|上旬|中旬|下旬|末|の(?:初め|半ば|終わり|頭))", by_tense=True),
        Form("year", r"<yearshift>(?!度)"),
        Form("weekday", _NOT_HABIT + r"<weekday>曜日?(?:の(?:朝|昼|夜|晩|夕方|午前|午後))?(?=に|は|、|まで|の(?:朝|昼|夜)|から(?!.{0,3}曜)|[,，])(?!は好き|までの)", by_tense=True),
        Form("day_of_month", r"(?<![\d月.第一二三四五六七八九十年])<d>日(?=に|まで|の(?:朝|昼|夜))(?!に(?:\d|[一二三]?[回度]|一))", by_tense=True),
        Form("year", r"<year>年(?!間|代|前|後|度|生|目|も|ぶり|版|モデル|の?[\d一二三四五六七八九十]+月)"),
    ),
    tables={
        "day": {
            "一昨日": -2, "昨日": -1, "昨夜": -1, "昨晩": -1, "今日": 0, "本日": 0, "今朝": 0,
            "今夜": 0, "今晩": 0, "明日": 1, "明朝": 1, "明晩": 1, "明後日": 2, "おととい": -2,
            "きのう": -1, "ゆうべ": -1, "あした": 1, "あさって": 2, "しあさって": 3,
        },
        "n": {"数": FEW},
        "unit": {
            "日": "day", "週間": "week", "月": "month", "年": "year", "末": "weekend",
            "": "week",
        },
        "shift": {
            "先々週": -2, "先週": -1, "今週": 0, "来週": 1, "再来週": 2, "この": 0,
        },
        "monthshift": {"先々月": -2, "先月": -1, "今月": 0, "来月": 1, "再来月": 2},
        "yearshift": {
            "一昨年": -2, "おととし": -2, "去年": -1, "昨年": -1, "今年": 0, "来年": 1,
            "再来年": 2,
        },
        "weekday": {"月": 0, "火": 1, "水": 2, "木": 3, "金": 4, "土": 5, "日": 6},
        "season": {"春": 3, "夏": 6, "秋": 9, "冬": 12},
    },
    past=rf"(?:た|だ)(?={_ENDS_SAID})",
    future=r"予定|つもり|ないと|なければ|なきゃ|たい|ください|ましょう|よう(?:と|か)|まで",
    habit=r"毎|いつも|必ず|たいてい",
    yearly=r"誕生日は|毎年",
    since_after=r"(?:頃|ごろ|くらい|の初め|の半ば|末)?(?:から|以来|以降)(?!.{0,6}まで)",
    number=number,
    digits=PATTERN,
    day_digits=OF_A_DAY,
    spaced=False,
    months_have_numbers=True,
)  # fmt: skip
