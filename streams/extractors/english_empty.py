"""English: what is no value, or says nothing by itself. Lists of texts are searched as tries."""

from streams.extractors.patterns import any_of, either, words

_ANAPHORA = (  # what begins so points at something else
    "i", "we", "okay", "ok", "right now", "it", "that", "this", "these", "those", "them", "him",
    "her", "you", "your", "his", "their", "its", "me", "us", "one", "what", "how", "when", "where",
    "who", "why", "both", "either", "neither", "all", "everything", "nothing", "something",
    "anything", "any", "to know", "to see", "to hear", "to ask", "to think", "to get", "to have",
    "to book", "to find", "to be", "to go", "to say", "to make", "to do", "knowing", "being able",
    "here", "there", "same", "another", "each", "some", "so", "none",
    "many of", "most of", "a lot of the", "either way", "help",
    "on one", "on my own", "up", "out", "to",
)  # fmt: skip
_SHOWN = (  # what the agent has shown
    "first", "second", "third", "last", "next", "other", "one", "idea", "way", "sound", "look",
    "option", "answer", "result", "new", "same", "latest", "suggestion", "response", "example",
    "previous", "above", "plan", "design", "name", "title", "tone", "style", "ending", "part",
    "fact", "color scheme",
)  # fmt: skip
_ADJECTIVES = words(  # "a beautiful", of a sentence that was cut
    "safe, small, big, little, new, old, nice, great, good, warm, beautiful, long, real, strong, "
    "happy, quiet, calm, loving, cozy, huge, cute"
)
_LAST = words(  # what no value ends with
    "for, an, a, the, to, of, with, and, or, that, which, my, our, as, from, by, about, few, some, "
    "while, when, new, like, wow, am, is, are, was, were, be"
)
EMPTY = any_of(
    rf"(?!when (?:people|my|the|others|some|an?)\b){either(_ANAPHORA)}\b.*",
    rf"the {either(_SHOWN)}\b.*",
    ".* (?:one|ones|option)",
    rf".* an? {_ADJECTIVES}",
    r".*\b(?:i would like|i'd like|i want|please)\b.*",
    "done|more|less|good|great|fine|well|.",
    rf".* {_LAST}",
    ".* (?:this|that|these|those|them|here|there)",
)
"""No value whatever its family."""

