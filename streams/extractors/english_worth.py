"""English: what is worth keeping of what was said. A thing kept is read alone, months later.

Who somebody is, where they live and whom they live with says something however short it is. What
they did, do, plan, like, decide or must keep to says something only if it is concrete: it names
somebody or something, or is of a kind that lasts (`english_concrete.py`). In doubt it is left out;
search finds the turn. A value that went on into another clause is none.
"""

# ruff: noqa: E501 - a pattern that stands alone is one line

import re

from streams.extractors.english_concrete import is_concrete, is_proper
from streams.extractors.english_incidents import (
    AT_HAND,
    CUT_OFF,
    DID_NOT,
    INCIDENT,
    MUSED,
    NO_CONTRAST,
    NO_ERRAND,
    NO_HOME,
    NO_LIMIT,
    NO_NAME,
    NOT_OWNED,
    OF_A_DAY,
    OF_OTHERS,
    ORDERED,
    SELF_REPROACH,
    TOO_MANY,
    TWO_AT_ONCE,
)
from streams.extractors.english_kinds import KINDS
from streams.extractors.english_lists import LISTS
from streams.extractors.english_moods import (
    DESPERATE,
    MOODY,
    REFLECTED,
    REGRETTED,
    SAID_IN_A_MOOD,
    WISHED,
)  # fmt: skip
from streams.extractors.english_occasions import (
    ALIVE,
    CONDUCT,
    DIED,
    EX,
    GIVEN,
    NO_FIRM,
    NO_PROJECT,
    OF_THE_TASK,
    OF_TODAY,
    OFFERED,
    PRAISED,
    ROUND,
    SAID_SO,
    SMALL_WIN,
    UNWELL,
)
from streams.extractors.english_passing import CHOICE, CHOSEN, ONE_OF_MANY, PLAIN, TODAYS, VAIN
from streams.extractors.patterns import any_of, either, words

