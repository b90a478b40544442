"""English: which values a slot takes: a place, an employer, a name, an amount. What is none of it
("the back row", "a snail's pace", "back at five") would replace what is known.

The lists stand in `english_kinds.py`. A name that stands alone is capitalised, unless the user
writes without capitals.
"""

# ruff: noqa: E501 - a pattern that stands alone is one line

import re
from collections.abc import Callable

from streams.extractors.english_contrast import is_contrast
from streams.extractors.english_kinds import KINDS
from streams.extractors.english_occasions import is_duty
from streams.extractors.english_orders import is_order
from streams.extractors.english_places import KNOWN, PLACE
from streams.extractors.patterns import either

_ONE_OF = {name: either(words.split(", ")) + r"(?!\w)" for name, words in KINDS.items()}


def _any_of(*names: str) -> str:
    return f"(?:{'|'.join(_ONE_OF[name] for name in names)})"


_CAPITAL = re.compile(r"(?<!\w)[A-Z]")
_WORDS = re.compile(r"[\w'’.-]+")
_SMALL = re.compile(rf"(?:{_any_of('particles')}|the|and|of)$")
_PRODUCT = re.compile(rf"{_any_of('products')}", re.IGNORECASE)
_NO_NAME = re.compile(rf"{_any_of('times', 'kin')}", re.IGNORECASE)
_NUMBERED = re.compile(rf"{_any_of('numbered')} \w", re.IGNORECASE)
_ADJECTIVE = re.compile(rf"{_any_of('nonames')}", re.IGNORECASE)
_TIME = re.compile(rf"\b{_any_of('times', 'months')}", re.IGNORECASE)

_WHERE = r"(?:in|of|near|outside|by|on|at|from|between|around|north|south|east|west)"
_SPOT = re.compile(  # "the countryside", "a small town in Bavaria", "a flat in Leeds"
    rf"(?:(?:a|an|the|my|our) )?(?:[\w-]+ ){{0,3}}?(?:{_any_of('areas')}(?: .+)?|{_any_of('lands')}"
    rf"|{_any_of('settlements')}(?: {_WHERE} .+)?)",
    re.IGNORECASE,
)
_DWELLING = re.compile(
    rf"(?:(?:a|an|the|my|our) )?(?:[\w-]+ ){{0,3}}?{_any_of('dwellings')} (?:\w+ )?{_WHERE} (?:.+ )?"
    rf"(?:(?-i:[A-Z])\w+|{PLACE}).*",
    re.IGNORECASE,
)
_THE_NAME = re.compile(r"the (?:[a-z]+ )?[A-Z]\w+.*")
_WORKPLACE = re.compile(
    rf"(?:(?:a|an|the|my|our|one of the|several|two) )?(?:[\w'’-]+ ){{0,4}}?{_any_of('workplaces')}"
    rf"(?: (?:{_WHERE}|for|with|called|that|which|downtown|nearby|here) .+| here| nearby)?",
    re.IGNORECASE,
)
_FIELD = re.compile(
    rf"(?:[\w&-]+ (?:and )?){{0,3}}?(?:{_any_of('fields')}|\w{{3,}}(?:ology|onomics|otics))"
    rf"(?: (?:{_WHERE}|for|and) .+)?|(?:an?|the) (?:[\w-]+ ){{1,3}}?"
    r"(?:sector|industry|field|trade|business)",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"(?:an?|the|head|chief|lead|deputy|assistant|part of the) (?!(?:\w+ )?(?:team|group|pair|unit|way|result|rule|last|matter|"
    rf"means|joke)\b).+|[A-Z]+\w* .+|[A-Z]{{2,}}|.*{_any_of('jobs')}.*"
)
_MAKER = re.compile(
    rf".*(?:(?<![\w-]){_any_of('jobs')}|\w{{2,}}(?:ologist|icist|grapher|keeper|maker|worker|smith|wright|monger|"
    r"person|woman|man))s?(?!\w).*",
    re.IGNORECASE,
)
_PURSUIT = re.compile(
    rf"(?!{_any_of('restless')})\w{{2,}}ing(?! (?:me|my|so|too|really)\b)(?: .+)?|\w+",
    re.IGNORECASE,
)
_DULL = re.compile(
    rf"(?:really |very |so |too |quite |pretty )*{_any_of('moods')}.*", re.IGNORECASE
)
_AMOUNT = re.compile(rf"\d|\b{_any_of('amounts')}", re.IGNORECASE)
_WHEN = re.compile(rf"\d|\b{_any_of('times', 'months', 'moments')}", re.IGNORECASE)
_NO_ALLERGEN = re.compile(
    rf"(?:(?:my|your|our|all|most|any|such|some|other|these|those|the|being|having) )*(?:[\w-]+ )?{_any_of('nuisances', 'times', 'relations')}"
    rf"(?: (?:in|on|at|before|of|who|that|and|from|after|like|with) .+)?"
    rf"|{_any_of('labours')}(?: (?:in|at|on|for|to|up|my|the|early|late|before|after) .+)?|stupid \w+",
    re.IGNORECASE,
)
_SPOUSE = re.compile(
    rf".* (?:to|with) (?:(?:my|our) (?!(?:[\w-]+ ){{0,3}}?{_any_of('relations')})|(?:the|this|that) |{_any_of('products')}).*",
    re.IGNORECASE,
)
_PARTED = re.compile(
    rf"(?:{_any_of('pronouns')}|(?:my |the )?(?:[\w-]+ ){{0,3}}?{_any_of('relations')}|(?!{_any_of('products')})(?-i:[A-Z])\w+)(?!\w).*",
    re.IGNORECASE,
)
_AGAIN = re.compile(r"\b(?:again|forever|at heart|for the \w+ time|every year|and holding)\b")