_LIGHT = (  # words that say nothing unless others stand beside them
    "a", "an", "the", "some", "any", "my", "our", "own", "more", "most", "much", "many", "few",
    "several", "another", "other", "others", "new", "first", "next", "in", "on", "at", "of", "for",
    "to", "with", "and", "or", "from", "by", "about", "into", "out", "so", "very", "really",
    "just", "also", "too", "again", "then", "on my way home", "on the way home", "all",
    "go", "going", "went", "be", "being", "been", "have", "having", "had", "get", "getting", "got",
    "make", "making", "made", "take", "taking", "took", "do", "doing", "did", "find", "finding",
    "found", "try", "trying", "give", "giving", "gave", "keep", "keeping", "work", "working",
    "hard", "play", "playing", "feel", "feeling", "start", "starting", "started", "create",
    "creating", "bring", "bringing", "live", "living", "become", "becoming", "hope", "hoping",
    "plan", "planning", "looking", "forward", "excited", "ready", "considering", "think",
    "thinking", "want", "challenge", "reflect", "see", "seeing", "learn", "learning", "explore",
    "exploring", "improve", "improving", "watch", "watching", "attended", "reach", "reaching",
    "event", "events", "incident", "incidents", "experience", "experiences", "moment", "moments",
    "milestone", "milestones", "issue", "issues", "problem", "problems", "thing", "things",
    "stuff", "place", "places", "time", "times", "day", "days", "week", "weeks", "weekend",
    "month", "months", "year", "years", "idea", "ideas", "impact", "difference", "change",
    "changes", "progress", "balance", "opportunity", "opportunities", "chance", "chances",
    "challenges", "goal", "goals", "plans", "dream", "dreams", "situation", "thoughts",
    "life", "lives", "world", "future", "way", "ways", "people", "person", "someone", "everyone",
    "something", "anything", "everything", "nothing", "lot", "lots", "bit", "bunch", "kind",
    "kinds", "sort", "sorts", "part", "result", "results", "success", "best", "better", "myself",
    "ourselves", "memories", "together", "good", "great", "nice", "big", "huge", "small", "little",
    "bad", "rough", "tough", "real", "positive", "negative", "meaningful", "unexpected", "amazing",
    "awesome", "wonderful", "lovely", "beautiful", "special", "memorable", "enjoyable", "fun",
    "cool", "crazy", "wild", "wicked", "personal", "different", "certain", "whole", "various",
    "trip", "trips", "tour", "tours", "adventure", "adventures", "interesting", "incredible",
    "fantastic", "super", "last", "yesterday", "today", "one", "two",
)  # fmt: skip
_POINTING = (  # "those gardens", but not "this morning", "those who ..."
    r"(?:this|that|these|those)(?! (?:in|who|with|around|close to|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|morning|afternoon|evening|week|weekend|month|"
    r"year|spring|summer|autumn|fall|winter)\b)\b.*"
)
_PREPOSITIONS = words(
    "to, in, on, at, of, for, with, from, by, about, into, through, over, around, across, past, "
    "near, under, use, try, make, take, get"
)
_BEFORE_IT = (  # what may stand before that: "walking through", "use"
    rf"(?:(?:.* )?(?:(?!reading)\w{{2,}}ing|{_PREPOSITIONS}) )?"
)
_ONE = any_of(
    r"(?!.* and ).*\b(?:him|them)\b.*",
    r"(?:\w+|go for) it",
    r".*\bone(?: (?:of (?:my|our) own|with|myself|soon|too|at|for)\b.*)?",
)
_PRAISE = words(
    "great, good, cool, crazy, amazing, awesome, weird, nice, huge, major, big, tough, fantastic, "
    "wonderful, incredible, lovely, beautiful, inspiring, interesting"
)
_TELLING = words(  # things of which nothing more need be said
    "baby, son, daughter, boy, girl, stroke, miscarriage, tattoo, divorce, promotion, promoted, "
    "puppy, kitten, dog, cat, raise, job, surgery, married, engaged, hired, accepted, fired"
)
_BARE = (  # a deed with a thing of which nothing is said: "had a picnic", "met an amazing woman"
    r"(?:had|made|took|found|saw|explored|created|held|did|attended|got|met|read|reading) "
    rf"(?:(?:an?|some|the|this) )?(?:{_PRAISE} )?(?!{_TELLING})[\w-]+"
    r"(?: that i (?:really )?(?:enjoy|like|love))?"
)
_MILD = any_of(  # nothing is said of what it was
    r"(?:achieved|reached|hit) (?:an?|my|some) (?:[\w-]+ )*(?:milestones?|goals?)",
    r"got the idea\b.*",
    r"\w+(?:ing|ed)? (?:myself|ourselves)(?: (?:too|a lot|more|lately))?",
)

VAGUE = any_of(
    rf"(?:{either(_LIGHT)}(?!\w)[\s,'-]*)+",
    _BARE,
    _MILD,
    r".*\b(?:itself|themselves)",
    _BEFORE_IT + _POINTING,
    _ONE,
)
"""In a value of any words: nothing is said, or something that stands elsewhere."""

_NO_END = words(
    "things, stuff, life, fight, battle, hope, hopes, all hope, point, problems, problem, people, "
    "everything, anything, something, someone, anyone, myself, yourself, friends, feelings, sense, "
    "reason, reasons, purpose, idea, believe, words, answers, energy, time, patience, strength, "
    "fun, control, choice, same, able, trying, caring, living, thinking, feeling, worrying, "
    "crying, talking, fighting, pretending, relationship, everyone, place, stage"
)
ENDLESS = any_of(
    rf"(?:(?:a|an|the|my|our|any|some|no|much|all|long|deep|same|biggest|very|real|on) )*"
    rf"{_NO_END}\b.*",
    r".*\b(?:that|who|which|where|because|myself|yourself|if|how|what|when i|i was|i am|i'm)\b.*",
    r".*\b(?:conversations?|excuses?|fears?)\b.*",
)
"""What is not over as a thing of its own is: "gave up the fight", "used to tell myself that …"."""
