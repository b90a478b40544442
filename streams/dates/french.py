"""French dates."""

# ruff: noqa: E501 - a form is one line, however long

from streams.dates.grammar import Form, Language
from streams.dates.meaning import FEW

_TIME = r"(?: (?:matin|midi|après-midi|soir))?"
_LE = r"(?:le |du |au )?"

FRENCH = Language(
    (
        Form("ago", r"il y a (?:environ |à peu près |presque |plus de )?<n> <unit>(?! (?:de|des|que|qu'|entre|dans)\b)(?! d'| qu')"),
        Form("half_year", r"il y a six mois"),
        Form("day", r"<day>" + _TIME),
        Form("unit", r"(?:la |le |l')?<unit> <shift>"),
        Form("unit", r"(?P<shift>ce|cet|cette) <unit>(?:-ci)?"),
        Form("season", r"(?:à |en |l'|à l'|au |le )*<season>(?: de| d'| en)? ?<year>"),
        Form("season", r"(?:à |l'|à l'|au |le )*<season> <shift>"),
        Form("season", r"(?P<shift>ce|cet|cette) <season>"),
        Form("weekday_of_week", r"(?:le )?<weekday>" + _TIME + r" de la semaine <shift>"),
        Form("weekday", r"(?:le )?<weekday> <shift>" + _TIME),
        Form("weekday", r"(?P<shift>ce|cet|cette) <weekday>" + _TIME),
        Form("month", rf"{_LE}<d> <month>(?: <year>)?"),
        Form("month", rf"{_LE}<d>[/.](?P<month>\d{{1,2}})[/.](?P<year>(?:19|20)\d\d)(?![/.]?\d)"),
        Form("month", r"(?:en |début |mi-|fin |au mois de |au mois d')?<month> <year>"),
        Form("month", r"(?:en |au mois de |au mois d')?<month> <shift>"),
        Form("month", r"(?:en|depuis|jusqu'en|d'ici|courant|début|fin|au mois d[e']|(?<=mi)-) ?(?:début |mi-|fin )?<month>(?! de la\b)", by_tense=True),
        Form("day_of_month", r"(?:le|au|du|jusqu'au|depuis le|avant le) <d>(?=[.,!?;]|$| (?:et|à|j'|je|on|nous|pour|avec|il|elle|au)\b)(?![.,:]\d)", by_tense=True),
        Form("weekday", r"(?<!le )(?<!les )(?<!tous les )(?<!chaque )(?<!du )(?<!de )(?<!au )(?<!bon )(?<!un )<weekday>" + _TIME + r"(?! (?:ou|13|saint)\b)", by_tense=True),
        Form("ahead", r"(?<!fois )dans (?:environ |à peu près )?<n> <unit>(?! (?:de|des)\b)"),
        Form("year", r"(?:en|depuis|jusqu'en|d'ici|vers|avant|après|début|fin|courant|l'année|l'an) (?:début |fin |l'an )?<year>(?! (?:euros|personnes|mètres|mots|pas)\b)(?![.,:/-]?\d)"),
    ),
    tables={
        "day": {
            "avant-hier": -2, "hier": -1, "aujourd'hui": 0, "ce matin": 0, "ce midi": 0,
            "ce soir": 0, "cet après-midi": 0, "demain": 1, "après-demain": 2,
        },
        "n": {
            "un": 1, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "six": 6,
            "sept": 7, "huit": 8, "neuf": 9, "dix": 10, "onze": 11, "douze": 12, "quinze": 15,
            "vingt": 20, "quelques": FEW, "plusieurs": FEW,
        },
        "unit": {
            "jour": "day", "jours": "day", "semaine": "week", "semaines": "week",
            "week-end": "weekend", "weekend": "weekend", "mois": "month", "an": "year",
            "ans": "year", "année": "year", "années": "year",
        },
        "shift": {
            "dernier": -1, "dernière": -1, "passé": -1, "passée": -1, "prochain": 1,
            "prochaine": 1, "suivant": 1, "qui vient": 1, "ce": 0, "cet": 0, "cette": 0,
        },

        "weekday": {
            "lundi": 0, "mardi": 1, "mercredi": 2, "jeudi": 3, "vendredi": 4, "samedi": 5,
            "dimanche": 6,
        },
        "month": {
            "janvier": 1, "février": 2, "mars": 3, "avril": 4, "mai": 5, "juin": 6,
            "juillet": 7, "août": 8, "septembre": 9, "octobre": 10, "novembre": 11,
            "décembre": 12,
        },
        "season": {"printemps": 3, "été": 6, "automne": 9, "hiver": 12},
    },
    past=r"(?:\b(?:ai|as|a|avons|avez|ont|est|suis|es|sommes|êtes|sont|été)(?:-(?:je|tu|il|elle|on|nous|vous))? "
    r"(?:(?:pas|enfin|bien|déjà|toujours|beaucoup|tout|rien|jamais|vraiment|aussi|encore|été|eu|juste) )*"
    r"(?!trois\b)\w+(?:é|ée|és|ées|i|is|it|u|us|ert|ues|ie)\b|\b(?!(?:fais|fait|mais|sais|vais|jamais|français|lait|plait|connais|souhait|parfait)\b)\w+(?:ais|ait|aient|ions)\b"
    r"|\b(?:fut|naquit|eut|étions|est né|est née))",
    future=r"\b(?:vais|vas|va|allons|allez|vont|veux|veut|voudrais|dois|doit|devons|faut|peux|peut|"
    r"prévois|prévu|rendez-vous|compte|commence(?:nt)?|débute|finit|termine|ouvre|ferme|part|\w+(?:erai|era|erons|eront|irai|ira|irons|drai|dra))\b",
    habit=r"\b(?:chaque|tous les|toutes les|toujours|d'habitude)\b",
    yearly=r"\banniversaire est\b",
    since=r"\bdepuis (?:le |la |l'|début |fin |mi-)*",
    number=lambda text: int(text.removesuffix("er")),
    day_digits=r"1er|\d{1,2}",
)  # fmt: skip
