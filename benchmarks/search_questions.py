"""Questions whose answer turn is known, made from SGD's slots in other words than the turn's.

A question is about one thing that a user did (its service), names some of the facts that were
said of it (clues: slots and their values) and asks for another (the answer's slot). Clues are
chosen so that they fit one dialogue of the user alone; of a question for the latest, the newest of
several. Words for the service and for the slots are ours; dates, times and small numbers are
written in another form than was said, names without their common last word. Relative dates ("next
Tuesday") and truth values are not used. Questions of dialogues with an even hash are `dev`, the
others `held`: what is tuned is tuned on `dev`.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

Slots = dict[str, str]

ABOUT: dict[str, tuple[str, ...]] = {
    "Restaurants_1": ("the table I had reserved", "the dinner reservation", "where we ate"),
    "Media_1": (
        "the film I wanted to watch at home",
        "the movie you put on",
        "the streaming night",
    ),
    "Movies_1": ("the trip to the cinema", "the film at the theatre", "the screening"),
    "Events_1": ("the tickets", "the show or match I wanted to see", "the outing"),
    "Events_2": ("the tickets", "the concert or game I planned", "the event"),
    "Music_1": ("the song I had you play", "the track I asked for", "the music"),
    "Music_2": ("the song I had you play", "the track I asked for", "the music"),
    "Flights_1": ("the plane ticket", "my air travel", "the flight"),
    "Flights_2": ("the plane ticket", "my air travel", "the flight"),
    "RideSharing_1": ("the cab", "the ride you ordered", "the taxi"),
    "RideSharing_2": ("the cab", "the ride you ordered", "the taxi"),
    "RentalCars_1": ("the hire car", "the vehicle I rented", "the rental"),
    "RentalCars_2": ("the hire car", "the vehicle I rented", "the rental"),
    "Buses_1": ("the coach trip", "the bus journey", "the coach seats"),
    "Buses_2": ("the coach trip", "the bus journey", "the coach seats"),
    "Hotels_1": ("the hotel stay", "the accommodation", "the room I took"),
    "Hotels_2": ("the holiday home", "the house I rented for a stay", "the accommodation"),
    "Hotels_3": ("the hotel stay", "the accommodation", "the room I took"),
    "Services_1": ("the haircut", "the hairdresser", "my hair appointment"),
    "Services_2": ("the dentist visit", "the dental appointment", "my teeth check"),
    "Services_3": ("the doctor's visit", "the medical appointment", "seeing a physician"),
    "Homes_1": ("the flat I looked at", "the apartment viewing", "the home search"),
    "Banks_1": ("the money I sent", "the bank transfer", "the payment"),
    "Calendar_1": ("the entry in my schedule", "what I put in the diary", "the reminder I added"),
}
CLUES: dict[str, tuple[str, ...]] = {
    "city": ("in {}", "around {}"), "city_of_event": ("in {}",), "location": ("in {}", "around {}"),
    "area": ("in {}", "near {}"), "where_to": ("in {}",),
    "destination": ("to {}", "heading for {}"),
    "pickup_city": ("in {}",), "pickup_location": ("collected at {}",),
    "destination_city": ("to {}", "heading for {}"), "to_location": ("to {}", "heading for {}"),
    "origin_city": ("out of {}", "leaving {}"), "origin": ("out of {}", "leaving {}"),
    "from_location": ("out of {}", "leaving {}"), "event_location": ("at {}",),
    "restaurant_name": ("at {}",), "event_name": ("for {}", "called {}"),
    "title": ("called {}", "{}"), "movie_name": ("called {}", "{}"), "song_name": ("{}",),
    "artist": ("by {}",), "album": ("off {}",), "theater_name": ("at {}",),
    "hotel_name": ("at {}",), "stylist_name": ("with {}",), "dentist_name": ("with {}",),
    "doctor_name": ("with {}",), "property_name": ("at {}",), "directed_by": ("made by {}",),
    "recipient_account_name": ("going to {}", "for {}"), "airlines": ("with {}",),
    "cuisine": ("with {} food",), "genre": ("of the {} sort",), "category": ("of the {} sort",),
    "amount": ("of {}",), "type": ("of the {} kind",), "car_type": ("of the {} kind",),
    "playback_device": ("on the {}",), "ride_type": ("of the {} kind",),
    "date": ("on {}",), "show_date": ("on {}",), "appointment_date": ("on {}",),
    "departure_date": ("on {}",), "leaving_date": ("on {}",), "pickup_date": ("from {}",),
    "check_in_date": ("from {}",), "event_date": ("on {}",), "visit_date": ("on {}",),
    "return_date": ("back on {}",), "check_out_date": ("until {}",), "dropoff_date": ("until {}",),
    "time": ("at {}",), "show_time": ("at {}",), "appointment_time": ("at {}",),
    "departure_time": ("at {}",), "leaving_time": ("at {}",), "pickup_time": ("at {}",),
    "event_time": ("at {}",), "outbound_departure_time": ("at {}",),
    "inbound_departure_time": ("coming back at {}",),
    "party_size": ("for a party of {}",), "number_of_tickets": ("for {} people",),
    "number_of_seats": ("for {} people",), "passengers": ("for {} people",),
    "travelers": ("for {} people",), "group_size": ("for {} people",),
    "number_of_riders": ("for {} people",), "number_of_adults": ("for {} grown-ups",),
    "number_of_beds": ("with {} bedrooms",), "number_of_baths": ("with {} bathrooms",),
    "number_of_rooms": ("with {} rooms",),
}  # fmt: skip
ASKING: dict[str, str] = {
    "place": "Where was {about} {clues}?",
    "name": "What was the name of {about} {clues}?",
    "when": "Which day was {about} {clues}?",
    "time": "What time was {about} {clues}?",
    "many": "How many were we for {about} {clues}?",
    "what": "What did I choose for {about} {clues}?",
}
LATEST = (
    "Where or what was {about} {clues} most recently?",
    "What is the latest on {about} {clues}?",
    "Which one was {about} {clues} the last time, now that I ask?",
)
CLASSES = {
    "place": "city city_of_event location area where_to destination pickup_city pickup_location "
    "destination_city to_location origin_city origin from_location event_location",
    "name": "restaurant_name event_name title movie_name song_name artist album theater_name "
    "hotel_name stylist_name dentist_name doctor_name property_name directed_by "
    "recipient_account_name",
    "when": "date show_date appointment_date departure_date leaving_date pickup_date check_in_date "
    "event_date visit_date return_date check_out_date dropoff_date",
    "time": "time show_time appointment_time departure_time leaving_time pickup_time event_time "
    "outbound_departure_time inbound_departure_time",
    "many": "party_size number_of_tickets number_of_seats passengers travelers group_size "
    "number_of_riders number_of_adults number_of_beds number_of_baths number_of_rooms",
    "what": "airlines cuisine genre category amount type car_type playback_device ride_type",
}
CLASS = {slot: name for name, slots in CLASSES.items() for slot in slots.split()}
MONTH_DAY = re.compile(r"(?:march (\d+)(?:st|nd|rd|th)?|(\d+)(?:st|nd|rd|th)? of march)", re.I)
CLOCK = re.compile(r"(\d{1,2})(?::(\d\d))? ?([ap])m", re.I)
HOURS = re.compile(r"(\d\d):(\d\d)")
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
USELESS = ("dontcare", "true", "false")
LAST_WORDS = re.compile(r" (?:restaurant|hotel|apartments?|airlines|cinema|dental)$", re.I)


ALIKE = {
    "sf": "san francisco", "san fran": "san francisco", "sfo": "san francisco",
    "frisco": "san francisco", "ny": "new york", "nyc": "new york", "new york city": "new york",
    "la": "los angeles", "lax": "los angeles", "vegas": "las vegas", "philly": "philadelphia",
    "sd": "san diego", "atl": "atlanta", "chi-town": "chicago", "dc": "washington",
    "washington dc": "washington", "cdmx": "mexico city",
}  # fmt: skip


class Dialogue(NamedTuple):
    """What one dialogue came to: service -> slot -> its last value, and the turn that first had it;
    `said`: all values of all slots, in one form, and what the dialogue was about."""

    session: str
    number: int
    slots: dict[str, dict[str, tuple[str, int]]]
    said: frozenset[str]


class Question(NamedTuple):
    """A question and where its answer is; `kind` what it needs: name, number, recency or words."""

    text: str
    session: str
    turn: int
    kind: str
    dev: bool


def read(dialogues: Iterable[dict[str, Any]]) -> list[Dialogue]:
    """The last value of each slot, as the user's turns have them."""
    found = []
    for number, dialogue in enumerate(dialogues):
        slots: dict[str, dict[str, tuple[str, int]]] = defaultdict(dict)
        said: set[str] = set()
        for turn, spoken in enumerate(dialogue["turns"][::2]):
            for frame in spoken["frames"]:
                said.add(_about(frame["service"]))
                for slot, values in frame["state"]["slot_values"].items():
                    said.update(map(_canonical, values))
                    known = slots[frame["service"]].get(slot)
                    if known is None or known[0] not in values:
                        slots[frame["service"]][slot] = values[0], turn
        found.append(Dialogue(dialogue["dialogue_id"], number, dict(slots), frozenset(said)))
    return found


