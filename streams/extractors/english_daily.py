"""English rules: what somebody uses, owns by its maker's name, and does by number and weekday.

One line each (docs/extractors.md).
"""

# ruff: noqa: E501 - a rule is one line, however long

from streams.extractors.rule import Rule

PARTS = {
    # "on Tuesdays and Thursdays", "every Tuesday and Friday"
    "weekdays": r"(?:on <day>s(?:(?:,| and|, and)? (?:on )?<day>s)+|(?:every|each) <day>(?:(?:,| and|, and)? <day>)+|on <day> (?:mornings|evenings|afternoons|nights))",
    "exercising": r"(?:swim|run|train|climb|row|cycle|bike|dance|sing|box|hike|lift|meditate|volunteer|(?:play|teach|practi[cs]e) (?!it\b)<any>|(?:work|work out|exercise)(?= on| every)|go (?:to (?:the gym|church|mosque|temple|therapy)|running|swimming|climbing|dancing|cycling))",
    # "about five", "maybe 6"
    "about": r"(?:(?:only|about|around|roughly|maybe|like|just|at least|up to|less than|more than) )*",
    "perday": r"(?:an?|per|each|every) (?:day|night|week|month|morning|evening)",
    "machine": r"(?:queries|requests|files|jobs|tests|builds|calls|tasks|records|rows|tokens|messages|scripts|checks|backups|deploys|times)",
    "taken": r"(?:drink|eat|smoke|walk|run|work|study|practi[cs]e|train|swim|cycle|meditate|read)",
    # one of these programs or machines, by its name
    "system": r"(?:arch(?: linux)?|ubuntu|debian|fedora|nixos|linux(?: mint)?|mac ?os(?: \w+)?|windows(?: \d+)?|android(?: \d+)?|ios(?: \d+)?|gmail|outlook|firefox|linear|jira|slack|notion|obsidian|neovim|emacs|vs ?code|pixel \d+\w*|iphone \d+\w*)",
    "model": r"<maker>(?: (?:pro|plus|max|ultra|mini|air|classic|watch|piano|pi|one|series|switch|phone|laptop|tablet|camera|car|bike|guitar|keyboard|speakers?|fridge|oven|civic|corolla|focus|fiesta|golf|polo|model \w|prius|yaris|accord|outback|octavia|leaf|clio|mustang)\b| [a-z]*\d[\w-]*)*",
    "athome": r"(?!(?:my|the|our|no|nothing|something|anything|problems?|guests?|visitors?|trouble|work|stuff|fun|everything|it|that|this|them|time|enough|some|any|an? (?:problem|issue|question|day|night|party|meeting|call|lot))\b)",
}  # fmt: skip

_MAKERS = (
    "samsung|pixel|iphone|ipad|macbook|thinkpad|lenovo|dell|kindle|fitbit|garmin|apple watch|playstation|ps5|ps4|xbox|nintendo|"
    "tesla|toyota|honda|ford|volkswagen|vw|bmw|audi|subaru|hyundai|kia|mazda|volvo|renault|peugeot|fiat|skoda|nissan|raspberry|canon|"
    "nikon|fujifilm|leica|gopro|arduino|roomba|yamaha|fairphone|oneplus|xiaomi|huawei|motorola|nokia|asus|acer|surface|chromebook|steam deck|golf|peloton|kobo|fender|gibson|roland|vespa|ducati|kawasaki"
)
PARTS["maker"] = f"(?:{_MAKERS})"

RULES = (
    Rule("background", _MAKERS, r"(?:i|we)(?:'ve got| have| own| drive| ride| got| use)(?: also| just| now)? (?P<value>(?:an?|my|our|the) (?:(?:old|new|used|second-hand|\d{4}|twenty[- ]\w+) )?<model>(?: (?:diesel|hybrid|estate|electric|ev|gti))?)", "I have a Samsung S23.", "a Samsung S23", "Has {value}.", family="possession", passing=True),
    Rule("background", "i'm on |i am on |we're on |i use |we use |i'm using |we're using |we are using ", r"(?:<am>|we're|we are)(?: now| still| currently)? (?:on|using) (?:an? )?(?P<value><system>)(?: (?:with|and|now|at work|at home)\b.*)?", "I'm on Arch with a tiling window manager.", "Arch", "Uses {value}.", family="possession"),
    Rule("background", "on |every |each ", r"(?:i|we) (?:also |usually |always |normally |still )*(?P<value><exercising> <weekdays>)(?: (?:with|at|for) <any>)?", "I swim on Mondays and Fridays.", "swim on Mondays and Fridays", "{does}.", family="habit", confidence=0.85),
    Rule("background", " a day| an evening| a night| a week| a month| per | each | every ", r"(?:i|we) (?:also |usually |still |generally )*(?P<value><taken> <about>(?:<number>|\d+(?:[.,]\d+)?k?) (?:(?!<units>|<machine>)[\w-]+ ){0,4}?(?:(?:minutes|hours?) )?<perday>)", "I smoke about ten cigarettes a day.", "smoke about ten cigarettes a day", "{does}.", family="habit", confidence=0.85),
    Rule("background", "i sleep|i only sleep|i usually sleep", r"i (?:usually |only |normally )?(?P<value>sleep <about>(?:<number>|\d+)(?:(?:-| to | or )(?:<number>|\d+))? hours)(?: .+)?", "I sleep about six hours.", "sleep about six hours", "{does}.", family="health", confidence=0.85),
    Rule("background", "at home", r"(?:i|we)(?: only| just)? have (?P<value><athome><clear>[\w' -]+?) at home", "I have a rowing machine at home.", "a rowing machine", "Has {value} at home.", family="possession", confidence=0.8),
    Rule("background", "wheelchair|walking stick|crutches|a walker|hearing aid|white cane|guide dog|service dog", r"(?:i (?:<ly>|always )(?:have|walk with|wear|need|fly with|travel with)|<am> (?:<ly>)in) (?P<value>(?:an?|my) (?:\w+ )?(?:wheelchair|walking stick|walker|white cane|hearing aids?|guide dog|service dog)|crutches|hearing aids)(?: .+)?", "I'm in a wheelchair.", "a wheelchair", "Relies on {value}.", family="health"),
)  # fmt: skip
