"""Chinese and Japanese number words up to 99: `十五`, `二十`."""

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