_SUBJECT = r"\b(?:he|she|they|you|it|im|ive|shes|hes|theyre|its (?:an?|so|really))\b"
_RUN_ON = re.compile(  # "Crush they thought his talk was funny", "a my thesis"
    rf".*(?:(?<!because ){_SUBJECT}(?! (?:needs?|works?)\b)|&\w+|\b(?:an?|the) (?:my|our)\b|\b(?:him|her|them|you|mine|theirs|just|only|even|still|quite|later|earlier)$|\bgot .* got\b|\bi(?:'m| am| was) (?:just|now|so|still|really|not|very)\b|\btried to (?:stay|be|feel)\b|\band (?:its|sad|happy|got (?:drunk|high|wasted))\b).*"
)
_THEIRS = re.compile(r"\b(?:his|her|your|its)\b")
_POINTS = re.compile(  # of a like: at what the talk before was about
    r".*\b(?:his|her|their|your|its|theirs|mine|yours|until|for sure|that much|when a|when the)\b.*"
    r"|.*\b(?:my favou?rite|in the car|things to|anyone|anybody|everyone|for that|in the [\w ]+ area|activities|because|the other day|first year)\b.*|traveling .*\bto .*|(?:a|an) good .*"
    r"|.* (?:mainly|mostly|also|always|anymore|instead|not|either|to much|too much|really much|but|sometimes|every|soon|now|out|better|worse|more|off|to win)|defin\w+\b.*|a lot of .*"
    r"|(?:quite a (?:few|lot)|many|several|all (?:kinds|types|sorts)|both|any|some|knowing|not|no)\b.*"
    r"|.* i\b.*|an? (?:more|less|bit|little)\b.*|suffering|pain|dying|being (?:alone|sad|sick)|an? (?:(?!good )[\w-]+ )*(?:heart|man|woman|friend|day|night|life)|(?:getting (?:drunk|high)|opening up|talking|getting into|sleepless|people|strangers)\b.*|(?:confrontation|my (?:job|work|boss|school|house|town|jobs))"
)
_NO_THING = re.compile(  # "have an issue with my truck"
    r"(?:have |had |own )?(?:an?|some|any|the) (?:[\w-]+ )?(?:question|issue|problem|doubt|trouble|concern|feeling|hope|say|point)s?\b.*"
)
_NEAR = re.compile(  # over before anybody asks
    r".*\b(?:to(?:day|night|morrow)|this (?:morning|evening|afternoon|weekend)|soon|on (?:the )?\d|\d+(?:st|nd|rd|th)"
    r"|(?:on|this|next) (?:mon|tues|wednes|thurs|fri|satur|sun)day|next week|in (?:an?|a couple|a couple of|a few|two|three) (?:days|hours?))\b.*"
)
_OUTING = re.compile(
    r"(?:is |been )?(?:\w+ )??(?:to |on |of |a |an |the )*(?:go|going|travel\w*|trip|fly\w*|visit\w*|vacation|head\w*|watch\w*|having a (?:get|party|dinner))\b.*"
)
_ITINERARY = re.compile(  # over by then
    r".*\bbirthday (?:is )?(?:coming|in \d|today|tomorrow|soon).*|.*\b(?:go|going|travel\w*|fly\w*|trip|moving)\b.*\bfrom .+ to .*|.*\band coming back\b.*|.*\bvisit (?:dr\b|the (?:doctor|dentist)|.*(?:care|clinic|dental|salon|centre|center)$).*"
)
_ERRAND = re.compile(  # of a task done: what anybody would call one
    r"(?!.*\b(?:after|but|like)\b).*\b(?:reports?|thesis|papers?|essays?|drafts?|forms?|applications?|tax\w*|returns?|bills?|rent|invoices?|passports?|visas?|licen[cs]es?|"
    r"appointments?|bookings?|hotel|flights?|plumber|dentist|doctor|vet|bank|fix|fixes|login|pr|release|bug|tests?|presentation|slides|assignments?|contracts?|"
    r"insurance|registration|letters?|e-?mails?|cv|résumé|resume|budget|exams?|deck|script|migration|proposal|manuscript|chapter|grant|plan|survey|car|bike|"
    r"garden|kitchen|bathroom|room|house|fence|roof|boiler|order|parcels?|tickets?|treatment|sessions?|semester|course|project|feature|deploy\w*|docs?|documentation|"
    r"website|page|book|novel|painting|quilt|sweater|puzzle|rereading|reading|shopping|groceries|cake|gifts?|presents?|cards?|invitations?|visit|call|plants|lawn|marathon|dog|cat|bread)\b.*"
)
_LEVEL = words(
    "workout, workouts, worksheet, exercise, exercises, lesson, quiz, chapter, level, set, sets, session, step, "
    "steps, round, reading, video, question, questions, problem, problems, page, pages, school, class, classes, "
    "practice, shopping, meeting, shift, module, unit, form, survey, download, installation, update, reps, warm-up, tutorial"
)
_STEP = re.compile(  # of a lesson, a workout or a game
    rf"(?:finished (?:(?:the|this|that|my|an?|another) )?)?(?:[\w-]+ )?{_LEVEL}(?: \w{{1,3}})?"
    r"|(?:finished )?(?:whole |entire )?(?:bottle|glass|bowl|plate|pack|bag|can|cup|box) of .*"
    r"|(?:finished (?:[\w-]+ )*)?(?:[\w-]+ ){0,2}(?:book|novel|series|movie|film|show|game|video|song|album|podcast|episode|article|documentary|thing|chapter)s?"
    r"|(?:binge?\w*|watching|eating|drinking|reading|listening|scrolling)\b.*|in (?:sick|late)\b.*"
    r"|(?:people|men|women|life|love|dating|reality|everything|humanity|friends|him|her|he|she|they|it|we|you|who|everyone)\b.*"
)
_MISHAP = re.compile(
    any_of(
        "showered|hugged|posted|bombed|forced|stopped|missed|spilled|spilt|dropped(?! out)|forgot|misplaced|overslept|tripped|slipped|locked|burnt|burned the",
        r"spent (?:today|tonight|yesterday|the (?:day|night|evening)|a day|hours|all)\b",
        r"got (?:stuck|lost|soaked|delayed|rejected|into (?:a (?:bad|tight|tricky)|bed|the car)|into an? (?:[\w-]+ )*(?:argument|fight|row))",
        "ran (?:into|out of)|made a mistake|requested|found that",
        "lost (?:my|our|the) (?:keys?|wallet|phone|glasses|way|train|bus|umbrella|charger)",
        "broke (?:my|the|a) (?:glass|plate|mug|cup|phone|screen|vase|bowl|window)",
        r"(?:[\w'-]+ ){1,4}(?:error|typo|bug|message|file|folder|link|tab|log|password|script|email|e-mail|attachment|ticket|refund|parcel|package|delivery|reservation)s?\b",
    )
    + " ?.*"
)
_LIMITS = re.compile(  # what one cannot do whatever the day: food, body, hours, amounts
    rf".*\b(?:\d[\d.,]*|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|{LISTS['unwanted']}|{LISTS['diet']}|before|after|past|evenings?|mornings?|nights?|weekends?|noon|one|two|three|four|five|six|"
    r"ten|half|cats?|dogs?|pollen|dust|gluten|wheat|lactose|milk|eggs?|cheese|soy|peanuts?|shellfish|spicy|carbs|raw|bread|coffee|wine|beer|fried|salt|salty|food|fruits?|tomato\w*|"
    r"lift|heavy|stairs|run|climb|swim|bend|kneel|jump|intense|stand for|sit for|walk|drive|fly|flying|smoke|drink|eat|heat|cold|noise|fees?|cash|vpn|offline|online|stay in|"
    r"vote|travel|legally|hear|read|see|speak|install|cloud|commit|touch|edit|fit|repo|deploy|exceed|over|under|above|below|python|licen[cs]e)\b.*"
)
_ORDER = re.compile(
    r"(?:please )?(?:always|never|don't|do not|no|keep|stop|make sure|only|avoid|stick|use|from now|you (?:should|must)|answer|reply|start|not)\b.*|.*(?:from now on|going forward)"
)
_SCOLDED = re.compile(
    r"(?:please )?(?:don't|do not|stop|never|no) (?:give me|be|worry|tell me|make me|judge|hate|leave|forget|get|let me|ask me|look at|take it|blame).*|no (?:ads|messages|calls)"
    r"|(?:\w+ed|found|got|had|went|saw|took|came|knew|met|said|handle|told) .*"
)
_LOANED = re.compile(
    r"(?:teacher|boss|friend|best friend|colleague|coworker|coach|neighbou?r|professor)s? .*\b(?:gave|bought|invited|offered|introduced)\b.*"
)
_DAILY = re.compile(
    r"(?:rewatched|rented|streamed|saw|heard|ate|watched|walked|went for an?|slept|woke)\b.*"
)
_LET_GO = re.compile(  # of what one stopped: no thing that anybody knows
    r".*\b(?:life|lives|hope|trying|caring|feeling|myself|from (?!my|the|a)\w+ing|friend from|stage|thinking|talking|eating|sleeping)\b.*|(?:\S+ ){10,}.*"
)
_VAGUE = r"\w+ing (?:more|different|various|a few|some|lots of|new) [\w-]+"
_IDLE = re.compile(  # "proud of the club" is no habit; what is heard or awaited passes
    rf"(?:is |been )*{_VAGUE}|"
    r"(?:from|with|of|proud|really|wakeup|used to|(?:is |been )*(?:listening to|watching|looking forward to|collecting data|run(?:ning)? ?away))\b.*|.*\brun(?:ning)? ?away\b.*"
)
_NO_PLACE = re.compile(r"moved (?:in)?to (?:an?|the|my|our) (?:[\w-]+ )*(?:place|area|room)\b.*")
_LIKENED = re.compile(r"[^.]*\b(?:is|are|was|were)\b(?P<what>.*)")
_WORK = re.compile(
    rf"\d|\b(?:older|younger|{LISTS['profession']}|{LISTS['nation']}|{LISTS['ailment']}|{LISTS['diet']})\b|\b(?:in|at|from|with) "
)
_CONTRAST = re.compile(
    r"[A-Z\d]|\b(?:\w+day|morning|evening|afternoon|noon|one|two|three|four|five|six|seven|eight|nine|ten)\b"
)
_PARTY = re.compile(r"for \d+ (?:people|persons|guests|nights?)|the \d+(?:st|nd|rd|th)")
_CHOICES = re.compile(
    rf"(?!.*\b(?:with|use) (?:{either(KINDS['products'].split(', '))})\b)(?:go|going|stick|sticking) with (?:the )?[\w' -]+|(?:the )?\w+|the .*"
)
# --- what sounds like a fact of a kind, and is none ----------------------------------------------
_CUT = re.compile(  # of a like or favourite: "by Admiral Ackbar", "long" (of "long, flowy dresses")
    r"(?:from|by|called|named|though|actually|almost everything|about)\b.*|most (?:music|things|stuff|of|all|beautiful)\b.*"
    r"|an? (?:series|trilogy|classic|must|few|while)|(?:the )?first (?:two|three|few)"
    r"|(?:long|short|simple|classic|modern|vintage|animal|action|shiny|pretty|smart|funny|dark|light)"
    r"|.+ (?:what about you|most of the time|too much(?: \w+)?|strongly|personally|best|most|alot|than anything else|any longer)"
    r"|an? (?:mix|variety|range|blend) of .+|(?:the )?music videos?|my (?:courses?|rose|man|girl)|school|homework"
)
_TASTE_THEN = re.compile(  # of a habit: what somebody thought of a thing then ("always liked Jasmine")
    r"(?:liked|loved|hated|wanted|wondered|enjoyed|preferred|disliked|wished|believed|hoped)\b.*"
)
_NOW = re.compile(  # of a habit: what goes on today, or nowhere in particular
    r"(?:(?:is|been) )*(?:having (?:an?|the|our|my) .*(?:party|dinner|lunch|guests?|barbecue)|putting together .*(?:party|dinner|list)|"
    r"playing (?:an? song|.* on a non-stop)\b.*|rewatching|hanging (?:around|out)|catching (?:some|a few|up)|using the|reading or writing)\b.*"
)
_CHAT = re.compile(  # of a deed: that people met and talked
    r"(?:had|having) (?:an? )?(?:[\w-]+ )?(?:get-together|discussion|chat|conversation|talk|meeting)\b.*|passed (?:\w+'s|the|by) .*(?:office|house|shop|store|building)\b.*|left (?:though|now|early|then)"
)
_UNDER_WAY = re.compile(  # of people: "my wife is coming to get me"
    r".*\b(?:is|are) (?:coming to (?:get|pick|fetch|meet)|waiting|calling|picking|getting (?:me|us))\b.*"
)
_SKILL = re.compile(  # of who somebody is: good at what, only the talk before knows
    r"(?:not |so |really |pretty |very )*(?:good|great|bad|terrible|awful) at (?:(?:my|our|this|that|the) (?:job|work|game)|either|this|that|it|those)\b.*"
)
_BET = re.compile(  # of a household: "a friendly wager with my brother"
    r"(?:have |had )?an? (?:[\w-]+ )?(?:wager|bet|chat|talk|fight|argument|date|deal|meeting|plan)\b.*"
)
_SEEN = re.compile(  # of a thing: what was seen or is part of a row of things
    r"(?:been|seen|had|heard|watched|only|never|just)\b.*|(?:have |own )?(?:the )?(?:first|last) (?:one|two|three|few)\b.*|(?:have |own )?quite a .*|(?:have )?an? (?:copy|membership|clue|hunch)"
)
_OTHER_LIMIT = re.compile(  # "can't eat another bite"
    r".*\banother\b.*|(?:im|i'm|it's|glad)\b.*"
)
_ATTEMPT = re.compile(r"(?:try|wait|see if|dress|check out)\b.*")
_NOT_OWNED = re.compile(r"own (?:many |any |a lot ).*|own .*\b(?:i|they) have.*")
_MADE_UP = re.compile(  # of a plan: "make a new type of music"
    r".*\b(?:make|making|see|watch|create) (?:an? |some |the )?new (?:type|kind|sort)s?\b.*|.*\b(?:they|we|i) (?:have|are|am|was)\b.*"
)
_FELT = frozenset(["like", "dislike", "limit", "habit", "decision", "plan", "goal", "value"])
_LOOSE = frozenset(["event", "habit", "plan", "goal", "value", "decision"])
_WHOLE = frozenset(
    ["event", "ended", "habit", "plan", "goal", "value", "like", "dislike", "people", "household", "possession", "study", "partner", "health"]
)  # fmt: skip
LONGEST = 8
"""Words of a like: more are a sentence that went on."""
LONGEST_DEED = 15
"""Words of what somebody did or does: more are two deeds and what came of them."""

