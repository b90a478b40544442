"""English: the words of a booking. What is wanted there is no lasting wish."""

from streams.extractors.patterns import any_of

_BOOKED = any_of(  # what one books, searches and pays for
    "tickets?",
    "flights?",
    "airlines?",
    "hotels?",
    "events?",
    "restaurants?",
    "salons?",
    "appointments?",
    "itinerary",
    "tables? (?:by|near|for|at) ",
    "non-?smoking",
    "economy",
    "business class",
    "(?:shared|pool|luxury|regular) rides?",
    "checked bags?",
    "(?:gift|credit) cards?",
    "certificates?",
    "reservation ids?",
    r"option \d",
)
_TO_BOOK = any_of(  # what one does for it
    "book(?:ing)? (?:an?|the|me|tickets?|it|for)",
    r"reserv\w+",
    "check(?:ing)?[- ](?:in|out)",
    r"depart\w*",
    "rent(?:al)? (?:an? )?cars?",
    "(?:find|get|show) (?:me|us)",
    "look(?:ing)? (?:for|up)",
    r"search\w*",
    r"refund\w*",
    "cancellation",
    "one[- ]?way",
    "round[- ]?trip",
    "trip from",
    "leav(?:e|ing) (?:on|from|at|next|this)",
)
_FOR = any_of(  # when, where and for whom
    "movies? (?:at|in|near)",
    r"\d+ (?:people|persons?)",
    r"\d+:\d\d",
    r"\d ?[ap]m",
    r"\d(?:st|nd|rd|th)",
)

BOOKING = rf"\b(?:{_BOOKED}|{_TO_BOOK}|{_FOR})\b"
