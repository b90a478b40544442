"""English rules: who somebody is and whom they live with; with named parts. Many of these are said in
passing, by a user who asks for something else. One line each (docs/extractors.md).
"""

# ruff: noqa: E501 - a rule is one line, however long

from streams.extractors.rule import Rule

PARTS = {
    "sortof": r"(?:avid|keen|amateur|hobby|aspiring|competitive|budding|novice|recreational|former|certified|licensed|registered|"
    r"retired|single|stay-at-home|first-time|first-generation|first-year|second-year|third-year|final-year|part-time|full-time)",
    "works": r"(?:thesis|dissertation|research|art|writing|novel|book|blog|podcast|channel|paintings|poems|phd|music)",
    "owned": r"(?:car|bike|motorbike|phone|laptop|camera|guitar|piano|truck|van|computer|house|garden|flat|apartment|yard|home|balcony|farm)",
    # not what is wrong with it today
    "notrouble": r"(?!mess|disaster|piece|lemon|wreck|bit|lot|little|nightmare|while|(?:\w+ )?(?:problem|issue|error|crack|leak|scratch|dent|flat tire|noise))",
}  # fmt: skip

_TRAIT = (
    "my height|my weight|my blood|my shoe|my ring|my dress|my star|my zodiac|my nationality|my religion|my faith|my pronouns|my eye|my hair|my skin|my salary|my income|my rent|my mortgage|"
    "my hometown|my home town|my commute|my maiden|my surname|my last name|my nickname|my hobby|my hobbies|my ethnicity"
)

_OWNED = "|".join(
    f"{whose} {thing}"
    for whose in ("my", "our")
    for thing in (
        "car",
        "bike",
        "motorbike",
        "phone",
        "laptop",
        "camera",
        "guitar",
        "piano",
        "truck",
        "van",
        "computer",
        "house",
        "garden",
        "flat",
        "apartment",
        "yard",
        "home",
        "balcony",
        "farm",
    )
)

_WORKS = "my thesis|my dissertation|my research|my art|my writing|my novel|my book|my blog|my podcast|my channel|my paintings|my poems|my phd|my music"

