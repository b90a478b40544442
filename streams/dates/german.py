"""German dates."""

# ruff: noqa: E501 - a form is one line, however long

from streams.dates.grammar import Form, Language
from streams.dates.meaning import FEW

_PART = r"(?:anfang|mitte|ende|früh(?:er)?|spät) "
_TIME = r"(?:[ -]?(?:früh|morgens?|vormittag|mittag|nachmittag|abend|nacht))?"
_ENDINGS = ("", "e", "er", "em", "en", "es")


def _inflected(stems: dict[str, int]) -> dict[str, int]:
    return {stem + ending: shift for stem, shift in stems.items() for ending in _ENDINGS}


_SHIFTS = _inflected({
    "vorvorig": -2, "vorletzt": -2, "letzt": -1, "vergangen": -1, "vorig": -1, "dies": 0,
    "nächst": 1, "kommend": 1, "übernächst": 2,
})  # fmt: skip

GERMAN = Language(
    (
        Form("ago", r"vor (?:etwa |ungefähr |rund |circa |ca\. |gut |über |fast |genau )?<n> <unit>"),
        Form("half_year", r"vor einem halben jahr"),
        Form("half_year_ahead", r"in einem halben jahr"),
        Form("day", r"(?<!schnee von )<day>" + _TIME + r"(?!-)"),
        Form("day", r"(?<!guten )(?<!am )(?<!jeden )(?<!gegen )(?<!schönen )(?<!diesen )(?<!dieser )(?<!der )(?<!den )(?<!dem )(?<!eines )(?<!heute )(?<!gestern )(?<!frühen )(?<!nächsten )<day2>(?! zusammen| allerseits| alle\b)(?: (?:früh|vormittag|mittag|nachmittag|abend|nacht))?(?!!)"),
        Form("weekday_of_week", r"(?:am )?<weekday>" + _TIME + r" (?:in )?(?:der )?<shift> woche"),
        Form("weekday_of_week", r"<shift> woche(?: am)? <weekday>" + _TIME),
        Form("unit", r"<shift> (?!(?:tagen?|wochen|wochenenden|monaten?|jahren?)\b)<unit>"),
        Form("season", r"<season>(?: des jahres)? <year>(?:/\d\d)?"),
        Form("season", r"<shift> <season>"),
        Form("weekday", r"<shift> <weekday>" + _TIME),
        Form("month", r"(?:am |vom |zum |dem |den |der )?<d>\. ?<month>(?: <year>)?"),
        Form("month", r"(?:am |vom |zum |dem |den |der )?<d>\.(?: ?)(?P<month>\d{1,2})\. ?(?P<year>(?:19|20)\d\d|\d\d(?![\d.:]))(?!\.?\d)"),
        Form("month", r"(?:am|vom|zum|seit dem|bis) <d>\.(?P<month>\d{1,2})\.(?!\d)"),
        Form("month", rf"(?:{_PART})?<month> <year>"),
        Form("month", r"<shift> <month>"),
        Form("month", rf"(?:im|seit|bis|ab|{_PART.strip()}|bis zum)(?: {_PART.strip()})?(?: monat)? <month>", by_tense=True),
        Form("day_of_month", r"(?:am|seit dem|bis zum|vor dem|nach dem) <d>\.(?!\d| ?(?:tag|mal|platz|stock|geburtstag)\b)", by_tense=True),
        Form("weekday", r"(?:am|bis|bis zum|seit|ab) <weekday>" + _TIME + r"(?!s)(?:,? (?:den |dem )?\d{1,2}\.(?!\d))?", by_tense=True),
        Form("weekend", r"(?:am|übers) <unit>(?<=wochenende)", by_tense=True),
        Form("ahead", r"(?<!einmal )(?<!zweimal )(?<!mal )(?<!innerhalb )in (?:etwa |ungefähr |rund |circa |genau )?<n> <unit>"),
        Form("year", rf"(?:im jahre?|seit|bis|ab|um|vor|nach|{_PART.strip()}) (?:anfang |mitte |ende |dem jahr )?<year>(?! (?:leute|menschen|euro|jahren?|schritte|uhr)\b)(?![.,:/-]?\d)"),
        Form("year", r"(?<![^.!?,;] )<year>(?= (?:habe|hatte|war|bin|wurde|haben|sind|waren|hat|lebte|zog|ging|kam|wurden|begann)\b)"),
    ),
    tables={
        "day": {
            "vorgestern": -2, "gestern": -1, "letzte nacht": -1, "heute": 0, "heute morgen": 0,
            "heute früh": 0, "heute abend": 0, "heute nacht": 0, "übermorgen": 2,
        },
        "day2": {"morgen": 1},
        "n": {
            "einem": 1, "einer": 1, "ein": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5,
            "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "elf": 11, "zwölf": 12,
            "ein paar": FEW, "einigen": FEW, "wenigen": FEW, "mehreren": FEW,
        },
        "unit": {
            "tag": "day", "tage": "day", "tagen": "day", "woche": "week", "wochen": "week",
            "wochenende": "weekend", "wochenenden": "weekend", "monat": "month",
            "monats": "month", "monate": "month", "monaten": "month", "jahr": "year",
            "jahre": "year", "jahres": "year", "jahren": "year",
        },
        "shift": _SHIFTS,
        "weekday": {
            "montag": 0, "dienstag": 1, "mittwoch": 2, "donnerstag": 3, "freitag": 4,
            "samstag": 5, "sonnabend": 5, "sonntag": 6,
        },
        "month": {
            "januar": 1, "jänner": 1, "februar": 2, "märz": 3, "april": 4, "mai": 5, "juni": 6,
            "juli": 7, "august": 8, "september": 9, "oktober": 10, "november": 11,
            "dezember": 12,
        },
        "season": {"frühling": 3, "frühjahr": 3, "sommer": 6, "herbst": 9, "winter": 12},
    },
    past=r"\b(?:war|waren|warst|hatte|hatten|wurde|wurden|ging|gingen|kam|kamen|gab|fand|blieb|lief|sah|"
    r"zog|begann|traf|ge\w{2,}(?:t|en)|(?:auf|ab|an|ein|aus|um|vor|zu|mit|nach|weg|kennen|kaputt)ge\w+(?:t|en)|"
    r"\w{3,}iert|verloren|bekommen|verkauft|verpasst|vergessen|unterschrieben|besucht|erlebt|erhalten|verletzt)\b",
    future=r"\b(?:werde|wird|werden|wirst|muss|müssen|will|wollen|soll|sollen|kann|können|möchte|"
    r"möchten|plane|planen|geplant|fällig|termin|brauche|erinnere|fahre|fahren|fliege|kommen|kommt|beginnt|beginnen|startet|endet|öffnet|schließt|findet)\b",
    habit=r"\b(?:jeden|jede|jedes|immer|meistens|normalerweise)\b",
    yearly=r"\b(?:geburtstag (?:ist|habe)|jedes jahr)\b",
    since=r"\bseit (?:dem |der |anfang |mitte |ende )*",
    ordinal_dots=True,
)  # fmt: skip