def _is_named(value: str, said: str) -> bool:
    """Whether it is a proper name: capitalised, or in a text without capitals at most three words."""
    words = _WORDS.findall(value)
    if not words or _NO_NAME.match(words[0]) or _NUMBERED.match(value):
        return False
    if _CAPITAL.search(said):
        return words[0][0].isupper() or bool(_SMALL.match(words[0]) and _CAPITAL.search(value))
    new = words[0].lower() == "new" and len(words) > 1
    return len(words) <= 3 and words[0].isalpha() and (new or not _ADJECTIVE.match(words[0]))


def _is_place(value: str, said: str) -> bool:
    if value.lower() in ("town", "area", "the area", "the town"):
        return False
    if _SPOT.fullmatch(value) or _DWELLING.fullmatch(value) or _THE_NAME.match(value):
        return True
    if KNOWN.fullmatch(value):  # "I live in berlin"
        return True
    return _is_named(value, said) and not _PRODUCT.match(value)


_BESIDE = re.compile(
    r"(?:(?:just|quite|very) )?(?:outside(?: of)?|near|close to|on|by) ", re.IGNORECASE
)


def _is_beside(value: str, said: str) -> bool:
    """ "near Ghent", "on the coast"."""
    return _is_place(_BESIDE.sub("", value, count=1), said)


def _is_parted(value: str, said: str) -> bool:
    """Of "broke up with …": a person, or nobody named."""
    _, named, whom = value.partition(" with ")
    return not named or _PARTED.fullmatch(whom) is not None


def _is_employer(value: str, said: str) -> bool:
    if _TIME.search(value) and not _CAPITAL.search(_TIME.sub("", value)):
        return False
    return bool(_WORKPLACE.fullmatch(value) or _THE_NAME.match(value)) or _is_named(value, said)


def _is_work(value: str, said: str) -> bool:
    """Of what follows "works": "as a nurse", "at Acme", "in finance"."""
    how, _, rest = value.partition(" ")
    how = how.lower()
    if how == "as":
        return bool(_ROLE.fullmatch(rest))
    if how == "in" and _FIELD.fullmatch(rest):
        return True
    if how == "for" and rest.lower() in ("myself", "the government", "the state", "the city"):
        return True
    return _is_employer(rest, said)


