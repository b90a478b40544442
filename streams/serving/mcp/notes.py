"""Converts models' notes about the user to the user's own voice, because the rules read users'
messages ("User lives in Bergen." -> "I live in Bergen.").

Other lines stay unchanged.
"""

import re

_BULLET = re.compile(r"^\s*(?:[-*•·]|\d+[.)])\s+")
_USER = r"(?:the |this )?user"
_ABOUT = re.compile(
    rf"^(?:note(?: to self)?: |remember(?: that)?:? )?"
    rf"(?P<who>{_USER}(?:'s|’s)?|(?P<again>their|they)) (?P<rest>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_ADVERB = re.compile(
    r"(?:also|really|always|usually|often|currently|now|recently|just|still|never|sometimes|mostly"
    r"|primarily|previously|already|no longer|formerly|strongly|generally) ",
    re.IGNORECASE,
)
_VERBS = {
    "is": "am", "isn't": "am not", "has": "have", "hasn't": "haven't", "does": "do",
    "doesn't": "don't", "goes": "go", "was": "was", "wasn't": "wasn't", "were": "was", "are": "am",
}  # fmt: skip
_PLACED = re.compile(r"\b(?:the user|their|theirs|themselves|themself|they|them)\b", re.IGNORECASE)
_OWN = {
    "the user": "me", "their": "my", "theirs": "mine", "themselves": "myself",
    "themself": "myself", "they": "I", "them": "me",
}  # fmt: skip
_THIRD = (
    r"(?:is|has|does|lives|works|likes|loves|hates|prefers|studies|wants|enjoys|speaks|owns|plays"
    r"|uses|needs|dislikes|eats|drinks)(?:n't)?"
)
_JOINED = re.compile(rf"(?P<and>\b(?:and|but|,) (?:also |now )?)(?P<verb>{_THIRD})\b")
_WITHOUT_SUBJECT = re.compile(
    rf"(?P<verb>{_THIRD}|can't)(?! (?:he|she|it|this|that|there|they)\b)\b[^?]*$"
    r"|(?:not |currently |now )?(?:allergic|intolerant|vegan|vegetarian|pescatarian|coeliac|celiac"
    r"|diabetic|pregnant|married|divorced|widowed|retired|based|originally|studying|learning"
    r"|working|living|single(?=[.!]?$))\b[^?]*$",
    re.IGNORECASE,
)
_LABEL = re.compile(
    rf"^(?:{_USER}(?:'s|’s)? )?(?P<label>[a-z][a-z /]{{2,30}}): *(?P<value>\S.*)$", re.IGNORECASE
)
_SAID = {
    "name|user name|full name|first name": "My name is {}",
    "nickname|preferred name": "Call me {}",
    "age": "I am {} years old",
    "birthday|date of birth|birth date": "My birthday is {}",
    "location|city|home|home city|residence|lives in|based in|address": "I live in {}",
    "hometown|origin|born in": "I am from {}",
    "job|occupation|profession|role|job title|works as": "I work as {a}",
    "employer|company|workplace|works at|works for": "I work at {}",
    "allergy|allergies|allergic to": "I am allergic to {}",
    "diet|dietary preference|dietary preferences": "I am {}",
    "likes|interests|hobbies|loves|enjoys": "I like {}",
    "dislikes|hates": "I dislike {}",
    "preference|preferences|prefers": "I prefer {}",
    "native language|mother tongue|first language": "My native language is {}",
    "pet|pets": "I have {a}",
}  # fmt: skip
_LABELS = {label: sentence for labels, sentence in _SAID.items() for label in labels.split("|")}
_LISTED = re.compile(r", (?:and )?| and ")
_MANY = ("I am allergic to", "I like", "I dislike", "I prefer")
_OF = re.compile(
    r"^(?:favou?rite [a-z ]{2,30}|(?:wife|husband|partner|son|daughter|mother|father|mum|mom|dad"
    r"|brother|sister|dog|cat)(?:'s name)?)$",
    re.IGNORECASE,
)
_CHINESE = re.compile(r"^(?:该|这位|本)?(?:用户|使用者)(?!名|界面|体验|手册|数)(?=[^，。：:]{2})")
_JAPANESE = re.compile(r"^(?:この)?(?:ユーザー?|利用者)(?:さん|様)?(?=[はがのも])")
_CJK_LABELS = {
    "姓名|名字": "我叫{}", "居住地|住址|所在地|城市": "我住在{}", "职业": "我是{}",
    "年龄": "我今年{}", "过敏": "我对{}过敏", "喜好|爱好": "我喜欢{}",
    "名前|氏名": "名前は{}です", "住まい|住所": "{}に住んでいます", "職業": "{}です",
    "年齢": "{}です", "アレルギー": "{}アレルギーがあります", "好きなもの|趣味": "{}が好きです",
}  # fmt: skip
_SENTENCE = re.compile(r"(?<=[.!])\s+(?=[A-Z])")
_CJK = {label: sentence for labels, sentence in _CJK_LABELS.items() for label in labels.split("|")}
_CJK_LABEL = re.compile(rf"^(?P<label>{'|'.join(_CJK)})[：:]\s*(?P<value>\S[^。]*)。?$")


