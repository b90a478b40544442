"""Chinese: what is worth keeping of what was said. It is read alone, months later."""

import re

_POINTING = re.compile(
    r".*(?:这[家个条款种里边]|那[家个条款种里边]).*|也?只能这样.*|(?:就)?(?:选|用|要|去)(?:这|那|它).*"
)
_MOOD = re.compile(  # how somebody feels about themselves or their life
    r"(?:我)?自己.{0,4}|活着.*|人生|生活|世界|所有人|一切|上班|起床|现在的(?:自己|生活)|.*(?:去死|自杀|了结).*"
)
_THANKS = re.compile(r"(?:谢谢|多谢|麻烦|好的|再见|拜托|辛苦).*")
_OFFERED = re.compile(
    r"(?!逛|去|看|住|吃|泡)[^，。]{2,}?(?:酒店|宾馆|餐馆|餐厅|饭店|分店|店|景点|殿|寺|宫|博览馆|旅游村|度假村)|旅游村|有特色的.*"
)
_OUTING = re.compile(r".*(?:玩玩|转一?转|看看|逛逛|吃个?饭|来吃饭|走走)(?:了)?")
_FELT = frozenset(["like", "dislike", "plan", "decision", "limit", "habit", "goal"])


def worth(family: str, value: str, fold: str) -> bool:
    """Whether it says something by itself."""
    if family in ("event", "habit") and _OUTING.fullmatch(fold):
        return False
    if family in ("like", "dislike") and _OFFERED.fullmatch(fold):
        return False
    if family == "decision" and _THANKS.fullmatch(fold):
        return False
    return family not in _FELT or not (_POINTING.fullmatch(fold) or _MOOD.fullmatch(fold))