def questions(dialogues: list[Dialogue], users: int, most: int) -> Iterator[Question]:
    """Up to so many questions to the memory of users who share the dialogues out by turns."""
    having: dict[tuple[int, str], set[int]] = defaultdict(set)
    for one in dialogues:
        for value in one.said:
            having[one.number % users, value].add(one.number)
    made = 0
    for one in sorted(dialogues, key=lambda one: _hash(one.session)):
        user = one.number % users
        for service in sorted(one.slots):
            question = _question(one, service, partial(_of_user, having, user))
            if question and made < most:
                made += 1
                yield question
                break


def _of_user(having: dict[tuple[int, str], set[int]], user: int, value: str) -> set[int]:
    return having[user, value]


def _question(one: Dialogue, service: str, having: Callable[[str], set[int]]) -> Question | None:
    """`having`: which of the user's dialogues have a value, or are about something."""
    chance = _hash(f"{one.session}/{service}")
    mine = _useful(one.slots[service])
    named = [slot for slot in sorted(mine) if slot in CLUES and _said(mine[slot], chance)]
    named.sort(key=lambda slot: _hash(f"{chance}{slot}"))
    latest = chance % 4 == 0
    for count in (1, 2, 3, 4):
        for clues in combinations(named, count):
            same = having(_about(service)).intersection(
                *(having(_canonical(mine[s])) for s in clues)
            )
            if same == {one.number} and not latest:
                return _worded(one, service, mine, clues, latest, chance)
            if latest and 2 <= len(same) <= 20 and max(same) == one.number:
                return _worded(one, service, mine, clues, latest, chance)
    return None


