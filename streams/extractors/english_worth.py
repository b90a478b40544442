"""English: what is worth keeping of what was said. A thing kept is read alone, months later: an
outing without a place, a meal, a film without a title, a slip of the day tell nothing then.

A value is thin if none of its words says anything (`_THIN`, `english_dull.py`); some kinds need
more than that. What was said of the day or of a booking stands in `english_passing.py`.
"""

import re

from streams.extractors.english_dull import DULL
from streams.extractors.english_moods import (
    DESPERATE,
    MOODY,
    REFLECTED,
    REGRETTED,
    SAID_IN_A_MOOD,
    WISHED,
)  # fmt: skip
from streams.extractors.english_passing import CHOICE, CHOSEN, ONE_OF_MANY, PLAIN, TODAYS, VAIN
from streams.extractors.patterns import any_of, either, words


def _dull(*names: str) -> str:
    return either(word for name in names for word in DULL[name].split(", "))


def _thin(*names: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{_dull(*names)}(?![\w'-])[\s,'’-]*)+")


_THIN = _thin("praise", "small", "light", "outing", "company", "meal", "media", "wares", "screen")
_HOMILY = _thin("praise", "small", "light", "boon")
_TELLING_START = words(
    "start, join, move, begin, open, launch, become, attend, visit, adopt, teach, perform, go to, "
    "travel, marry"
)
_MOOD = re.compile(rf"excited to (?!{_TELLING_START}\b).*")
_STEPS = words(  # of a lesson, a workout or a game: done today, nothing later
    "workout, workouts, worksheet, exercise, exercises, lesson, quiz, chapter, level, set, sets, "
    "session, step, steps, round, reading, video, question, questions, problem, problems, page, "
    "pages, work, school, class, classes, practice, shopping, module, unit, form, survey, "
    "download, installation, update, reps, warm-up, tutorial"
)
_VESSEL = r"(?:whole |entire |full )?(?:bottle|glass|bowl|plate|pack|bag|can|cup|box) of .*"
_FINISHED = re.compile(
    rf"finished (?:(?:the|this|that|my|an?|another) )?(?:(?:[\w-]+ )?{_STEPS}(?: \w{{1,3}})?"
    rf"|{_VESSEL})"
)
_DONE_THIN = re.compile(
    rf"(?:(?:{_dull('praise')}) )+(?:[\w-]+ )?"
    rf"(?:{_dull('media')}|project|thing|task|job|work|chapter)s?(?: (?:i|we) .+)?"
    rf"|(?:[\w-]+ )?{_STEPS}(?: \w{{1,3}})?"
    # "finished binging", "called in sick", "he is done", "done with people"
    r"|(?:binge?\w*|watching|eating|drinking|reading|listening|scrolling)\b.*|in (?:sick|late)\b.*"
    r"|(?:he|she|they|it|we|you|who|everyone|everything)\b.*"
    rf"|{_VESSEL}"
    r"|(?:people|men|women|life|love|dating|school|work|reality|everything|humanity|friends|therapy|him|her)\b.*"
)
_NAMED = re.compile(r"(?<=[\w,’'] )(?!I\b)[A-Z]|[\"“«]|\d")

# --- meals, media, errands, screens, mishaps ---------------------------------------------------
_FEAST = words(
    "fair, wedding, birthday, charity, fundraiser, contest, competition, sale, market, church, "
    "school, shelter, homeless"
)
_MEAL = re.compile(
    rf"(?!.* for (?:the|an?|my|our) (?:[\w'-]+ )?{_FEAST})"
    r"(?:made|cooked|baked|grilled|had|ate|bought|prepared|whipped up|making|baking|cooking|eating)"
    rf" (?:[\w'-]+ ){{0,4}}?{_dull('meal')}(?![\w-])"
    r"(?! (?:truck|bank|drive|class|course|festival|contest|competition|business|shop)).*"
)
_MEDIA = re.compile(
    r"(?:is |been |just )?(?:reading|read|rereading|watching|watched|watch|finished|playing|"
    r"played|saw|listening to)(?: reading| watching| playing)? "
    rf"(?:[\w'-]+ ){{0,5}}?{_dull('media')}(?![\w-])"
    r"(?! (?:club|group|class|jam|convention|design|studies|theory|lessons?|school)).*"
)
_ERRAND = re.compile(
    r"(?:went|go|going|headed|been|took .+?) (?:back )?to (?:the |an? |my |our )?"
    r"(?:[\w'-]+ ){0,2}?(?:gym|store|shop|mall|supermarket|office|bank|bed|park|movies|cinema|"
    r"restaurant|cafe|bar|bathroom|toilet|work|school|doctor|dentist|clinic|hairdresser|beach)"
    r"(?: .{0,24})?"
)
_NO_SCREEN = any_of(  # what a word of screens is part of: "app developer"
    "game|design|developer|development|company|shop|centre|center|engineer|drive|program|class",
    "course|result",
    r"for (?:a|an|my|our) \w+ (?:company|business|shop|charity|club|school|foundation)",
)
_SCREEN = re.compile(
    r"(?:[\w'-]+(?: on| to| for| up| out)? )"
    r"(?:(?:an?|the|my|our|some|this|your|another|two|three) )?"
    rf"(?:{_dull('praise')} )?(?:[\w'-]+ )??{_dull('screen')}(?![\w-])(?! {_NO_SCREEN}).*"
)
_MISHAP = re.compile(
    any_of(
        "showered|hugged|posted (?:that|about|here|this)|bombed",
        r"spent (?:today|tonight|yesterday|the (?:day|night|evening)|a day|hours|all)\b",
        "missed|spilled|spilt|dropped(?! out)|forgot|misplaced|overslept|tripped|slipped|locked",
        "burned the|burnt",
        "got (?:stuck|lost|soaked|delayed|rejected|into (?:a (?:bad|tight|tricky)|bed|the car))",
        r"got into an? (?:[\w-]+ )*(?:argument|fight|row)",
        "ran (?:into|out of)",
        "lost (?:my|our|the) (?:keys?|wallet|phone|glasses|way|train|bus|umbrella|charger)",
        "broke (?:my|the|a) (?:glass|plate|mug|cup|phone|screen|vase|bowl|window)",
    )
    + " ?.*"
)
_STRONG = re.compile(
    r"(?:just |also )?(?:joined|adopted|opened|founded|moved|graduated|quit|retired|signed up|"
    r"enrolled|started (?:getting|going|an?|my|our)) .+"
)
_SOME = re.compile(  # "writing more articles", "trying out different workouts"
    r"(?!got|bought)[\w'-]+(?: [\w'-]+ing)?(?: out| about| up)? "
    r"(?:a few|more|different|various|some|new|several|other|lots of|a lot of|all kinds of)"
    r"(?: (?:more|new|different|cool))?(?: [\w'-]+){1,2}"
)
_USUAL = re.compile(  # "swim twice a week"
    r"(?!(?:is|been|bring|sing|string|swing) )(?![\w-]+(?:ing|ed)\b).*"
)
_DONE = frozenset(["event", "habit"])
_FELT = frozenset(["like", "dislike", "limit", "habit", "decision", "plan", "goal", "value"])
LONGEST = 10
"""Words of a like: more are a sentence that went on."""
LONGEST_DEED = 17
"""Words of what somebody did or does: more are two deeds and what came of them."""


_EMPTY: dict[str, tuple[re.Pattern[str], ...]] = {
    "limit": (DESPERATE,),
    "habit": (REFLECTED, PLAIN),
    "event": (REGRETTED,),
    "goal": (WISHED,),
    "value": (_HOMILY,),
    "task": (_DONE_THIN,),
    "plan": (TODAYS,),
    "decision": (CHOSEN,),
}
"""By family: values that say nothing by themselves."""


def worth(family: str, value: str, fold: str) -> bool:
    """Whether it says something by itself; `fold` is the value in lower case."""
    if family in _FELT and SAID_IN_A_MOOD.search(fold):
        return False
    if family in ("like", "dislike"):
        return len(fold.split()) <= LONGEST and not (
            VAIN.match(fold)
            or ONE_OF_MANY.fullmatch(fold)
            or CHOICE.fullmatch(fold)
            or MOODY.fullmatch(fold)
        )
    if any(empty.fullmatch(fold) for empty in _EMPTY.get(family, ())):
        return False
    if family == "plan" and _MOOD.fullmatch(fold) and not _NAMED.search(value):
        return False
    if family not in ("event", "plan", "habit", "goal") or (
        family == "habit" and _USUAL.match(fold)
    ):
        return not VAIN.match(fold)
    if VAIN.match(fold) or (_THIN.fullmatch(fold) and not _STRONG.fullmatch(fold)):
        return False
    if family not in _DONE:
        return True
    if len(fold.split()) > LONGEST_DEED:
        return False
    if (
        _FINISHED.fullmatch(fold)
        or _MISHAP.fullmatch(fold)
        or _MEAL.fullmatch(fold)
        or _SCREEN.fullmatch(fold)
    ):
        return False
    return bool(_NAMED.search(value)) or not (
        _SOME.fullmatch(fold) or _MEDIA.fullmatch(fold) or _ERRAND.fullmatch(fold)
    )