def own_voice(text: str) -> str:
    """The text with each note about the user in the first person."""
    return "\n".join(map(_line, text.split("\n")))


def _line(line: str) -> str:
    bare = _BULLET.sub("", line).strip()
    if labelled := _CJK_LABEL.match(bare):
        return _CJK[labelled["label"]].format(labelled["value"]) + "。"
    for pattern, pronoun in ((_CHINESE, "我"), (_JAPANESE, "私")):
        if pattern.match(bare):
            return pattern.sub(pronoun, bare)
    if sentence := _labelled(bare):
        return sentence
    sentences = [_with_subject(sentence) for sentence in _SENTENCE.split(bare)]
    first = _ABOUT.match(sentences[0])
    if first is None or first["again"]:  # "they" are others, unless the user was named before
        return line
    return " ".join(map(_sentence, sentences))


def _with_subject(sentence: str) -> str:
    """ "Allergic to nuts" -> "The user is allergic to nuts"."""
    match = _WITHOUT_SUBJECT.match(sentence)
    if match is None:
        return sentence
    subject = "The user" if match["verb"] else "The user is"
    return f"{subject} {sentence[:1].lower()}{sentence[1:]}"


def _labelled(line: str) -> str:
    """ "Name: Maya" -> "My name is Maya."."""
    match = _LABEL.match(line)
    if match is None:
        return ""
    label, value = match["label"].lower().strip(), match["value"].strip().rstrip(".")
    if template := _LABELS.get(label):
        if template.startswith(_MANY):
            return " ".join(f"{template.format(item)}." for item in _LISTED.split(value) if item)
        article = "" if re.match(r"(?:an?|the|two|three|\d+)\b", value, re.I) else _article(value)
        return template.replace("{a}", article + "{}").format(value) + "."
    return f"My {label} is {value}." if _OF.match(label) else ""


def _article(value: str) -> str:
    return "an " if value[:1].lower() in "aeiou" else "a "


def _sentence(sentence: str) -> str:
    match = _ABOUT.match(sentence)
    if match is None:
        return sentence
    subject, rest = match["who"].lower().replace("’", "'"), match["rest"].replace("’", "'")
    if subject.endswith("'s") or subject == "their":
        return f"My {_placed(rest)}"
    adverbs = ""
    while adverb := _ADVERB.match(rest):
        adverbs, rest = adverbs + adverb[0], rest[adverb.end() :]
    verb, space, rest = rest.partition(" ")
    return f"I {adverbs}{_verb(verb) if subject != 'they' else _plural(verb)}{space}{_placed(rest)}"


def _verb(verb: str) -> str:
    """ "lives" -> "live"; other forms stay."""
    end = verb[len(verb.rstrip(".!,;")) :]
    word = verb.removesuffix(end) if end else verb
    low = word.lower()
    if low in _VERBS:
        return _VERBS[low] + end
    if low.endswith("ies") and len(low) > 4:
        return word[:-3] + "y" + end
    if low.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2] + end
    if low.endswith("s") and not low.endswith(("ss", "us", "is")):
        return word[:-1] + end
    return word + end


def _plural(verb: str) -> str:
    """For "they"."""
    return {"are": "am", "aren't": "am not", "were": "was"}.get(verb.lower(), verb)


def _placed(rest: str) -> str:
    rest = _JOINED.sub(lambda match: match["and"] + _verb(match["verb"]), rest)
    return _PLACED.sub(lambda match: _OWN[match[0].lower()], rest)
