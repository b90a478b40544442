"""Which of the text is the user's own: no quotation, no code, nothing that a colon shows."""

import re

BLANK = "\ua66e"  # a letter that nobody writes

_UNCLOSED = r"[^\n]*+(?:\n(?![ \t]*\n)[^\n]*+)*"  # to the end of the paragraph
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|^[ \t]*(?:>|&gt;|\|).*?$|`[^`\n]+`"
    r"|(?<![:\w/])//[^\n]*|/\*.*?(?:\*/|\Z)|<!--.*?(?:-->|\Z)"  # comments of code
    r"|(?:^[ \t]*|;[ \t]*)--[ \t][^\n]*|(?:^|(?<=\s))#+[ \t][^\n]*"
    # a mark between a space and a letter opens, and so does not close what is open
    rf"|\"(?:[^\"]*+(?:(?<=\s)\"(?=\w)[^\"]*+)*(?:(?<!\s)\"|\"(?!\w))|{_UNCLOSED})"
    + "".join(
        rf"|{mark}(?:[^{end}]*+{end}|{_UNCLOSED})"
        for mark, end in ("„“", "“”", "«»", "»«", "「」", "『』", "《》")
    )
    + r"|(?<![\w'])'[^'\n]++(?:(?<=\w)'(?=\w)[^'\n]*+)*'(?!\w)",
    re.DOTALL | re.MULTILINE,
)
_INTRODUCED = re.compile(r"[:：][ \t]*\n")  # a line that ends so shows what follows it
_MAY_QUOTE = re.compile(r"[`\"„“«»「『《>'|#]|&gt;|//|/\*|<!--|--[ \t]")


def own_words(text: str) -> str:
    """The text with quotations and code blanked, as long as it was, up to a line that shows what
    follows it."""
    if _MAY_QUOTE.search(text):
        text = _QUOTED.sub(lambda match: BLANK * len(match[0]), text)
    introduction = _INTRODUCED.search(text)
    return text[: introduction.start()] if introduction else text
