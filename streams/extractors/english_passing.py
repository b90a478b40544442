"""English: what is said in passing, of the day, of a booking, of what the agent has offered. It
says nothing about the user later."""

import re

from streams.extractors.patterns import any_of, words

VAIN = re.compile(  # of whom or what, only the talk before knows
    r".*\b"
    + any_of(
        r"(?:since|after|from) (?:our|my) last (?:chat|talk|call|conversation)",
        "as (?:usual|always)",
        "so far",
        "like (?:us)",
        "the (?:other|same) (?:one|thing)",
        r"started introducing\b",
        "started a new chapter",
        "putting in the ",
        "new haircut",
        "(?:every|each) (?:moment|minute|second|bit) of",
        "as (?:i|we) (?:said|speak)",
        "right now",
        "the (?:above|below|following(?! (?:day|week|month|year))|attached)",
        "at the moment",
        "at the same time",
        r"(?:yourself|oneself)\b",
    )
)

# --- what one does for a booking, or this evening -----------------------------------------------
_MEANING_TO = (
    r"(?:(?:is |been )?(?:planning|plan|plans|hoping|hope|thinking|aiming|aim|intend|intending|"
    r"going|excited|looking forward|preparing|getting ready|considering) )?"
    r"(?:(?:to|on|of|about|for) )?(?:also )?"
)
_TO_DO = any_of(
    "leav(?:e|ing)",
    "return(?:ing)?",
    "depart(?:ing)?",
    "arriv(?:e|ing)",
    "pick(?:ing)? up",
    "check(?:ing)? (?:in|out)",
    "watch(?:ing)?",
    "eat(?:ing)?",
    "dine",
    "dining",
    "attend(?:ing)? (?:at|in|on|the|a|it)",
    "book(?:ing)?",
    r"reserv\w+",
    "us(?:e|ing) (?:the|an?|this)",
    "find(?:ing)?",
    "view(?:ing)?",
    "see(?:ing)?",
    "order(?:ing)?",
    "call(?:ing)?",
    "start(?:ing)? (?:at|on|around|my (?:travel|trip|journey|stay))",
    "stay(?:ing)? (?:at|for|until)",
    r"go(?:ing)? (?:view|see|out|travel\w*|there|on the)",
    r"mak(?:e|ing) an? (?:\$|reservation|payment|search)",
    "get(?:ting)? an? ",
    r"have (?:two|three|a|\d)",
    "be (?:there|back|in)",
    "pay(?:ing)?",
)
TODAYS = re.compile(rf"{_MEANING_TO}{_TO_DO}\b.*")

# --- of what the agent has offered, not of what the user likes at all ---------------------------
_OFFERED = words(
    "car, room, seat, table, ticket, flight, hotel, ride, apartment, house, bus, train, place, "
    "cab, taxi, movie, event, song, show, restaurant, time, date"
)
_NAMED_OFFER = words(
    "restaurant, cafe, shop, salon, hotel, apartment, apartments, option, event, movie, song, "
    "album, place, house, cab, time"
)
CHOICE = re.compile(
    any_of(
        rf"an? (?:[\w-]+ )?{_OFFERED}(?: (?:in|near|at|with|on|for) .+)?",
        r".+ vs\.? .+",
        "(?:regular|pool|luxury|shared|standard)(?: (?:one|ride|car|class)s?)?",
        r".+ with (?:\d|an?|one|two|three) (?:bed|bath) ?rooms?",
        rf"(?:the )?(?:[\w'&-]+ ){{1,3}}{_NAMED_OFFER}",
        "(?:at|in|on|album|movie|film|song) .+",
        r"(?:[\w-]+ ){1,3}area",
        "(?:movies|events|restaurants|places|shows|films)(?: shown| playing)? (?:in|at|near) .+",
    )
)
_DAYS = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTHS = words(
    "january, february, march, april, may, june, july, august, september, october, november, "
    "december"
)
CHOSEN = re.compile(  # "go with Sunday"
    any_of(
        rf"(?:the|an?) (?:[\w-]+ )*{_OFFERED}s?(?: (?:at|on|from|in|for|with) .+)?",
        rf"(?:go|stick|stay) with (?:the )?(?:\d.*|{_DAYS}.*|{_MONTHS}\b.*|"
        r"(?:morning|evening|afternoon|regular|economy|window|aisle|pool|luxury)\b.*)",
        r"(?:spend|take) (?:(?:some|more|a|an|the) )*"
        r"(?:time|break|rest|nap|day off|evening off)\b.*",
        r"stay (?:home|in)\b.*",
        r"go (?:for|home|out|to bed|ahead)\b.*",
        "(?:order|watch|treat|try|give|call it|check|see|wait|skip|leave early) ?.*",
        "(?:leave|return|depart|switch to regular).*",
    )
)
PLAIN = re.compile(
    "(?:watch|play|read|eat|cook|go|listen to) (?:(?:a few|some|a lot of|lots of|more) )?"
    "(?:movies|films|tv|shows|videos|games|books|stuff|food|out|there|music)"
)
_KINDS = words(
    "movie, film, game, song, book, show, series, picture, photo, color, colour, idea, place, "
    "character, team, story, scene"
)
ONE_OF_MANY = re.compile(  # "movie", "video game"
    any_of(
        rf"(?:[\w-]+ )?{_KINDS}",
        "music|games|songs|movies|films|food|concerts?|events?",
        r"(?:[\w-]+ )?(?:type|kind|sort)s? (?:of )?events?",
        "(?:match|game|concert|music) events?",
    )
)
