"""English rules: what has to be kept to. One line each (docs/extractors.md)."""

# ruff: noqa: E501 - a rule is one line, however long

from streams.extractors.rule import Rule

_LIMIT = "Requires: {value}."

_NO = (
    "no more|no meetings|no calls|no emails|no pork|no beef|no meat|no dairy|no nuts|no gluten|"
    "no sugar|no alcohol|no seafood|no fish|no emoji|no jargon|no flights|no layovers|no stairs|"
    "no pets|no smoking|no spoilers|no swearing|no external|no third|no new|no cloud|"
    "no javascript|no messages|no notifications|no caffeine|no frameworks|no dependencies|"
    "no slang|no comments|no semicolons|no docstrings|no markdown|no bullet|no libraries|no tables|"
    "no small talk|no classes|no ads|no fluff|no chicken|no mushrooms|no onions|no nuts|no eggs"
)

RULES = (
    Rule("constraint", "allergic|allergy|intoleran", r"<am> (?:<ly>)(?:allergic|intolerant) to <value>", "I'm allergic to peanuts.", "peanuts", "Is allergic to {value}.", family="health", takes="allergen"),
    Rule("constraint", "allergy|intolerance|allergies", r"i(?:'ve| have)?(?: got)?(?: have)? an? (?:<ly>)(?:(?:severe|bad|serious|mild|strong) )?(?:(?:allergy|intolerance) to (?P<value><any>)|(?P<value2>[\w -]+?) (?:allergy|intolerance))", "I have a severe allergy to shellfish.", "shellfish", "Is allergic to {value}.", family="health", takes="allergen"),
    Rule("constraint", "vegan|vegetarian|pescatarian|celiac|coeliac|intolerant|gluten|diabetic|kosher|halal|teetotal|blind|pregnant|dyslexic|deaf|hearing|keto|sober|asthma|claustro|diet", r"(?:<am>|i've been|i have been|i eat) (?:<ly>)(?:an? )?(?:strict(?:ly)? )?(?P<value><diet>)(?: (?:for|since) .+)?", "I'm vegetarian.", "vegetarian", "Is {value}.", family="diet"),
    Rule("background", "pregnant", r"<am> (?:<adverb>)*(?P<value>(?:\d+|<number>|a few) (?:weeks|months) pregnant|pregnant with (?:twins|triplets|my|our|an?|number|baby) ?(?:<any>)?|pregnant)(?: (?:and|so|again|right now|at the moment|for) ?.*)?", "I'm five months pregnant.", "five months pregnant", "Is {value}.", family="health"),
    Rule("constraint", "can't|cannot|can not|can no longer|not allowed|unable|mustn't|must not|not able", r"(?:i|we) ?(?:<ly>)<cannot> (?:<ly>)(?P<value>(?!.*\b(?:you|your|him|her|them|it)\b)<barred> <any>)(?P<why>,? because .+)?", "I can't eat anything with gluten.", "eat anything with gluten", "Cannot {value}.", family="limit"),
    Rule("constraint", "don't|do not|never|no longer", r"i (?:don't|do not|never|no longer) (?!.*(?:any ?more|<athand>))(?P<value>(?:eat|drink|fly|drive|smoke|work (?:on|after|before|past|weekends|nights)|take (?:calls|meetings)|own|have access to|consume|touch) ?(?:<any>)?)", "I don't eat meat.", "eat meat", "Does not {value}.", family="diet"),
    Rule("constraint", "i don't have|i do not have|i have no", r"i (?:don't have|do not have|have no)(?!.*<athand>)(?: an?| any| the)? (?P<value><amenity>)(?: .+)?", "I don't have a car.", "car", "Has no {value}.", family="lack"),
    Rule("constraint", "budget", r"(?:my|our|the) (?:[\w]+ )?budget(?: for <any>)? (?:<is>|is about) (?:<ly>)(?:limited to |capped at |around |about |at most |under |only |max(?:imum)? )*<value>", "My budget is 500 euros.", "500 euros", "Has a budget of {value}.", "budget", family="budget"),
    Rule("constraint", "budget", r"(?:i|we)(?:'ve| have)?(?: got| have)?(?: only)? an? (?:(?:tight|strict|total|max(?:imum)?|fixed|monthly) )*budget of (?:only |about |around )*<value>", "I have a budget of 300 dollars.", "300 dollars", "Has a budget of {value}.", "budget", family="budget"),
    Rule("constraint", "i only|we only|have only|'ve only|got only|only have|only eat|only free|only avail|only work|only drink|only use|only fly|only buy|can only", r"(?:i|we)(?: can|'ve| have|'m| am| are|'re)?(?: got)? only (?:(?:have|got|eat|drink|work|available|free|able to|use|fly|buy|wear|shop|read|speak|can) )*(?!want|need|know|care|see|like|think|say|just|gone|took|went|been|done|made|really|ever|my\b|to\b|\w+ed\b)(?P<value><amount>(?:<any>)?)", "I only have 30 minutes a day.", "30 minutes a day", _LIMIT, family="limit"),
    Rule("constraint", "only", r"<am> only (?:available|free|able to meet|reachable) <value>", "I'm only free after six.", "after six", _LIMIT, family="limit"),
    Rule("constraint", "must|needs to|has to|have to|cannot|can't|mustn't|should never", r"(?!(?:my|our) <kin>\b)<required> (?:<oughtto> (?P<value>(?:not |always |also |only |never |all )*<conform>(?: <any>)?)|(?P<value2>(?:(?:must not|mustn't|should never) <conform>|(?:cannot|can't) <overrun>)(?: <any>)?))", "It has to run on Python 3.8.", "run on Python 3.8", _LIMIT, family="limit"),
    Rule("background", "can't|cannot|can not|doesn't eat|doesn't drink|does not eat|does not drink", r"(?:my|our) (?P<value>(?:<kinmod> )*(?P<whose><kin>) <kincannot>(?! (?:it|that|this|them|you|me|up|wait|anything on|the (?:screen|page|button))\b)(?: <any>)?)", "My wife can't eat gluten.", "wife can't eat gluten", "{value}.", family="health"),
    Rule("constraint", "i have to|i must|i need to|we have to|we must|we need to|i've got to", r"(?:i|we)(?:'ve got to| have to| must| need to) (?P<value><restrain> ?<any>)", "I have to avoid salt.", "avoid salt", _LIMIT, family="limit"),
    Rule("constraint", "never|always|don't|do not|avoid|keep|stick|make sure|only|from now on|going forward|no more|stop", r"(?:please,? (?P<value><politeorder> (?!(?:it|this|that|them|anything)\b)<any>)|(?:(?:please|from now on|going forward|in future|in the future|and),? )*<fromnow>,? (?:please )?(?P<value2>(?!i\b|we\b)\w+ <any>))(?: from now on| going forward| in (?:the )?future)?", "Please always answer in English.", "always answer in English", _LIMIT, family="limit", takes="order"),
    Rule("constraint", "never|always|don't|do not|from now on|going forward|keep |should never|should always|must never|must always", r"(?P<value>(?:you )?(?:(?:should|must) (?:never|always) \w+ <any>)|<keepreplies> <any>|<everorder> <any>|<dontorder> <any>|<any> (?:from now on|going forward))", "Never schedule meetings before ten.", "Never schedule meetings before ten", _LIMIT, family="limit", takes="order"),
    Rule("constraint", _NO, r"(?P<value>no (?:more )?<unwanted>(?! (?:yet|left|so far|found|available|on my|here|there)\b)[^.!?;,]*?)(?: please)?", "No meetings before ten please.", "No meetings before ten", _LIMIT, family="limit"),
    Rule("constraint", "deadline", r"(?:(?:my|our|the) (?:\w+ )?)?deadline <is> (?:<ly>)<value>", "Our deadline is 3 March.", "3 March", "Deadline is {value}.", "deadline", family="deadline"),
    Rule("constraint", "weight limit|limit is|curfew|limited to|restricted to|at most|no more than", r"(?:(?:my|our|the) (?:\w+ )?(?:limit|curfew|cap|maximum) <is> <value>|(?:<am>|we're|we are) (?:limited|restricted|confined) to (?P<value2><any>)|(?:i|we) can (?:spend|pay|use|take|carry|lift|work) (?:at most|no more than|only|up to) (?P<value3><any>))", "I can spend at most 200 dollars.", "200 dollars", _LIMIT, family="limit"),
    Rule("constraint", "doesn't allow|does not allow|forbids|isn't allowed|bans|prohibits|aren't allowed|doesn't permit|blocks", r"(?:my|our|the) [\w' ]+? (?:doesn't allow|does not allow|doesn't permit|forbids|bans|prohibits|blocks) <value>", "My landlord doesn't allow pets.", "pets", "Is not allowed: {value}.", family="limit"),
)  # fmt: skip
