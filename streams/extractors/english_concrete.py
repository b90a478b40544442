"""English: words by which a deed, a habit or a plan says something months later: what people's lives
are about. A word stands for all that begin with it ("paint": painted, painter) unless "." ends it.
"""

import re

from streams.extractors.patterns import either

LIFE = {
    "work": "job., jobs., career, promot, a raise, intern., internship, apprentice, hired, laid off, "
    "business, company, startup, start-up, bakery, bookshop, a shop, bike shop, app., apps., studio., freelanc, client, "
    "retire, profession, nonprofit, non-profit, seminar, conference, convention, endorse, "
    "franchise, law., laws., lawyer, nurs, teach, engineer, programm, coding, software, website, "
    "blog, podcast, streaming, youtube, newsletter, gave a talk, a talk about, a few talks, promoted, "
    "presentation, shift., shifts., notary, suppliers, pension",
    "study": "degree, diploma, thesis, phd, master's, bachelor, universit, college, course, class., "
    "classes., lesson, tutor, scholarship, graduat, semester, workshop, certificat, licen, language, "
    "driving test, aptitude test, bar exam, exam., exams., major., tuition, science, math, academ, "
    "apprenticeship, school., grade., reading and writing, novel, novels, sat., lsat., ielts., toefl.",
    "art": "paint, drawing., sketch, pottery, ceramic, sculpt, photography, photographer, photo shoot, "
    "photoshoot, exhibit, gallery, museum, art., arts., artist, music, songwrit, album, band., choir, "
    "orchestra, concert, recital, instrument, guitar, piano, violin, cello, drum, accordion, "
    "saxophone, clarinet, ukulele, flute, trumpet, bass., oboe, danc, ballet, singing, sing in, "
    "theatre, theater, acting, filmmak, screenplay, writing., writer, poem, poet, novel, comic, opera., "
    "festival, fair., parade, art show, talent show, quilt show, watercolo, landscape, calligraph, "
    "origami, chess, board game, game night, gaming, gamer, video game, esport, journal, book club, guidebook",
    "craft": "knit, sewing., sew., quilt, crochet, weld, carpent, woodwork, restor, renovat, remodel, redecorat, "
    "repaint, rebuil, garden, allotment, greenhouse, orchard, vineyard, harvest, bake., baking, cooking, "
    "brewing, brew., ferment, bees., beekeep, beehive, farm, crop, tractor, leather, jewel, robot, "
    "typewriter, clocks, vintage, antique, stamp., stamps., coins., collect, food truck, loom, tomatoes, apple trees, "
    "cheese dairy, kimchi, soap, fishing boat, spreadsheets, trailer",
    "sport": "sport, strategy games, yoga, pilates, gym., boxing, kickbox, karate, judo, taekwondo, martial, fitness, workout, "
    "work out, weights, lifting., weightlift, crossfit, aerobic, gymnast, run., running, runner, jog, marathon, 5k, "
    "10k, triathlon, race., hike., hikes., hiking, trek, climb, mountaineer, camping, swim, surf, "
    "diving, dive., scuba, snorkel, ski., skiing, snowboard, skating, sail, rowing, kayak, canoe, fishing, hunting, "
    "cycling, cycle., bike., bikes., biking, basketball, football, soccer, baseball, tennis, "
    "badminton, volleyball, hockey, golf, cricket, rugby, fencing, archery, bowling, league, "
    "tournament, tourney, championship, competition, contest, trophy, medal, prize, award, coach, "
    "athlet, trampoline, rodeo, player, meditat, strength, endurance, physical therapy, stretching, exercise, "
    "training, backpack, cook-off, cup., boot camp, stay in shape",
    "health": "health, diet., diets., meal plan, calor, vegan, vegetarian, processed food, sugar, salt., smok, "
    "vaping, alcohol, drinking, sober, therapy., counsel, diagnos, surger, operation, treatment, chemo, "
    "medication, meds., antidepress, anti-depress, zoloft, insulin, transplant, donor, rehab, injur, sprain, fractur, "
    "ankle, knee, wrist, collarbone, shoulder, elbow, hip., rib., ribs., accident, a stroke, heart attack, "
    "cancer, diabet, asthma, anxiety, depression, adhd, ptsd, bipolar, migraine, insomnia, covid, "
    "miscarr, pregnan, ivf., baby., vaccin, allerg, kilo, kilos., pounds, lbs., fasting, transitioning, keto., "
    "weight., tested positive, acl., breathing exercises, vegetables, eating better, eat better",
    "people": "married, wedding, engaged, engagement, honeymoon, divorc, custody, adopt, foster, birth., twins, "
    "reunion, funeral, anniversary, birthday, passed away, died, proposed, grandchild, "
    "orphan, dating, eloped, baby shower, move in together, moved in with, estate., grandfather's, grandmother's, "
    "an uncle, an aunt, ceremony, partner., girlfriend, boyfriend, husband, wife., apart from",
    "animals": "dog, dogs., pup., puppy, puppies, cat., cats., kitten, horse, pony, hens., chickens, goat, sheep, "
    "rabbit, parrot, goldfish, birdwatch, aquarium, animal, veterin, greyhound, labrador, "
    "retriever, collie, corgi, poodle, terrier, wildlife, sanctuary, zoo., shelter, hamster, pets.",
    "cause": "volunteer, charit, fundrais, donat, food drive, toy drive, soup kitchen, food bank, homeless, "
    "veteran, community, campaign, activis, politic, for office, elected, council, protest, lgbt, pride., "
    "church, mosque, temple, synagogue, faith., religio, bible, pilgrimage, military, army, navy, "
    "brigade, firefight, union., mentor, support group, school board, environment, sustainab, court., board of, "
    "club., clubs., forum, scouts, seed swap, social cause, kids in need, monastic, libraries, abuse, honesty, punctual, parish",
    "home": "house., apartment, flat., condo, cabin., cottage, farmhouse, mortgage, deposit, rented, "
    "renting, rent a, moved to, moved into, moving, move to, relocat, emigrat, immigra, kitchen., balcony, backyard, solar panels, "
    "neighbourhood, neighborhood, neighbours, neighbors, citizen, visa., green card, passport, abroad, bucket list",
    "things": "car., cars., van., camper, motorbike, motorcycle, scooter, boat., truck., e-bike, camera, "
    "telescope, drone, 3d print, sewing machine, record player, vinyl, kiln, tattoo, necklace, skates, cameras, "
    "night owl, early bird, early riser, morning person, heights, flying., spiders, snakes, needles, the dark, public speaking, ironing, standing desk, screen reader, financ, debt., loan., invest, savings, lighthouse",
    "travel": "cruise, castle, national park, mountain, island, desert, coast., safari, hostel, retreat, "
    "picnic, exchange year, gap year, sabbatical, balloon, parachut, skydiv, bungee, tour of, pilgrimage, planetarium, aquarium",
}
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
