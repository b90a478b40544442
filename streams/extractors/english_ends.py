"""English rules: what is over. `ends` are families; what ends in them has the words of the value.

One line each (docs/extractors.md).
"""

# ruff: noqa: E501 - a rule is one line, however long

import re

from streams.extractors.rule import Rule

_HAD = "pet|possession|people|household"
_DID = "habit|hobby|like|diet|goal|plan|study|health|task|decision"
_JOB = "work|job|employer"
_DIET = "diet|health|limit"
_PAIR = "people|partner"
_PARTNERS = "girlfriend|boyfriend|partner|wife|husband|fiance|fiancé|fiancée|"

RULES = (
    # --- home, work, study ---------------------------------------------------------------------
    Rule("end", "live", r"(?:i|we) (?:no longer live|(?:don't|do not) live|used to live) (?:in|at|with|near|on) <value><gone>", "I no longer live in Lisbon.", "Lisbon", ends="home"),
    Rule("end", "moved out|moved away", r"(?:i|we)(?:'ve| have)? <ly>moved (?:out|away)(?: (?:of|from) (?:(?:my|our|the) (?:[\w-]+ )?<ownhome>(?: .+)?|(?!(?:the|state|here|there|bed|that|my comfort\w*|our comfort\w*)\b)<value>)| <then>)?", "I moved out last week.", "", ends="home"),
    Rule("background", "quit my|quit the|resigned|handed in my notice|laid off|let go|got fired|was fired|been fired|left my|lost my|left the|retired from|made redundant", r"(?:i|we)(?:'ve| have|'m| am)? <ly>(?P<value>(?P<old>)<jobless>(?: (?:from|at|as) <any>)?)", "I quit my job.", "quit my job", "{value}.", family="event", ends=_JOB),
    Rule("background", "laid off|got fired|let go", r"(?P<value>(?P<old>)(?:got|been|was) (?:laid off|fired|let go))(?: <then>| from <any>)?", "Got laid off today.", "Got laid off", "{value}.", family="event", ends=_JOB, opens=True),
    Rule("background", "let me go|laid me off|fired me", r"(?:<then>,? )?(?P<value>(?P<old>)(?:<ownfirm> <lately>(?:let me go|laid me off|fired me)|<firm> <lately>(?:laid me off|fired me|let me go(?= ))))(?: <dismissed>)?", "Globex let me go yesterday.", "Globex let me go", "Lost their job: {value}.", family="event", ends=_JOB, takes="firm"),
    Rule("end", "work", r"i (?:no longer work|(?:don't|do not) work|stopped working|used to work|quit working) (?:at|for|with) <value><gone>", "I no longer work at Acme.", "Acme", ends=_JOB),
    Rule("end", "work", r"i (?:no longer work|(?:don't|do not) work|stopped working|used to work|quit working) (?:as )?(?:an? )?<value><gone>", "I no longer work as a nurse.", "nurse", ends=_JOB),
    Rule("background", "left ", r"(?:i|we)(?:'ve| have)? <ly>(?P<value>left (?!.* for (?:good|ever)\b)(?!me\b|him\b|her\b|it\b|them\b|you\b|us\b|out\b|early\b|home\b|town\b|work\b|behind\b|over\b|off\b|the\b|my\b|a\b)(?P<old>[\w&.-]+)(?: (?:after|for) <any>)?)", "I left Globex last month.", "left Globex", "{value}.", family="event", ends="work|job|employer|study"),
    Rule("end", "no longer|not |any more|anymore|any longer", r"<am> (?:no longer an? (?P<value>[\w -]+?)|not an? (?P<value2>[\w -]+?) (?:any ?more|any longer))", "I'm no longer a student.", "student", ends="work|job|study|identity|habit"),
    Rule("background", "dropped out|withdrew from", r"i(?:'ve| have)? <ly>(?P<value>(?:dropped out of|withdrew from) (?P<old><any>))", "I dropped out of medical school.", "dropped out of medical school", "{value}.", family="event", ends="study|habit|plan"),
    # --- people, pets, things ------------------------------------------------------------------
    Rule("background", "broke up|split up|broken up|separated|divorced", r"(?:i|we|my (?:<partner>|\w+) and i)(?:'ve| have|'m| am)? <ly>(?P<value>(?P<old>)(?:broke up|split up|broken up|separated|got divorced|got a divorce|divorced)(?: with (?:my )?<any>)?(?: (?:about |almost |nearly |over |around )?<then>)?)", "We broke up.", "broke up", "{value}.", family="event", ends=_PAIR, whose=_PARTNERS, takes="parted"),
    Rule("background", "called off|broke off|engagement", r"(?:i|we)(?:'ve| have)? <ly>(?P<value>(?P<old>)(?:called|broke) off (?:the|our|my) (?:engagement|wedding))|(?:the|our|my) (?P<value2>(?P<old2>)engagement (?:is off|is over|fell through))", "We called off the engagement.", "called off the engagement", "{value}.", family="event", ends="partner"),
    Rule("background", "left me|dumped me|broke up with me", r"my (?P<value>(?P<old>)(?:<partner>) (?:<ly>)(?:left|dumped|broke up with) me)", "My boyfriend dumped me.", "boyfriend dumped me", "{value}.", family="event", ends=_PAIR, whose=_PARTNERS),
    Rule("background", "died|passed away|put down|put to sleep|rainbow bridge|no longer with us|flew |ran away|went missing", r"(?:my|our) (?P<value>(?P<old>[\w' -]+?)(?:,? \w+,?)?(?: has)? <ly>(?:died|passed away|ran away|flew (?:off|away)|went missing|was put (?:down|to sleep)|had to be put (?:down|to sleep)|crossed the rainbow bridge|is no longer with us))(?: (?!of\b)<any>)?", "Our hamster died yesterday.", "hamster died", "{value}.", family="event", ends=_HAD),
    Rule("background", "sold|gave away|given away|got rid of|gotten rid of|donated|crashed|totaled|threw out|threw away|rehomed|traded in", r"(?:i|we)(?:'ve| have)? <ly>(?P<value>(?:sold|gave away|given away|got rid of|gotten rid of|donated|crashed|totaled|threw out|threw away|rehomed|traded in) (?:my|our|the) (?P<old><any>))", "I sold my motorbike.", "sold my motorbike", "{value}.", family="event", ends=_HAD),
    Rule("end", "have|own", r"(?:i|we) (?:(?:no longer|used to) (?:have|own) (?:an?y? |the |my )?<value>|(?:don't|do not) (?:have|own) (?:an?y? |the |my )?(?P<value2><any>) (?:any ?more|any longer|(?<!right )now))", "I don't have a car any more.", "car", ends=f"{_HAD}|health"),
    Rule("end", "no longer|not ", r"(?:<am>|we're|we are) (?:no longer|not) (?P<value>married|engaged|together|dating|seeing each other|in a relationship|single)(?: <any>)?<gone>", "I'm no longer single.", "single", ends="partner|people"),
    # --- health, diet --------------------------------------------------------------------------
    Rule("end", "allergic|intolerant", r"(?:<am>|turns out <am>) <ly>(?:no longer|not) (?:actually )?(?:allergic|intolerant) to <value><gone>", "I'm no longer allergic to cats.", "cats", ends="health|diet|limit"),
    Rule("end", "no longer|not |stopped being|quit being|any more|anymore", r"(?:<am> (?:no longer|not)|i(?:'ve)? (?:stopped|quit|gave up|given up) being) (?:(?:on )?(?:an? )?(?P<value><diet>)|(?:on|following|doing) (?:an?|the|my) (?P<value2>(?:[\w-]+ ){1,2}?)diet)<gone>", "I'm no longer vegetarian.", "vegetarian", ends=_DIET),
    Rule("end", "no longer|isn't|is not|stopped being|aren't", r"(?:my|our) (?P<whose><kin>) (?:is no longer|isn't|is not|stopped being|has stopped being) (?:on )?(?:an? |allergic to )?(?P<value>[\w -]+?)<gone>", "My sister is no longer vegan.", "vegan", ends="people|diet|health|study|work"),
    Rule("end", "again", r"i(?:'m able to| am able to| can)?(?: now| finally)? (?:eat|drink|have|eating|drinking|run|drive|use|started eating|started drinking) <value> again", "I eat meat again.", "meat", ends="diet|health|limit|dislike"),
    Rule("end", "recovered|healed|cured|got over|gone away|went away|is gone|better now", r"(?:i(?:'ve| have)? <ly>(?:recovered from|got over|beat|been cured of) (?:my |the |an? )?<value>|my (?P<value2>[\w -]+?) (?:has |have |is |are )?<ly>(?:healed|recovered|cured|gone away|went away|gone|all better|better now))", "My sprained ankle has healed.", "sprained ankle", ends="health|limit|event"),
    # --- what somebody did, liked, wanted -------------------------------------------------------
    Rule("background", "quit|stopped|gave up|given up|giving up|cut out", r"(?:(?:i|we)(?:'ve| have)? <ly>|<am> (?:<ly>))(?P<value><gaveup> (?!(?:\w+ )?<units> ago\b|<then>)<habitual>(?P<old><any>))", "I quit smoking.", "quit smoking", "{value}.", family="event", ends=f"{_DID}|possession"),
    Rule("end", "any more|anymore|any longer|no longer", r"(?:i|we) (?:no longer|don't|do not|can't|never) <ly><endable> (?!(?:it|that|this|you|them|what|anyone|anything)\b)<value><gone>", "I don't play tennis any more.", "tennis", ends=f"{_DID}|work|people|possession"),
    Rule("end", "any more|anymore|any longer|no longer", r"(?:i|we) (?:no longer|don't|do not|never) <ly>(?P<value><quittable>)<gone>", "I don't smoke any more.", "smoke", ends=_DID),
    Rule("end", "like|love|enjoy|into|fan of|interested|care for|prefer|over ", r"<notliking>(?!(?:it|that|this|you|them)\b)<value> (?:any ?more|any longer)|(?:i|we) no longer <ly><liking> (?P<value2><any>)", "I'm not into chess any more.", "chess", ends="like|hobby|habit|favourite|dislike"),
    Rule("end", "mind|hate|dislike", r"(?:i|we) no longer (?:mind|hate|dislike) <value>", "I no longer mind cilantro.", "cilantro", ends="dislike|limit"),
    Rule("end", "used to ", r"(?:i|we) used to (?P<value><quittable>)(?: (?:<adverb>)*(?:a lot|heavily|every day))?", "I used to smoke.", "smoke", ends=_DID),
    Rule("end", "used to ", r"(?:i|we) used to (?!be\b|have\b|live\b|work\b|own\b|think\b|feel\b|say\b|get\b|go\b|believe\b|know\b|see\b|wonder\b)(?:\w+) (?!(?:it|that|this|you|them)\b)<value>", "I used to collect stamps.", "stamps", ends="habit|hobby|like"),
    Rule("end", "is off|are off|cancel|called off|fell through|fallen through|happening", r"(?:my|our|the) (?P<value>(?:[\w'-]+ ){0,3}?<lastingplan>(?: (?:to|in|with|for|at) <any>)?) (?:<isoff>)(?: (?:because|after|due|since|for good|now|again|this|next) ?.*| <then>)?", "The Rome trip is off.", "Rome trip", ends="plan|goal|event|task|decision|partner"),
    Rule("end", "cancelled|canceled|called off|scrapped|abandoned|fell through|shelved|not going|changed my mind|no longer going|no longer planning|not planning|backed out", r"(?:(?:i|we)(?:'ve| have| had to)? <ly><calledoff> (?:my |our |the )?<value>|my (?P<value2>[\w -]+?) <felloff>|<notgoing> (?P<value3><any>)<gone>)", "We cancelled our trip to Rome.", "trip to Rome", ends="plan|goal|event|task|decision"),
    Rule("end", "name|go by|call me", r"(?:i (?:no longer|don't) go by (?P<value><any>)|(?:my name isn't|my name is no longer) (?P<value2><any>)|(?:don't|stop) call(?:ing)? me (?P<value3><any>))<gone>", "I don't go by Sammy any more.", "Sammy", ends="name"),
)  # fmt: skip

