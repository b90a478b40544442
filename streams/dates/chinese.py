"""Chinese dates, in both scripts."""

# ruff: noqa: E501 - a form is one line, however long

from streams.dates.grammar import Form, Language
from streams.dates.meaning import FEW

DIGITS = {digit: number for number, digit in enumerate("〇一二三四五六七八九")} | {
    "两": 2,
    "兩": 2,
    "零": 0,
}
PATTERN = r"(?:\d{1,3}|[一二两兩三四五六七八九]?十[一二三四五六七八九]?|[一二两兩三四五六七八九])"
OF_A_DAY = r"(?:\d{1,2}|[二三]?十[一二三四五六七八九]?|[一二三四五六七八九])"


def number(text: str) -> int | None:
    """Parses decimal digits or Chinese numerals; None if the text is not a number."""
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return DIGITS.get(text)
    return 10 * (DIGITS[tens] if tens else 1) + (DIGITS[ones] if ones else 0)


_WEEK = r"(?:周|週|星期|礼拜|禮拜)"
_NO_WEEK = r"(?!期|年|转|轉|岁|歲|边|邊|围|圍|到|旋|折|密|刊|游)"
_GE = r"(?:个|個|一个|一個|一)?"
_TIME = r"(?:早上|上午|中午|下午|晚上|傍晚|凌晨|早|晚)?"
_SINCE = r"(?:就)?(?:开始|開始|起|以来|以來|至今|到现在|到現在)"

CHINESE = Language(
    (
        Form("half_year", r"半年(?:之|以)?前"),
        Form("half_year_ahead", r"半年(?:之|以)?[后後]"),
        Form("ago", r"(?:大概|大约|差不多)?(?<![\d.第])<n>(?:多)?(?:个|個)?<unit>(?:之|以)?前(?![后後])"),
        Form("ahead", r"(?<![\d.第])<n>(?:个|個)?<unit>(?:之|以)?[后後](?![悔天来來面期])"),
        Form("day", rf"<day>{_TIME}"),
        Form("day", r"(?<!大)<day2>(?!的?(?:努力|培养|性|习得|形成|因素|教育|条件|环境|缺陷|失明|學習|学习|养成))" + _TIME),
        Form("unit", rf"<shift>{_GE}(?P<unit>周末|週末|星期末|礼拜末)"),
        Form("weekday_of_week", rf"<shift>{_GE}{_WEEK}<weekday>{_TIME}"),
        Form("unit", rf"(?<!上)(?<!下)<shift>{_GE}(?P<unit>周|週|星期|礼拜|禮拜)(?![一二三四五六日天末])" + _NO_WEEK),
        Form("month", r"<year>年<month>月(?:份)?(?:<d>[日号號])?"),
        Form("month", r"<yearshift>(?:的)?<month>月(?:份)?(?:<d>[日号號])?"),
        Form("season", r"<year>年的?<season>"),
        Form("season", r"<yearshift>的?<season>"),
        Form("season", r"(?P<shift>这个|這個|上个|上個|下个|下個)<season>"),
        Form("month", r"(?<![\d一二三四五六七八九十])<month>月<d>[日号號]"),
        Form("unit", r"(?<!上)(?<!下)<shift>(?:个|個)?(?P<unit>月)(?:的)?(?:<d>[日号號]|底|初|中旬|份)?(?!球|亮|季|经|台|饼)"),
        Form("month", r"(?<![\d一二三四五六七八九十两个個几])<month>月(?:份|底|初|中旬|上旬|下旬)", by_tense=True),
        Form("month", r"(?<=[在从從到等自])<month>月(?![大天份的月])", by_tense=True),
        Form("year", r"<yearshift>(?!度|轻|輕)"),
        Form("weekday", rf"(?<![每这這上下个個本隔至到])(?<!每个)(?<!每個){_WEEK}<weekday>{_TIME}(?![到至围圍个個年期岁歲次回起]|是(?:个|個|一))", by_tense=True),
        Form("weekend", r"(?<![每这這上下个個本])(?P<unit>周末|週末)(?=[我去要没有回在和跟想打])", by_tense=True),
        Form("day_of_month", r"(?<![\d月.第一二三四五六七八九十年])<d>[号號](?![线線楼樓院房间間门門机機店桌车車球位码碼床馆館厅廳座仓艙舱文台路公称])", by_tense=True),
        Form("year", r"<year>年(?!代|间|間|级|級|度|之?前|以前|[后後]|生|版|款|[一二三四五六七八九十\d]+月)"),
    ),
    tables={
        "day": {
            "大前天": -3, "前天": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "昨夜": -1, "今天": 0,
            "今日": 0, "今晚": 0, "今早": 0, "今夜": 0, "明天": 1, "明日": 1, "明早": 1,
            "明晚": 1, "大后天": 3, "大後天": 3,
        },
        "day2": {"后天": 2, "後天": 2},
        "n": {"几": FEW, "幾": FEW, "好几": FEW},
        "unit": {
            "天": "day", "日": "day", "周": "week", "週": "week", "星期": "week",
            "礼拜": "week", "禮拜": "week", "周末": "weekend", "週末": "weekend",
            "星期末": "weekend", "礼拜末": "weekend", "月": "month", "年": "year",
        },
        "shift": {
            "上上": -2, "上": -1, "上个": -1, "上個": -1, "这": 0, "這": 0, "本": 0, "这个": 0,
            "這個": 0, "下": 1, "下个": 1, "下個": 1, "下下": 2,
        },
        "yearshift": {
            "大前年": -3, "前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2, "後年": 2,
        },
        "weekday": {
            "一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6,
        },
        "season": {
            "春天": 3, "春季": 3, "夏天": 6, "夏季": 6, "秋天": 9, "秋季": 9, "冬天": 12,
            "冬季": 12,
        },
    },
    past=r"[了过過刚剛]|已经|已經|才",
    future=r"要|会|會|将|將|打算|准备|準備|得|能|想|计划|計劃|记得|記得|提醒|之前|吧|别忘",
    habit=r"每|总是|總是|经常|經常",
    yearly=r"生日[是在]|每年",
    since_after=_SINCE,
    number=number,
    digits=PATTERN,
    day_digits=OF_A_DAY,
    spaced=False,
    months_have_numbers=True,
)  # fmt: skip
