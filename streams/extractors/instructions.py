"""What a standing instruction is about: its slot, so that the last one of a kind stands."""

# ruff: noqa: E501 - a list of words is one line, however long

import re

_SLOTS = (
    ("format {}", r"(?P<what>emoji|bullet|markdown|table|headings?|headers?|lists?|code blocks?|bold|italics?|latex|exclamation|hashtags?|disclaimers?|apolog\w+|greetings?|footnotes?|citations?|sources?|links?|em[- ]dash|dashes|abbreviations?|jargon|acronyms?|puns?|jokes?|stichpunkte|aufzählungen|tabellen|listen?|puces|tableaux?|viñetas|tablas|listas)"),
    ("units", r"\b(?:metric|imperial|inch(?:es)?|feet|centimet\w+|ounces|grams|celsius|fahrenheit|kelvin|kilomet\w+|miles|km|kilograms?|kilos|pounds|litres?|liters?|gallons?|24[- ]hour|12[- ]hour|am/pm|dollars?|euros?|yen|pounds sterling)\b|公制|英制|摄氏|华氏|公里|英里|メートル法|摂氏|華氏|円|ドル"),
    ("language", r"\b(?:english|french|german|spanish|italian|portuguese|dutch|japanese|chinese|mandarin|cantonese|korean|russian|polish|arabic|hindi|turkish|swedish|danish|norwegian|finnish|greek|hebrew|ukrainian|czech|latin|thai|vietnamese|indonesian|catalan|romanian|hungarian|catalan|welsh|irish|tamil|urdu|bengali|persian|farsi|swahili)\b|[中英日法德韩俄粤]文|[英日法德韩俄汉]语|普通话|西班牙[语文]|粤语|日本語|英語|中国語|韓国語|フランス語|ドイツ語|スペイン語|\b(?:deutsch|englisch|französisch|spanisch|anglais|français|francais|allemand|espagnol|español|espanol|inglés|ingles|francés|alemán)\b"),
    ("length", r"\b(?:short|shorter|brief|briefly|concise|concisely|succinct|terse|long|longer|detailed|in detail|length|verbose|words?|sentences?|paragraphs?|lines|one[- ]liners?|to the point|in depth|thorough\w*|elaborate|sentence|characters|kurz|knapp|kürzer|ausführlich\w*|bref|brève|brièvement|concise?|courts?|courtes|breve|brevemente|concis[oa]|cortas?|detallad\w+|détaillé\w*)\b|简短|简洁|精简|详细|短一?点|长一?点|字以内|[一二三四五六七八九十百千\d]+字|[一二三\d]句|短め|短く|簡潔|詳しく|長め|長く|文字以内|\d+行|[一二三\d]文で"),
    ("tone", r"\b(?:formal|formally|informal|informally|casual|casually|polite|politely|friendly|humou?r\w*|serious|professional\w*|sarcas\w+|warm|blunt|bluntly|direct|directly|tone|slang|gentle|gently|encouraging|playful|swear\w*|plain english|simple words|förmlich|formell|locker|höflich|duzen?|siezen?|tuto\w+|vouvo\w+|formel|formelle|poli|polie|tut[eé]ame|tutees|usted|educado)\b|正式|随意|口语|礼貌|客气|幽默|严肃|语气|敬语|敬語|タメ口|丁寧|カジュアル|フランク|関西弁|くだけた|口調|です・?ます"),
    ("format {}", r"(?P<what>表情|列表|表格|要点|分点|标题|代码块|加粗|绘文字|絵文字|顔文字|箇条書き|表形式|見出し|マークダウン|太字|项目符号|感叹号|颜文字|敬称)"),
)  # fmt: skip
_PATTERNS = [(slot, re.compile(pattern, re.IGNORECASE)) for slot, pattern in _SLOTS]


def order_slot(value: str) -> str:
    """The slot of an instruction; "" of one that is of no known kind, and stands for itself."""
    for slot, pattern in _PATTERNS:
        match = pattern.search(value)
        if match:
            element = match.groupdict().get("what")
            return "answer " + slot.format(element.lower().rstrip("s") if element else "")
    return ""
