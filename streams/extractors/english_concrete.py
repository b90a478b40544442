"""English: words by which a deed, a habit or a plan says something months later: what lives are
about. A word stands for all that begin with it ("paint": painted, painter) unless "." ends it.
"""

# ruff: noqa: E501 - a pattern that stands alone is one line

import re

from streams.extractors.patterns import either

LIFE = {
    "work": "a few talks, a raise, a shop, a talk about, app., apprentice, apps., bakery, bike "
    "shop, blog, bookshop, business, career, client, coding, company, conference, "
    "convention, endorse, engineer, franchise, freelanc, gave a talk, hired, intern., "
    "internship, job., jobs., laid off, law., laws., lawyer, newsletter, non-profit, "
    "nonprofit, notary, nurs, pension, podcast, presentation, profession, programm, "
    "promot, retire, seminar, shift., shifts., software, start-up, startup, streaming, "
    "studio., suppliers, teach, website, youtube",
    "study": "academ, aptitude test, bachelor, bar exam, certificat, class., classes., college, "
    "course, degree, diploma, driving test, exam., exams., grade., graduat, ielts., "
    "language, lesson, licen, lsat., major., master's, math, minor., novel, phd, reading and "
    "writing, sat., scholarship, school., science, semester, thesis, toefl., tuition, "
    "tutor, universit, workshop",
    "art": "accordion, acting, album, art show, art., artist, arts., ballet, band., bass., "
    "board game, book club, calligraph, cello, ceramic, chess, choir, clarinet, comic, "
    "concert, danc, drawing., drum, esport, exhibit, fair., festival, filmmak, flute, "
    "gallery, game night, gamer, gaming, guidebook, guitar, instrument, journal, "
    "landscape, museum, music, oboe, opera., orchestra, origami, paint, parade, photo "
    "shoot, photographer, photography, photoshoot, piano, poem, poet, pottery, recital, "
    "saxophone, screenplay, sculpt, sing in, singing, sketch, songwrit, talent show, "
    "theater, theatre, trumpet, ukulele, video game, violin, watercolo, writer, "
    "writing.",
    "craft": "allotment, antique, apple trees, bake., baking, beehive, beekeep, bees., brew., "
    "brewing, carpent, cheese dairy, clocks, coins., collect, cooking, crochet, crop, "
    "farm, ferment, food truck, garden, greenhouse, harvest, jewel, kimchi, knit, "
    "leather, loom, orchard, quilt, rebuil, redecorat, remodel, renovat, repaint, "
    "restor, robot, sew., sewing., soap, spreadsheets, stamp., stamps., tomatoes, "
    "tractor, trailer, typewriter, vineyard, vintage, weld, woodwork",
    "sport": "10k, 5k, aerobic, archery, athlet, award, backpack, badminton, baseball, "
    "basketball, bike., bikes., biking, boot camp, bowling, boxing, camping, canoe, "
    "championship, climb, coach, competition, contest, cook-off, cricket, crossfit, "
    "cup., cycle., cycling, dive., diving, endurance, exercise, fencing, fishing, "
    "fitness, football, golf, gym., gymnast, hike., hikes., hiking, hockey, hunting, "
    "jog, judo, karate, kayak, kickbox, league, lifting., marathon, martial, medal, "
    "meditat, physical therapy, pilates, player, prize, race., rodeo, rowing, rugby, "
    "run., runner, running, sail, scuba, skating, ski., skiing, snorkel, snowboard, "
    "soccer, sport, stay in shape, strategy games, strength, stretching, surf, swim, "
    "taekwondo, tennis, tournament, tourney, training, trampoline, trek, triathlon, "
    "trophy, volleyball, weightlift, weights, work out, workout, yoga",
    "health": "a stroke, accident, acl., adhd, alcohol, allerg, ankle, anti-depress, antidepress, "
    "anxiety, asthma, baby., bipolar, breathing exercises, calor, cancer, chemo, "
    "collarbone, counsel, covid, depression, diabet, diagnos, diet., diets., donor, "
    "drinking, eat better, eating better, elbow, fasting, fractur, health, heart "
    "attack, hip., injur, insomnia, insulin, ivf., keto., kilo, knee, lbs., meal plan, "
    "lithium, medication, meds., migraine, miscarr, operation, pounds, pregnan, processed food, "
    "ptsd, rehab, rib., ribs., salt., shoulder, smok, sober, sprain, sugar, surger, "
    "tested positive, therapy., transitioning, transplant, treatment, vaccin, vaping, "
    "vegan, vegetables, vegetarian, weight., wrist, zoloft",
    "people": "adopt, an aunt, an uncle, anniversary, apart from, baby shower, birth., birthday, "
    "boyfriend, ceremony, custody, dating, died, divorc, eloped, engaged, engagement, "
    "estate., foster, funeral, girlfriend, grandchild, grandfather's, grandmother's, "
    "honeymoon, husband, married, move in together, moved in with, orphan, partner., "
    "passed away, proposed, reunion, twins, wedding, wife.",
    "animals": "animal, aquarium, birdwatch, cat., cats., chickens, collie, corgi, dog, goat, "
    "goldfish, greyhound, hamster, hens., horse, kitten, labrador, parrot, pets., pony, "
    "poodle, pup., puppies, puppy, rabbit, retriever, sanctuary, sheep, shelter, "
    "terrier, veterin, wildlife, zoo.",
    "cause": "abuse, activis, army, bible, board of, brigade, campaign, charit, church, club., "
    "clubs., community, council, court., donat, elected, environment, faith., "
    "firefight, food bank, food drive, for office, forum, fundrais, homeless, honesty, "
    "kids in need, lgbt, libraries, mentor, military, monastic, mosque, navy, parish, "
    "pilgrimage, politic, pride., protest, punctual, religio, school board, scouts, "
    "seed swap, social cause, soup kitchen, support group, sustainab, synagogue, "
    "temple, toy drive, union., veteran, volunteer",
    "home": "abroad, apartment, backyard, balcony, bucket list, cabin., citizen, condo, "
    "cottage, deposit, emigrat, flat., green card, house., immigra, kitchen., mortgage, "
    "move to, moved into, moved to, moving, neighborhood, neighbors, neighbourhood, "
    "neighbours, passport, relocat, rent a, rented, renting, solar panels, visa.",
    "things": "3d print, boat., camera, camper, car., cars., debt., drone, e-bike, early bird, "
    "early riser, financ, flying., heights, invest, ironing, kiln, lighthouse, loan., "
    "morning person, motorbike, motorcycle, necklace, needles, night owl, public "
    "speaking, record player, savings, scooter, screen reader, sewing machine, skates, "
    "snakes, spiders, standing desk, tattoo, telescope, the dark, truck., van., vinyl",
    "travel": "balloon, bungee, castle, coast., cruise, desert, exchange year, gap year, hostel, "
    "island, mountain, national park, parachut, picnic, planetarium, retreat, "
    "sabbatical, safari, skydiv, tour of",
}  # fmt: skip
_KIND = either(
    sorted(
        {word for words in LIFE.values() for word in words.split(", ") if not word.endswith(".")}
    )
)
_WHOLE = either(
    sorted({word[:-1] for words in LIFE.values() for word in words.split(", ") if word[-1] == "."})
)
_LIFE = re.compile(rf"(?<![\w'-])(?:{_KIND}|{_WHOLE}(?![\w'-]))")
_NAME = re.compile(r"(?<=[\w,’'&] )(?!I\b|I')(?![A-Z]{5,}\b)[A-Z][\w'’]|[\"“«]")
_AMOUNT = re.compile(  # "about six coffees a day", "84 kg"
    r"\b(?:\d[\d.,]*k?|one|two|three|four|five|six|seven|eight|nine|ten|twenty)(?: (?!times|hours|days|weeks|months|years|of)[a-z]+){1,3} (?:an?|per|each|every) (?:day|night|week|month)\b"
    r"|\b\d[\d.,]* ?(?:kg|km|kilos?|lbs|pounds|miles)\b|\bat (?:\d|five|six|seven|eight|nine|ten|eleven)"
)
_THEN = re.compile(r" and (?:\w+ly )?(?:\w+ed|did|got|went|made|took|felt|saw|had|found)\b")
_PROPER = re.compile(r"[A-Z][\w'’]+(?: [A-Z][\w'’]+)*")
_WHEN = re.compile(  # it says when, how often or with whom, not what
    r"(?i:\b(?:for|since|in|on|at|over|every|each|last|this|next|by|until|around|about|just)?\s*"
    r"(?:the |early |late |past |mid )*"
    r"(?:\d{1,2}(?:st|nd|rd|th)|\d{4}|(?:mon|tues|wednes|thurs|fri|satur|sun)(?:day)?s?|"
    r"january|february|march|april|may|june|july|august|september|october|november|december|"
    r"christmas|easter|halloween|thanksgiving|covid(?:[- ]19)?|(?:\w+|\d+) (?:days?|weeks?|months?|years?)(?: ago)?)\b)"
    r"|(?i:(?<!moved in),? with (?:(?:my|our|some|the|a few|two|his|her|their) )?(?:[\w-]+ )?"
    r"(?:family|fam|kids|wife|husband|partner|girlfriend|boyfriend|dogs?|cats?|friends?|mom|mum|dad|sister|brother)\b)"
)


def is_concrete(value: str) -> bool:
    """Whether a deed, habit or plan names something or somebody, or is of a kind that lasts."""
    said = _WHEN.sub(" ", _THEN.split(value, maxsplit=1)[0])
    return bool(_NAME.search(said) or _LIFE.search(said.lower()) or _AMOUNT.search(value.lower()))


def is_proper(value: str) -> bool:
    """Whether it is a name and nothing else."""
    return _PROPER.fullmatch(value) is not None