RULES = (
    Rule("background", _TRAIT, r"my (?P<topic><trait>) (?:is|are|includes?) (?:<ly>)(?!(?:not|too|so|very|a mess|going|to|getting|in the way|killing|important|still|more|less|bad|good|the same|always)\b)<value>", "My blood type is O negative.", "O negative", "{topic}: {value}.", "{topic}", family="identity", lists=True),
    Rule("background", " tall|i weigh", r"(?:<am> (?:<adverb>|about |around )*(?P<value>\d[\w.,' \"]{0,12}? tall)|i (?P<value2>weigh (?:about |around |roughly )?\d[\w., ]{0,12}?))(?: and .+)?", "I'm 182 cm tall.", "182 cm tall", "Height or weight: {value}.", family="identity"),
    Rule("background", "i'm |i am |im ", r"<am> (?:<ly>)(?:an? )?(?P<value>(?:half |part |ethnically |second-generation )?<nation>)(?: (?:and|by|from|but|living|of) .+)?", "I'm half Peruvian.", "half Peruvian", "Is {value}.", family="identity"),
    Rule("background", "avid|keen|amateur|hobby|aspiring|competitive|budding|novice|recreational|former|certified|licensed|registered|retired|single|stay-at-home|first-|second-year|third-year|final-year|part-time|full-time", r"(?:<am>|i've been|i have been|as) (?:<ly>)an? (?P<value><sortof>(?: [\w'-]+){1,3}?(?: (?:in|at|of|with|for|from|since) <any>)?)", "I'm an avid birdwatcher.", "avid birdwatcher", "Is {a} {value}.", family="identity"),
    Rule("background", " member| subscriber| cardholder", r"<am> (?:<ly>)an? (?P<value>(?!(?:family|team|class|const|data|static|private|public|new|active|proud|band|board|valued|loyal|regular|long-?time)\b)[\w' -]{3,30}? (?:member|subscriber|cardholder))(?: (?:since|of|at|with|for) <any>)?", "I'm a Hilton Gold member.", "Hilton Gold member", "Is {a} {value}.", family="identity"),
    Rule("background", " passport| citizenship", r"(?:i|we) (?:<ly>)(?:have|hold|travel on|travel with|'ve got) (?P<value>an? (?!(?:valid|new|old|current|digital|expired|second|copy|lost)\b)[a-z]+(?: [a-z]+)? (?:passport|citizenship))(?: (?:and|so) .+)?", "I hold a Kenyan passport.", "a Kenyan passport", "Has {value}.", family="identity"),
    Rule("background", "homeschooled|home-schooled|self-taught|bilingual|trilingual|an only child|an orphan|a single ", r"<am> (?:<ly>)(?P<value>homeschooled|home-schooled|self-taught|bilingual|trilingual|an only child|an orphan|a single (?:mom|mum|mother|dad|father|parent)(?: of <any>)?)(?: (?:and|so|in|with) .+)?", "I'm homeschooled.", "homeschooled", "Is {value}.", family="identity"),
    Rule("background", "my |our ", r"(?:[^.!?]{0,40}? )?(?:my|our) (?P<topic>(?P<whose>(?:<kinmod> )*<kin>)),? (?:who's|who is|(?:and )?(?:she|he)(?:'s| is)) (?P<value>(?:already |only |just |almost |nearly )*\d{1,2})(?: years old)?(?: and .+)?", "I'm writing for my mother, she's 82.", "82", "{topic} is {value} years old.", family="people"),
    Rule("background", "in my ", r"<am> (?:<ly>)in my (?P<value>(?:early |mid |late |mid-|early-|late-)?(?:twenties|thirties|forties|fifties|sixties|seventies|eighties|\d0'?s))(?: and .+)?", "I'm in my late fifties.", "late fifties", "Is in their {value}.", family="age"),
    Rule("background", "afraid of|scared of|terrified of|fear of|phobia", r"(?:<am> (?:<ly>)(?:afraid|scared|terrified) of|i have an? (?:\w+ )?(?:fear|phobia) of) (?P<value><dread>)(?: .+)?", "I'm terrified of heights.", "heights", "Is afraid of {value}.", family="value"),
    Rule("background", "new to ", r"<am> (?:<adverb>|completely |relatively |fairly |totally )*new to (?!(?:this|that|it|these|the|here|your|you|all|me)\b)<value>", "I'm completely new to knitting.", "knitting", "Is new to {value}.", family="identity"),
    Rule("background", "used to be a", r"i used to (?P<value>be an? <post>)", "I used to be a paramedic.", "be a paramedic", "Used to {value}.", family="identity"),
    Rule("background", "my job|my work|my role", r"my (?:job|work|role) (?P<value>(?:involves|requires|means) <notyours><any>)", "My job involves driving forklifts.", "involves driving forklifts", "Job {value}.", family="work"),
    Rule("background", "live alone|live with|living alone|living with|share a|share my|share an", r"(?:i (?:<ly>)(?:live|share)|<am> (?:<ly>)living|we (?:live|share)) (?P<value>(?:alone|by myself|on my own|with (?:my|our|two|three|four|five|an?|\d) ?<any>|(?:an?|my) (?:[\w-]+ )?(?:flat|apartment|house|room|studio|place) with <any>))", "I live with my two brothers.", "with my two brothers", "Lives {value}.", family="household"),
    Rule("background", "year of|in high school|in college|in grad school|in med|in law school|in university|in uni|at university|grade", r"<am> (?:<ly>)(?P<value>(?:in|at) (?:(?:my|the) (?:\w+|\d\w+) year (?:of|at) <any>|(?:high|middle|grad|graduate|med|medical|law|nursing|business|art|music) school|college|uni|university|(?:\w+|\d+\w*) grade)(?: (?:in|at|for|studying) <any>)?)", "I'm in my third year of law school.", "in my third year of law school", "Is {value}.", family="study"),
    Rule("background", "as a |as an ", r"as an? (?P<value>(?!result|rule|matter|way|bit|last)(?:[\w-]+ ){0,3}?<profession>(?: (?:in|at|for|of|with|working|living|on|who) <any>)?)(?: (?:i|we|my) .+)?", "As a night nurse, I sleep at noon.", "night nurse", "Is {a} {value}.", "job", family="work", takes="post", opens=True),
    Rule("background", "grew up|was raised", r"i (?P<value>(?:grew up|was raised) (?:on|with|by|speaking|near|outside|without) <clear><any>)", "I grew up on a sheep farm in Wales.", "grew up on a sheep farm in Wales", "{value}.", family="identity"),
    Rule("background", "the youngest|the oldest|the eldest|the middle|the only", r"<am> (?P<value>the (?:youngest|oldest|eldest|middle|only) (?:of \w+[\w -]*|child|daughter|son|girl|boy|sibling|grandchild)(?: .+)?)", "I'm the youngest of five.", "the youngest of five", "Is {value}.", family="identity"),
    Rule("background", _OWNED, r"(?:my|our) (?P<topic><owned>) (?P<value>(?:is|has) an? <notrouble><clear><any>)", "My car is a red Fiat Panda.", "is a red Fiat Panda", "{topic} {value}.", family="possession"),
    Rule("background", _WORKS, r"my (?P<topic><works>) (?P<value>(?:is|are) (?:mostly |mainly |all )?about <clear><any>|focus(?:es)? on <clear><any>)", "My thesis is about medieval bridges.", "is about medieval bridges", "{topic} {value}.", family="work"),
    Rule("background", "my own ", r"(?:i|we) (?:<adverb>|often |usually )*(?P<value>(?:make|bake|brew|grow|sew|knit|cook|roast|ferment|raise|build|design|dye|spin|mend) my own (?!decisions?|way|choices|mistakes|mind|bed|website|account)<any>)", "I brew my own beer.", "brew my own beer", "{does}.", family="habit"),
    # --- people ---------------------------------------------------------------------------------
    Rule("background", "been married|been together|been dating|been engaged|been divorced|been separated|been single|been widowed", r"(?:i|we|<withme>)(?:'ve| have) been (?:<ly>)(?P<value>(?:happily )?(?:married|together|dating|engaged|divorced|separated|single|widowed)(?: (?:for|since|to) <any>)?)", "We've been together since college.", "together since college", "Has been {value}.", family="partner"),
    Rule("background", "lost my|lost our", r"(?:i|we)(?:'ve| have)? <lately>(?P<value>lost (?:my|our) (?P<old>(?:<kinmod> )*<kin>)(?: (?!(?:to|in|on|at|last|this)\b)[a-z]+)?(?: (?:to|in|during|last|when|this|two|three|a few|\d+|at|after) <any>)?)", "I lost my father to cancer.", "lost my father to cancer", "{value}.", family="event", ends="pet|people|household|possession"),
    Rule("background", "trying for|trying to conceive|expecting", r"<weare> (?:<ly>)(?P<value>(?:trying for an? (?:<any>)?(?:baby|child|kid)|trying to conceive|expecting(?: (?:an?|our|my|the)(?: [\w-]+){0,2}? (?:baby|child|kid|son|daughter|girl|boy|grandchild)| twins| triplets))(?: <any>)?|expecting(?: again)?(?: <ahead>)?)", "We're expecting our second daughter in August.", "expecting our second daughter in August", "Is {value}.", family="people"),
    Rule("background", "my dog|my cat|our dog|our cat|puppy|kitten|parrot|hamster|rabbit|horse|tortoise|my son|our son|daughter|my wife|husband|girlfriend|boyfriend|my partner|brother|sister|fianc|my baby|our baby", r"(?:my|our) (?P<topic>(?P<whose>(?:<kinmod> )*<kin>)),? (?P<value>[a-z][\w-]+),? (?:is|has|keeps|loves|just|was|won't|doesn't|needs|started|wants|and i|likes|had|gave|will|got|always|never)\b.*", "My cat Biscuit keeps me awake.", "Biscuit", "{topic} is called {value}.", "{topic}'s name", family="people", takes="greeted"),
)  # fmt: skip
