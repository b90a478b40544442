"""English: what is of one day, one occasion or the task at hand. Nobody asks for it a month later."""

# ruff: noqa: E501 - a pattern that stands alone is one line

import re

from streams.extractors.english_lists import LISTS
from streams.extractors.patterns import any_of

_ALIVE = any_of(
    LISTS["kin"],
    LISTS["animal"].replace("<breed>", LISTS["breed"]),
    "retriever|horse|mare|pig|duck|rooster|chicken|rat|mouse|mice|bunny|bird|bees?|chinchilla|hedgehog|iguana|frog|dragon|doggy|doggie|kitty|pet",
    r"boy|girl|kid|child|children|baby|friend|neighbou?r|boss|colleague|coworker|teacher|coach|mentor|grand\w+|granny|nana?|nan|aunt\w*|uncle|cousin|niece|nephew",
)
ALIVE = re.compile(rf".*\b{_ALIVE}s?\b.*")
"""Of somebody or something that lives: what has a name and may die."""
DIED = re.compile(r"[^.]*\bdied\b.*")

_ROUND = r"(?:gym|school|class|classes|work|church|store|mall|office|meeting|lecture|practice)"
_THAT_DAY = r"(?: (?:today|yesterday|tonight|again|early|late|this \w+|last night))"
ROUND = re.compile(  # where any day takes one
    rf"(?:visited|attended|went to|left|hit|skipped|made it to|stopped (?:by|at)) (?:(?:the|my|our|an?) )?(?:{_ROUND}{_THAT_DAY}*|(?:[\w-]+ ){{1,3}}{_ROUND}{_THAT_DAY}+)"
    rf"|(?:got|came) back from (?:[\w-]+ ){{0,4}}?{_ROUND}{_THAT_DAY}*"
)
SMALL_WIN = re.compile(
    r"(?:won|got|received) (?:(?:an?|the|some|my|\$?\d[\d,.]*) )*(?:[\w-]+ ){0,2}?(?:gift (?:cards?|certificates?)|vouchers?|coupons?|raffle|bet|discount|refund)\b.*"
)
CONDUCT = re.compile(  # how somebody took it then
    r"(?:[\w'-]+ ){1,4}?(?:started|began|stopped|kept) (?:shouting|screaming|yelling|crying|laughing|talking|asking|telling|texting|calling|acting|ignoring|complaining|arguing|fighting|saying)\b.*"
)
GIVEN = re.compile(
    r"(?:[\w'-]+ ){1,3}?(?:bought|gave|got|brought|sent|made|lent) (?:me|us) (?P<what>.*)"
)
"""What one was given: worth it only if it lasts."""
OF_TODAY = re.compile(  # of a habit
    any_of(
        r".*\b(?:tonight|today|tomorrow|this (?:morning|afternoon|evening|weekend))",
        r"(?:(?:is|been) )*(?:talking|chatting|speaking|texting) (?:to|with)\b.*",
        r"(?:run|execute|compile|test|debug|use|call) (?:the|this|that|my) (?:[\w-]+ )?(?:code|script|program|command|query|tests?|server|build|function|loop|notebook|model|file)s?\b.*",
        r"use an? (?:public|shared|common) .*",
        r"use (?:a lot|lots|too much|more|most|some|all) of\b.*",
    )
)
OF_THE_TASK = re.compile(  # of a limit: what goes for this text, or is left today
    any_of(
        r".*\b(?:in|for) (?:(?:this|that|the) (?:conversation|chat|text|essay|article|story)|this (?:project|task|answer|list|code|assignment|plan|document|report))\b.*",
        r".*\bleft\b.*|(?:get|got) (?:to|an?)\b.*|keep in mind\b.*",
        r".*\b(?:his|her|their)\b.*|.* either",
        r"(?:eat|sleep|breathe|think|function|focus)(?:,? (?:or|and|nor) (?:even )?\w+)+",
        r"(?:please )?(?:don't|do not) (?:use|include|mention|add|put|write) (?!.*\b(?:ever|again|any ?more|repl\w+|answers?|responses?|messages?|e-?mails?|texts?|emojis?|jargon|slang|markdown|bullets?|headings?|tables?|abbrev\w+|exclamation|swear\w*|comments?|me)\b).*",
    )
)
UNWELL = re.compile(  # of health: over in a week
    r"(?:have |had )?(?:an? )?(?:bad |terrible |slight |splitting |mild |little )?(?:stomach ?ache|headache|cold|fever|flu|hangover|cough|sore throat|runny nose)(?: (?:today|now|since|from|and|right)\b.*)?"
)
SAID_SO = re.compile(  # of a decision: what was said to somebody, or not
    r"(?:just )?(?:tell|ask|text|call|ignore|confront)\b.*|not to (?:get involved|say|tell|go|ask|respond|reply)\b.*"
)
NO_FIRM = re.compile(  # of work: nobody knows where
    r"(?:for|at|in|with) (?:(?:an?|the|my|our|this|that|some|big|small|large|local|new|private|good|great|different|certain|another) )*"
    r"(?:company|firm|business|place|office|organi[sz]ation|corporation|job|store|shop|employer|workplace)"
)
NO_PROJECT = re.compile(
    r"(?:[\w-]+ ){0,2}(?:project|assignment|task|work)s? (?:.*\b(?:at|for) (?:work|school|college)|(?:i|we) (?:had|have|was|were)\b.*)"
)
PRAISED = re.compile(
    r"(?:have |own )?an? (?:pretty|really|very|quite|super|so) (?:terrific|nice|good|great|cool|amazing|lovely|beautiful|wonderful) .*"
)
OFFERED = re.compile(  # of a like: a part of what was shown or is ordered
    r"(?:tip|option|number|point|item|idea|version|choice|draft|step|slide|title|headline|part|paragraph)s? (?:number |no\.? |#)?\d.*|for \d.*"
)
EX = re.compile(r".*\b(?:broke|split) up with (?:(?:my|an|the) )?ex\b.*")
_SOON = re.compile(
    r".*\b(?:today|tonight|tomorrow|soon|asap|right away|now|this (?:morning|afternoon|evening)|by \d{1,2}(?::\d\d)? ?(?:am|pm))\b.*"
)


def is_duty(value: str, said: str) -> bool:
    """Whether what somebody has to do is open for longer than until tomorrow."""
    return not _SOON.fullmatch(said)
