"""The words that English rules are written with: `<kin>` in a pattern stands for `WORDS["kin"]`."""

# ruff: noqa: E501 - a list of words is one line, however long

# within a clause: a comma or a dot is not its end inside a number, a name or an initial
_ANY = r"(?:[^.,!?;:]|\.(?=\d|(?:js|net|com|org|io|py|go|csv|json)\b)|(?<=[ .][a-z])\.|(?<=\d)[,:](?=\d))+?"

WORDS = {
    "value": rf"(?P<value>{_ANY})",
    "any": _ANY,
    "old": rf"(?P<old>{_ANY})",
    "why": r"(?:,? (?:because|since|as|so that|given that|due to) (?P<why><any>))?",
    "am": r"i(?:'m|m| am)",
    "we": r"(?:i|we)(?:'ve|ve| have)?",
    "adverb": r"(?:really|absolutely|also|just|still|always|do|truly|especially|generally|usually|"
    r"particularly|mostly|personally|genuinely|totally|simply|completely|honestly|actually|quite|"
    r"definitely|typically|normally|currently|now|already|finally|recently|both|strongly|much|"
    r"only|severely|highly|mildly|deathly|kind of|pretty|very|a bit|so) ",
    "ly": "(?:<adverb>)*",
    "anymore": r"(?: (?:any ?more|any longer|now))?",
    "but": r"(?:\s*[,.;:–—-]+\s+|\s+(?=(?:but|and|so|instead|now)\b))(?:(?:but|and|so|nowadays|now|instead|"
    r"rather|today|these days|currently|actually|it's|its|it is|make it|make that|"
    r"as of \w+|i mean|please),?\s+)*",
    "is": r"(?:is|are|was|has been|will be|=|:)",
    "day": r"(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    "when": r"(?:(?:by|before|until|till|due(?! to\b)|no later than|first thing|on (?=\d|<d>|the \d))\b.+|tomorrow\b.*|tonight|today|soon|asap|.*\b(?:<d>|tomorrow|tonight|today|"
    r"this (?:week|weekend|month|evening|afternoon)|next (?:week|month|year))\b.*)",
    "kin": r"(?:wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|son|daughter|mother|mom|mum|"
    r"father|dad|brother|sister|(?:eld|old|young)\w+ (?:son|daughter|brother|sister)|baby|dog|cat|"
    r"puppy|kitten|parrot|hamster|rabbit|pet|roommate|best friend)",
    "post": r"(?:[\w-]+ ){0,3}?(?:nurse|teacher|student|developer|engineer|programmer|designer|writer"
    r"|manager|lawyer|doctor|dentist|vet|chef|cook|baker|driver|pilot|farmer|accountant|architect"
    r"|analyst|artist|author|editor|journalist|musician|photographer|translator|consultant|"
    r"researcher|scientist|professor|lecturer|tutor|freelancer|entrepreneur|founder|owner|"
    r"carpenter|electrician|plumber|mechanic|technician|librarian|paramedic|firefighter|"
    r"policeman|officer|soldier|intern|resident|postdoc|admin|administrator|secretary|"
    r"receptionist|bartender|waiter|waitress|barista|cashier|clerk|retiree|widow|widower|parent|"
    r"mother|father|mom|dad|grandmother|grandfather|beekeeper|gardener|coach|trainer|therapist|"
    r"counsell?or|psychologist|pharmacist|surgeon|midwife|economist|biologist|chemist|physicist|"
    r"mathematician|historian|statistician|contractor|builder|welder|tailor|hairdresser|sailor|"
    r"immigrant|expat|native speaker|veteran|nanny|actor|actress|dancer|singer|violinist|pianist|"
    r"guitarist|drummer|potter|painter|sculptor|only child|twin|introvert|extrovert|planner|"
    r"recruiter|salesperson|salesman|realtor|broker|trader|banker|auditor|paralegal|judge|"
    r"producer|director|supervisor|operator|worker|specialist|lead|major|graduate|sophomore|"
    r"freshman|junior|senior|homemaker|housewife|caregiver|volunteer|pastor|priest|monk|"
    r"geologist|botanist|zoologist|ecologist|neurologist|cardiologist|radiologist|optician|"
    r"tester|sysadmin|dba|novelist|poet|illustrator|animator|copywriter|marketer|blogger)"
    r"(?: .+)?",
}
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
WORDS["number"] = (
    rf"(?:(?:{_TENS})(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?|ten|eleven|twelve|[a-z]+teen|one|two|three|four|five|six|"
    r"seven|eight|nine|a hundred)"
)
WORDS["when"] = WORDS["when"].replace("<d>", WORDS["day"])

_DIET = r"(?:vegan|vegetarian|pescatarian|celiac|coeliac|lactose[- ]intolerant|gluten[- ](?:free|"\
    r"intolerant)|diabetic|kosher|halal|teetotal|(?:color|colour)[- ]?blind|pregnant|dyslexic|"\
    r"hard of hearing|deaf|blind|keto|sober|asthmatic|claustrophobic|on a .+ diet)"  # fmt: skip
WORDS["diet"] = _DIET
WORDS["athand"] = r"\b(?:right now|at hand|handy|with me|on me|them|it|this|that)\b"  # passes
WORDS["cannot"] = r"(?:can't|cannot|can not|can no longer|must not|mustn't|am not allowed to|"\
    r"am unable to|'m not allowed to|'m unable to|am not able to|'m not able to|may not)"  # fmt: skip
WORDS["partner"] = r"(?:girlfriend|boyfriend|partner|wife|husband|fianc[eé]e?)"
WORDS["gone"] = r"(?: (?:any ?more|any longer|now|at all|for good|these days))?"
WORDS["own"] = (
    r"(?! (?:for|of|about|with|at|that|to see|to hear)? ?(?:you|your|him|her|his|them|their|she|he|they|<kin>|my <kin>)\b).*"
)