def _worded(
    one: Dialogue, service: str, mine: Slots, clues: tuple[str, ...], latest: bool, chance: int
) -> Question | None:
    asked = sorted(slot for slot in mine if slot not in clues and slot in CLASS)
    if not asked:
        return None
    answer = asked[chance % len(asked)]
    said = [
        CLUES[slot][chance % len(CLUES[slot])].format(_said(mine[slot], chance)) for slot in clues
    ]
    pattern = LATEST[chance % len(LATEST)] if latest else ASKING[CLASS[answer]]
    about = ABOUT[service][chance // 7 % len(ABOUT[service])]
    text = pattern.format(about=about, clues=" ".join(said))
    classes = {CLASS[slot] for slot in clues}
    kind = "words"
    for name, of in (("name", {"name"}), ("number", {"when", "time", "many"})):
        kind = name if classes & of else kind
    turn = one.slots[service][answer][1]
    return Question(
        text, one.session, turn, "recency" if latest else kind, _hash(one.session) % 2 == 0
    )


def _useful(slots: dict[str, tuple[str, int]]) -> Slots:
    return {slot: value for slot, (value, _) in slots.items() if value.lower() not in USELESS}


def _about(service: str) -> str:
    return f"about {ABOUT[service][0]}"


def _canonical(value: str) -> str:
    """A value in one form for all its spellings: a question must fit one dialogue alone."""
    value = value.lower()
    if day := re.search(
        r"(?:march |the |^)(\d+)(?:st|nd|rd|th)?(?: of (?:march|this month))?$", value
    ):
        return f"day or number {day[1]}"
    plain = LAST_WORDS.sub("", (_said(value, 0) or value).lower().partition(",")[0])
    return ALIKE.get(plain, plain)


def _said(value: str, chance: int) -> str | None:
    """A value in another form; None where it cannot be told apart from others."""
    if date := MONTH_DAY.fullmatch(value):
        day = int(date[1] or date[2])
        return (f"{day} March", f"2019-03-{day:02}")[chance % 2]
    if clock := CLOCK.fullmatch(value):
        hour = int(clock[1]) % 12 + 12 * (clock[3].lower() == "p")
        return f"{hour}:{clock[2] or '00'}"
    if hours := HOURS.fullmatch(value):
        hour = int(hours[1])
        return f"{hour % 12 or 12}:{hours[2]} {'pm' if hour >= 12 else 'am'}"
    if value.isdigit():
        return WORDS[int(value)] if len(value) == 1 and int(value) > 1 else None
    if re.search(
        r"\b(next|this|today|tomorrow|later|the \d+\w*|of this|morning|evening|noon)\b", value
    ):
        return None
    return LAST_WORDS.sub("", value)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def share(found: Iterable[Question]) -> Counter[str]:
    """How many questions of each kind."""
    return Counter(one.kind for one in found)