_EMPTY: dict[str, tuple[re.Pattern[str], ...]] = {
    "like": (ONE_OF_MANY, CHOICE, MOODY, OFFERED, ORDERED, _POINTS, _CUT),
    "favourite": (_POINTS, _CUT),
    "dislike": (ONE_OF_MANY, CHOICE, MOODY, ORDERED, _POINTS, _CUT),
    "limit": (NO_LIMIT, DESPERATE, OF_THE_TASK, _SCOLDED, _OTHER_LIMIT),
    "habit": (AT_HAND, REFLECTED, OF_TODAY, PLAIN, _MISHAP, _IDLE, _TASTE_THEN, _NOW),
    "event": (
        INCIDENT,
        DID_NOT,
        REGRETTED,
        ROUND,
        SMALL_WIN,
        _STEP,
        _MISHAP,
        _NO_PLACE,
        _DAILY,
        _CHAT,
    ),
    "ended": (EX, _LET_GO),
    "value": (MUSED,),
    "goal": (AT_HAND, WISHED),
    "task_done": (NO_ERRAND, NO_PROJECT, _STEP),
    "task": (_ATTEMPT, re.compile(r"(?:an?|the) .*|.*\bdue when\b.*")),
    "plan": (AT_HAND, DID_NOT, TODAYS, _IDLE, _ITINERARY, _MADE_UP),
    "": (NO_CONTRAST, _PARTY),
    "decision": (CHOSEN, SAID_SO, _CHOICES),
    "lack": (re.compile(r"access to (?:an? |any )?(?:gun|firearm|weapon|pills?|rope).*"),),
    "possession": (NOT_OWNED, _NO_THING, PRAISED, _SEEN),
    "household": (OF_OTHERS, TOO_MANY, _BET),
    "people": (CONDUCT, OF_A_DAY, _UNDER_WAY),
    "study": (_NO_THING,),
    "health": (_NO_THING, UNWELL, re.compile(r"(?:anxiety|depression|fear) (?:about|of|when)\b.*")),
    "identity": (
        _SKILL,
        SELF_REPROACH,
        TWO_AT_ONCE,
        re.compile(
            r"(?:not |so |really )*(?:good|bad|terrible) at (?:my |the )?(?:school|college|life|being|talking|making|any|every|all|it|string).*"
        ),
    ),
    "name": (NO_NAME,),
    "language": (re.compile(r"\w+ly"),),
    "home": (
        NO_HOME,
        re.compile(r"(?:\S+ ){7,}.*|.*\bthe (?:first|last) .*|.* and (?:am|over|under|have)\b.*"),
    ),
    "work": (
        NO_FIRM,
        SELF_REPROACH,
        re.compile(
            r"(?:good|bad|great|terrible|decent|better|horrible|huge|real|true|fake|lazy|poor|nice|big|fast|slow) .*|.* (?:before|then|once|previously)|.*\bwho needs?\b.*"
        ),
    ),
    "diet": (
        _NOT_OWNED,
        re.compile(
            r"(?:eat|drink|sleep) (?:as )?(?:well|much|enough|right|properly|a lot|anything|anymore)\b.*|eat|own .*|.*\bhelps? (?:me|us)\b.*"
        ),
        re.compile(r"have access to an? .*"),
    ),
}
"""By family: values that say nothing by themselves."""


