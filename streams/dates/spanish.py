"""Spanish dates."""

# ruff: noqa: E501 - a form is one line, however long

from streams.dates.grammar import Form, Language
from streams.dates.meaning import FEW

_TIME = r"(?: (?:por|de|en) la (?:mañana|tarde|noche)| al mediodía)?"
_PART = r"(?:principios|finales|mediados|fines|comienzos) de "
_AFTER = r"pasado|pasada|que viene|que entra|próximo|próxima"
_BEFORE = r"próximo|próxima|pasado|pasada|este|esta|último|última"

SPANISH = Language(
    (
        Form("ago", r"(?<!desde )hace (?:unos |unas |como |casi |más de |ya )?<n> <unit>(?! (?:que|de)\b)"),
        Form("half_year", r"(?<!desde )hace (?:medio año|seis meses)"),
        Form("day", r"<day>" + _TIME + r"(?! en día)"),
        Form("day", r"(?<!la )(?<!esta )(?<!cada )(?<!una )(?<!las )(?<!ayer )(?<!buena )(?<!de )<day2>" + _TIME),
        Form("unit", rf"(?:el |la )?<unit> (?P<shift>{_AFTER})"),
        Form("unit", rf"(?:el |la )?(?P<shift>{_BEFORE}) <unit>(?! de\b)"),
        Form("season", r"(?:el |la )?<season> (?:de |del )?<year>"),
        Form("season", rf"(?:el |la )?<season> (?P<shift>{_AFTER})"),
        Form("season", rf"(?:el |la )?(?P<shift>{_BEFORE}) <season>"),
        Form("weekday_of_week", rf"(?:el )?<weekday>{_TIME} de la semana (?P<shift>{_AFTER})"),
        Form("weekday_of_week", rf"(?:el )?<weekday>{_TIME} de (?P<shift>esta) semana"),
        Form("weekday", rf"(?:el )?<weekday> (?P<shift>{_AFTER}){_TIME}"),
        Form("weekday", rf"(?:el )?(?P<shift>{_BEFORE}) <weekday>{_TIME}"),
        Form("month", r"(?:el |al |del )?(?:día )?<d> de <month>(?:,? (?:de |del )?<year>)?"),
        Form("month", r"(?:el |al |del )?<d>[/.-](?P<month>\d{1,2})[/.-](?P<year>(?:19|20)\d\d)(?![/.]?\d)"),
        Form("month", rf"(?:{_PART})?<month> (?:de |del )?<year>"),
        Form("month", rf"(?:el )?(?:mes de )?<month> (?P<shift>{_AFTER})"),
        Form("month", rf"(?:en|desde|hasta|para|a {_PART.strip()}|el mes de)(?: el mes de)? <month>", by_tense=True),
        Form("day_of_month", r"(?:el|al|hasta el|desde el|antes del) (?:día )?<d>(?=[.,!?;]|$| (?:y|a|por|me|nos|es|fue|tengo|con|para|en)\b)(?![.,:]\d)", by_tense=True),
        Form("weekday", rf"(?:el|hasta el|desde el|para el|antes del) <weekday>{_TIME}(?! de (?:ramos|resurrección|gloria))", by_tense=True),
        Form("weekend", r"(?:el|durante el) <unit>(?<=fin de semana)(?! de\b)", by_tense=True),
        Form("ahead", r"(?<!vez )(?<!veces )(?:en|dentro de) (?:unos |unas |como )?<n> <unit>(?! (?:de|a)\b)"),
        Form("year", rf"(?:en|desde|hasta|para|hacia|sobre|antes de|después de|a {_PART.strip()}|del? año) (?:el año )?<year>(?! (?:euros|personas|metros|palabras|pasos)\b)(?![.,:/-]?\d)"),
    ),
    tables={
        "day": {
            "antes de ayer": -2, "anteayer": -2, "antier": -2, "anteanoche": -2, "ayer": -1,
            "anoche": -1, "hoy": 0, "esta mañana": 0, "esta tarde": 0, "esta noche": 0,
            "pasado mañana": 2,
        },
        "day2": {"mañana": 1},
        "n": {
            "un": 1, "una": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6,
            "siete": 7, "ocho": 8, "nueve": 9, "diez": 10, "once": 11, "doce": 12, "quince": 15,
            "veinte": 20, "unos": FEW, "unas": FEW, "unos pocos": FEW, "unas pocas": FEW,
            "algunos": FEW, "algunas": FEW, "varios": FEW, "varias": FEW, "un par de": 2,
        },
        "unit": {
            "día": "day", "días": "day", "semana": "week", "semanas": "week",
            "fin de semana": "weekend", "mes": "month", "meses": "month", "año": "year",
            "años": "year",
        },
        "shift": {
            "pasado": -1, "pasada": -1, "último": -1, "última": -1, "este": 0, "esta": 0,
            "próximo": 1, "próxima": 1, "que viene": 1, "que entra": 1,
        },
        "weekday": {
            "lunes": 0, "martes": 1, "miércoles": 2, "miercoles": 2, "jueves": 3, "viernes": 4,
            "sábado": 5, "sabado": 5, "domingo": 6,
        },
        "month": {
            "enero": 1, "febrero": 2, "marzo": 3, "abril": 4, "mayo": 5, "junio": 6, "julio": 7,
            "agosto": 8, "septiembre": 9, "setiembre": 9, "octubre": 10, "noviembre": 11,
            "diciembre": 12,
        },
        "season": {"primavera": 3, "verano": 6, "otoño": 9, "invierno": 12},
    },
    past=r"\b(?:fui|fue|fuimos|fueron|hice|hizo|hicimos|hicieron|estuve|estuvo|estuvimos|tuve|tuvo|tuvimos|"
    r"dije|dijo|vine|vino|puse|puso|quise|pude|pudo|era|éramos|eran|he|ha|hemos|han|había|habíamos|vi|vio|di|dio|"
    r"(?!bebé|café|qué|porqué|puré)\w{2,}(?:(?<![aei]r)é|(?<!r)ó|aron|ieron|aste|iste|imos|aba|aban|ábamos|(?<!tod)(?<!d)ía|ían|íamos)|\w+ró)\b",
    future=r"\b(?:voy|vamos|va|van|tengo|tenemos|tiene|hay|quiero|queremos|debo|puedo|puedes|"
    r"recuérdame|planeo|cita|vence|empiezan?|comienzan?|termina|abre|cierra|sale|\w+(?:aré|eré|iré|drá|ará|erá|irá|remos|rán))\b",
    habit=r"\b(?:cada|todos los|todas las|siempre|normalmente)\b",
    yearly=r"\bcumpleaños es\b",
    since=rf"\bdesde (?:el |la |a |{_PART}|hace )*",
)  # fmt: skip