def _is_job(value: str, said: str) -> bool:
    return bool(_MAKER.fullmatch(value))


def _is_occupation(value: str, said: str) -> bool:
    return bool(_MAKER.fullmatch(value) or _PURSUIT.fullmatch(value)) and not _DULL.match(value)


def _is_called(value: str, said: str) -> bool:
    words = value.split()
    if len(words) > 3 or _ADJECTIVE.match(words[0]) or not _is_named(value, said):
        return False
    small = [one for one in words if not (one[0].isupper() or _SMALL.match(one))]
    return not (small and _CAPITAL.search(said))


def _is_greeted(value: str, said: str) -> bool:
    """Of "Hi, I'm …": no nationality or mood, and capitalised however the user writes."""
    return (
        value[0].isupper()
        and not value.isupper()
        and _is_called(value, said)
        and not _KIN_OF.match(value)
    )


_KIN_OF = re.compile(rf"{_any_of('peoples')}", re.IGNORECASE)

_DISTRICT = re.compile(r"(?:[A-Z]\w+ )+(?:City|Park|Street|Avenue|Beach|Station|Airport)")
_TO_ANOTHER = re.compile(r" (?:to|over|rather than|instead of|more than) ")
_OWN_FIRM = re.compile(r"(?:they|work|my|the)\b")


def _is_preferred(value: str, said: str) -> bool:
    """Of "I prefer …": no place that was offered, but "Berlin to Paris"."""
    place = KNOWN.fullmatch(value) or _DISTRICT.fullmatch(value)
    return not place or bool(_TO_ANOTHER.search(said))


_UNDATED = re.compile(  # of a birthday: "today", "in three weeks"
    r"(?:today|tomorrow|soon|coming|here|over|next|this|not|really|my|an?|the (?!\d|(?:spring|summer|autumn|fall|winter) of))\b|.*\b(?:days?|weeks?|months?)\b",
    re.IGNORECASE,
)


_CALLED = re.compile(r".* called (.+)", re.IGNORECASE)


def _is_pet(value: str, said: str) -> bool:
    """ "a cat called Luna": its name has a capital, unless the user writes without."""
    called = _CALLED.fullmatch(value)
    return called is None or called[1][0].isupper() or not _CAPITAL.search(said[1:])


FITS: dict[str, Callable[[str, str], object]] = {
    "home": _is_place,
    "origin": _is_place,
    "beside": _is_beside,
    "preferred": _is_preferred,
    "visited": lambda value, said: KNOWN.fullmatch(value),
    "employer": _is_employer,
    "firm": lambda value, said: value[0].isupper() or _OWN_FIRM.match(value),
    "work": _is_work,
    "job": _is_job,
    "occupation": _is_occupation,
    "name": _is_called,
    "greeted": _is_greeted,
    "budget": lambda value, said: _AMOUNT.search(value),
    "deadline": lambda value, said: _WHEN.search(value),
    "birthday": lambda value, said: (
        (_WHEN.search(value) or value[0].isupper()) and not _UNDATED.match(value)
    ),
    "contrast": is_contrast,
    "pet": _is_pet,
    "age": lambda value, said: not _AGAIN.search(said.lower()),
    "relationship status": lambda value, said: not _SPOUSE.fullmatch(value),
    "parted": _is_parted,
    "allergen": lambda value, said: not _NO_ALLERGEN.fullmatch(value),
    "order": is_order,
    "duty": is_duty,
}
"""By what a rule takes (its slot, where it does not say): whether a value may be one. `said` is the
clause as the user wrote it."""


def fits(takes: str, value: str, said: str) -> bool:
    """Whether a value is of the kind that a rule takes; any is where nothing is known of the kind."""
    check = FITS.get(takes)
    return check is None or bool(check(value, said))