def worth(family: str, value: str, fold: str) -> bool:
    """Whether it says something by itself; `fold` is the value in lower case."""
    if family in _FELT and SAID_IN_A_MOOD.search(fold):
        return False
    if VAIN.match(fold):
        return False
    if family in _WHOLE and (_RUN_ON.fullmatch(fold) or CUT_OFF.fullmatch(fold)):
        return False
    if any(empty.fullmatch(fold) for empty in _EMPTY.get(family, ())):
        return False
    if family == "pet" or (family == "ended" and DIED.fullmatch(fold)):
        return ALIVE.fullmatch(fold) is not None
    if family == "people" and (given := GIVEN.fullmatch(fold)):
        return is_concrete(given["what"])
    if family in ("like", "dislike"):
        return len(fold.split()) <= LONGEST
    if family == "task_done":
        return _ERRAND.fullmatch(fold) is not None
    if family == "limit":
        return bool(_ORDER.fullmatch(fold) or _LIMITS.fullmatch(fold))
    if family == "plan" and _NEAR.fullmatch(fold) and _OUTING.fullmatch(fold):
        return False
    if family == "people" and (told := _LIKENED.fullmatch(fold)):
        return bool(_WORK.search(told["what"])) or is_concrete(value)
    if family == "people" and _LOANED.fullmatch(fold):
        return is_concrete(value)
    if family in _LOOSE and _THEIRS.search(fold):
        return False
    if not family:
        return _CONTRAST.search(value) is not None
    if (family in ("plan", "event") and is_proper(value)) or fold.startswith("against "):
        return True
    return family not in _LOOSE or (len(fold.split()) <= LONGEST_DEED and is_concrete(value))