_NOISE = re.compile(
    r"\b(?:old|new|beloved|dear|little|big|poor|very|all|also|just|really|the|an?|my|our|any|some|"
    r"so|much|many|now|being|for good|completely|entirely|altogether|finally)\b"
)
_DOING = re.compile(
    r"^(?:(?:to )?(?:learn|trip|visit|move|flight|vacation|holiday|plans?|play|eat|drink|buy|run|visit|build|write|become|get|go|adopt|start|do|use|take|"
    r"open|make|attend|collect|practi[cs]e|study|read|watch)\b|[a-z]+ing\b)"
    r"(?: (?:in|at|with|for|on|as|to|about|from|by))?\s+(?=\w)"
)
_AT_AGE = re.compile(r"\s(?:at|when|by|around) (?:the age of |age )?(?:i was )?\d.*")
_JOURNEY = re.compile(
    r"(?<=\w) (?:trip|holiday|vacation|visit|getaway|tour|idea|plans?|lessons?|membership|career|teaching|flat|apartment|habit|job|practice|classes|course|collection|records?|limit|allergy|intolerance|days|hobby)$"
)  # "Rome trip"
_REST = re.compile(
    r"\s(?:at|in|on|for|with|because|since|after|before|by|from|to|as|due|so|while|every|each|this|"
    r"last|next|when|and|or|a|again|yesterday|recently|any|today|ago|of)\b.*"
)


def head(text: str) -> str:
    """What an end is about: "playing the old piano at school" -> "piano"."""
    low = " ".join(_NOISE.sub(" ", _AT_AGE.sub("", text.lower())).split())
    low = _JOURNEY.sub("", low)
    said = _DOING.sub("", low) or low
    return _REST.sub("", said) or said
