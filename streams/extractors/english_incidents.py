"""English: what somebody did or does that nobody asks about later: an incident, an errand, a text at
hand, what was planned and did not take place. And values that were cut.
"""

# ruff: noqa: E501 - a pattern that stands alone is one line

import re

from streams.extractors.patterns import any_of, words

_LASTS = r"(?!.*\b(?:dog|puppy|cat|kitten|car|house|home|apartment|job|married|engaged|proposed|diagnosed|pregnant)\b)"
_FOUND = words(
    "job, position, work, apartment, flat, house, home, place, roommate, flatmate, partner, husband, wife, boyfriend, "
    "girlfriend, therapist, doctor, lawyer, tumor, tumour, lump, calling, church, father, mother, family, sponsor, school"
)
_FOOD = words(
    "burger, sandwich, pizza, chocolate, chocolates, candy, ice cream, snack, snacks, coffee, tea, lunch, dinner, breakfast, "
    "brunch, groceries, paella, soup, salad, pasta, tacos, sushi, noodles, steak, wings, fries, donut, donuts, gift, gifts, present, presents"
)
_BUSY = words(
    "swimming, running, jogging, bowling, biking, cycling, shopping, walking, hiking, camping, fishing, skiing, surfing, "
    "dancing, skating, climbing, kayaking, clubbing, drinking"
)
_THAT_DAY = words(
    "today, yesterday, tonight, this morning, this afternoon, this evening, last night, the other day, the other night, "
    "last weekend, this weekend, last week"
)
_TEXT = words(
    "campaign, ad, ads, advert, prompt, calendar, caption, captions, post, posts, email, emails, copy, script, table, report, outline, "
    "article, essay, spreadsheet, chart, slide, slides, headline, slogan, landing page, paragraph, summary, letter, document, "
    "query, function, dataset, persona, quiz, lesson plan, worksheet, infographic, brochure, flyer, newsletter, case study"
)
INCIDENT = re.compile(
    any_of(
        rf"(?:found|saw|spotted|noticed|came across|discovered) (?!out\b)(?!(?:[\w'-]+ ){{0,4}}?{_FOUND}\b)(?:an?|the|my|our|some|two|three|\d+) .*",
        rf"(?:went|drove|walked|ran|stopped|popped) .*\band (?:got|bought|ate|had|ordered|tried|grabbed|picked up|felt)\b{_LASTS}.*",
        r"went to (?:go )?(?:grab|get|buy|pick|return|fetch)\b.*",
        r"went to (?:an?|the|my|our|some) (?:[\w-]+ )*?(?:store|shop|supermarket|market|mall)\b.*",
        r"went to (?:therapy|counseling|counselling|bed|court|town)(?: .*)?",
        r"(?:got|came) back from (?:[\w-]+ )*?(?:ride|run|running|walk|walking|jog|swim|swimming|lessons?|practice|coaching|shopping|class|rehearsal|errands)\b.*",
        rf"went {_BUSY}(?: with (?:my|our|some|a) [\w-]+| for (?:a|the) [\w-]+| {_THAT_DAY}| and the .*)*",
        rf"went (?:{_BUSY}|for an? [\w-]+|on an? [\w-]+) .*\b{_THAT_DAY}",
        r"(?:rode|drove|walked) (?:(?:my|a|the|our) (?:bike|bicycle|scooter|car) )?to (?:work|school|class)\b.*",
        r"took (?:my|our|the) (?:dogs?|puppy|cat)\b.*\b(?:park|walk|beach|groomer)\b.*",
        r"(?:had|got) (?:an? )?(?:flat|speeding ticket|parking ticket)\b.*",
        r"got (?:my|our|the|an?) (?:[\w-]+ )*?(?:bill|receipt|tires?|tyres?|brakes|oil|windshield|hair|nails)\b.*",
        r"got (?:my|our|the) (?:dogs?|cats?|kids?|children) (?:all|to|out|ready|into)\b.*",
        r"(?:repainted|painted|washed|waxed|cleaned|vacuumed) (?:my|our|the) (?:car|van|truck|bike|fence|door|walls?)\b.*",
        rf"(?:bought|got|gave|received|ate|ordered|cooked|finished|tried) (?:[\w'-]+ )*?{_FOOD}\b(?!.*\b(?:shop|business|company|truck)\b).*",
        r"finished (?:cooking|eating|washing|a (?:cup|glass|bottle))\b.*",
        r"had (?:an?|the|my|another) (?:[\w-]+ )?(?:dream|nightmare)\b.*",
        r"had (?:an?|the|another|our|my) (?:[\w-]+ )?(?:argument|fight|row|quarrel|disagreement|spat|debate)\b(?! with (?:cancer|depression|addiction)).*",
        rf"(?:had|took) (?:an?|the|my|our) (?:[\w-]+ ){{0,2}}(?:exam|test|quiz|presentation|meeting|lecture)(?: (?:for|at|in) [\w ]+?)? {_THAT_DAY}",
        r"finished (?:an?|the|my|our) (?:[\w-]+ )*?(?:assignment|task)s?\b.*",
        r"started (?:watching|listening to|unearthing|cleaning|drinking water|reading)\b.*",
        r"(?:read|learned|heard) (?:[\w-]+ ){0,3}?about an? \w+ who\b.*",
        r"spent (?:the|an?|last|this|my) (?:[\w-]+ )*?(?:weekend|evening|afternoon|morning|night)\b.*",
        r"(?:wandered|stumbled|bumped|drifted|strolled|climbed the)\b.*",
        r"(?:drew|pulled|picked|played) (?:the|an?|my) (?:[\w-]+ )*card",
        r"beat (?:the )?(?:level|boss|stage|game)\b.*",
        # thin: which job, which prize, where to
        rf"went to (?:an?|the|my|our|some) (?:(?:rock|jazz|pop|metal|music|live|big|great|local|little|small|birthday|house|costume) )*(?:concert|party|museum|zoo|movies?|caf[eé]|show|game|club|bar|parade|picnic|convention|festival|fair)s?(?: with (?:my|our|some|a) [\w ]+)?(?: {_THAT_DAY})?",
        r"applied (?:for|to) (?:(?:an?|the|some|several|many|few|new|better|different|\d+|\w+ly) )*(?:jobs?|positions?|promotions?|roles?|credit cards?)\b(?!.* (?:at|with|as) ).*",
        r"(?:had|got|went (?:to|on)) (?:an?|my|another) (?:[\w-]+ )?interview\b(?!.* (?:at|with|as|for an?) ).*",
        r"(?:created|updated|finished|sent) (?:an?|my) (?:cv|resume|résumé)\b.*",
        r"finished (?:the|an?|my) (?:[\w-]+ )?(?:formula|equation|homework|worksheet)\b.*",
        r"(?:started|began) doing (?:more|some|a lot of)\b.*",
        r"won (?:a|the|some|my|our) (?:[\w-]+ )?(?:prize|game|match|bet|argument|contest)",
        r"moved to (?:another|an? (?:new|different)) (?:country|state|city|town|place|area)(?: .*\b(?:ago|back|recently|year|month|week))?",
        r"visited (?:my|the|our) (?:[\w-]+ )?campus\b.*|left school|went missing",
        # of a company, not of somebody
        r"(?:hired|appointed|recruited) (?!(?:[\w-]+ )*?(?:lawyer|attorney|nanny|nurse|tutor|coach|therapist|carer|caregiver|babysitter|solicitor)\b)(?:an?|the|some|two|three|several|\d+) .*",
        r"(?:built|opened|launched|installed|introduced) (?:the|an?|our) .*\bfor (?:the |our |all )?(?:workers|staff|employees|customers|clients|guests|visitors)\b.*",
        r".*\b(?:last year's|advertising campaign)\b.*",
    )
)
"""Of a deed: of one day, and without consequence."""
_LASTING = any_of(
    "died|dies|passed|born|birth|baby|married|wedding|engaged|divorc\\w*|diagnos\\w*|pregnan\\w*|surgery|hospital\\w*|accident|arrest\\w*",
    "graduat\\w*|deploy\\w*|mov(?:ed|es|ing)|cancer|stroke|heart|job|left|leaves|college|university|promot\\w*|retir\\w*|fired|broke",
)
OF_A_DAY = re.compile(  # of people and pets
    any_of(
        rf"(?!.*\b{_LASTING}\b).*\b{_THAT_DAY}\b.*",
        rf"(?!.*\b{_LASTING}\b).*\b(?:(?:has been|got|is|was) (?:very |really |so )?sick|had (?:an?|(?:his|her|their) \w+) birthday|peed|pooped|vomited|threw up|received a call|goes? to (?:my|our))\b.*",
    )
)
"""What they did or had that day, and what is over in a week."""
_SERVED = any_of(
    "\\w*burger|pizza|cookie|dessert|lemonade|frie|coke|coffee|tea|soda|water|milk",
    "salad|sandwich|combo|wrap|taco|burrito|nugget|pasta|soup|steak|meal",
)
ORDERED = re.compile(  # of a like: a dish with its number, what to do with it, a half sentence
    any_of(
        r"(?:prefer|order|get|choose|customi[sz]e|and|for|today|tomorrow|tonight) .*",
        r".*\band (?:watch|play|visit|want|enjoy|miss|listen)ed\b.*",
        r"1 (?:[a-z-]+ ){0,4}[a-z-]+|[2-9] (?:[a-z-]+ ){0,4}[a-z-]+s|meat eater(?: pizza)?",
        rf"(?:[a-z-]+ )*{_SERVED}s? \d",
        r"my (?:wife|husband|girlfriend|boyfriend|partner)\b.*|the (?:word|pressure)",
    )
)
NO_NAME = re.compile(r"(?:mr|mrs|ms|dr|miss|sir|madam|ma'am)\.?")
TOO_MANY = re.compile(r"(?:[3-9]\d|\d{3,}) .*")
"""Of a household."""
SELF_REPROACH = re.compile(
    r"(?:kill|hurt|harm) (?:myself|ourselves)\b.*|(?:be dead|die|not (?:be alive|exist|live))\b.*|"
    r"(?:an? )?(?:[\w-]+ )?(?:failure|mess|burden|loser|disappointment|disgrace)\b.*|"
    r".*\b(?:rn|right now)\b.*"
)
"""Of who somebody is: what they say in despair, think of themselves, or are today."""
NO_HOME = re.compile(r"st|.*\b(?:im|i'm)\b.*|.* in \d\d")
DID_NOT = re.compile(  # of a deed or plan
    any_of(
        r"(?:had|have) (?:.* )?planned\b.*",
        r".*\b(?:was|were|got|been|is) (?:cancell?ed|rained (?:off|out)|snowed (?:off|out)|called off|postponed|scrapped)\b.*",
        r".*\b(?:didn't|did not|never) (?:get to|go|happen|take place|work out|make it)\b.*",
    )
)
"""What did not take place."""
AT_HAND = re.compile(  # of a habit, plan or goal: the text that is to be written, without its title
    rf"(?!.*\b(?:en)?titled\b)(?:(?:is|been|wants?|needs?|like|trying|going|planning|hoping|to|working on|now|currently) )*(?:creat|writ|mak|build|generat|draft|develop|design|prepar|launch)(?:e|ing) (?:an?|the|some|my|our|this|two|three|\d+) (?:[\w'-]+ )*?{_TEXT}\b.*"
)
_HALF = words(  # of what, somebody who went on after a comma says
    "abusive, toxic, old, new, big, small, little, large, huge, long, short, young, good, bad, nice, great, kind, loving, supportive, "
    "controlling, violent, jealous, selfish, narcissistic, manipulative, cheap, expensive, beautiful, lovely, cute, tiny, "
    "quiet, noisy, busy, boring, strict, crazy, sweet, gentle, shy, sick, elderly, serious, severe, very, really, quite, fairly, extremely"
)
CUT_OFF = re.compile(  # "with an abusive" (of "an abusive, mean roommate"), "quite a few pounds since"
    any_of(
        rf".*\b(?:an?|my|our|two|three|some) (?:(?:very|really|so|quite|rather) )?(?:{_HALF}|[\w-]+(?:ous|ful|less))",
        r".*\b(?:an?|the|my|our|of|and|or|than|very|really|which|who|whose|into|your|because|since|until|as soon|that)",
        r".*\b(?:i've|i have|we've|we have) (?:had|got|been)(?: (?:for|to|with))?",
        r"\w+ (?:too|also|either|as well)",
        r".*\w (?:i|we) (?:need|want|can't|cannot|think|feel|don't|guess|hope)\b.*",
        r"with any\b.*",
        r".*\b(?:an?|the|my|our) (?:[\w-]+ )?(?!live)[\w-]+ in",
        r".*\b(?:week|month|year|day|night|time|job) (?:i|we|they) (?:was|were|am|are|had|got|felt)\b.*",
    )
)
"""What lacks its end, or another sentence's beginning is left on it."""
NOT_OWNED = re.compile(  # of a thing: booked, or of whom one talks to
    r".*\b(?:your|flights?|booking|reservation|tickets?|appointment|reserved|booked)\b.*|uses? (?:poetry|words|logic|humou?r|public .*)"
)
NO_ERRAND = re.compile(  # of a task done: nobody knows which
    r"(?:(?:two|three|four|five|\d+|all|some|first|new|plane|movie|train|bus) )*(?:tickets?|bills|seats?|rooms?|car|house|home|dog|cat|lunch|dinner|semester|movies?|shows?|games?|seasons?)|.*\b(?:packs?|episodes?|seasons?) of .*|.* in (?:an?|the) short (?:amount|time|period)\b.*"
)
NO_LIMIT = re.compile(
    r"(?:fit|run|work|bind|match|pass|stay|support|remain|comply|cost|be)|(?:fell|broke|paid|left|lost|ended) .*|.*\b(?:too much|to the moon|or (?:i|we)(?:'d| would)|rest paid)\b.*"
)
OF_OTHERS = re.compile(r"(?:an? )?(?:weakness|business|class|passion|thing|soft spot)\b.*")
"""Of a household: what is none of it."""
MUSED = re.compile(  # of what matters to somebody: a thought, or what others tried once
    r"(?:(?:the )?(?:remembering|thinking|seeing|hearing|reading|watching|being|circumstances?)\b.*|.*\b(?:wanted|tried|looking) to\b.*|.*\bonce)"
)
TWO_AT_ONCE = re.compile(  # of who somebody is: two answers to what was asked
    r".*\bnumber is\b.*|an? (?:very|really|pretty|top) .*|.*\band (?:(?:my|the) )?(?:booking|order|account|password|phone|confirmation|e-?mail|address|number|zip|pin|reference)\b.*"
)
NO_CONTRAST = re.compile(  # of a correction: two things, or a sentence
    r"(?:\S+ ){6,}\S+|.*\band (?:drive|ride|live|work|have|own|am|i)\b.*|.*\b(?:i|we|they) (?:had|have|was|were|would)\b.*"
)
