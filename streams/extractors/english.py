"""Rules for English: one line each, tried in this order; the first that fits a clause wins."""

# ruff: noqa: E501 - a rule is one line, however long

import re

from streams.extractors.engine import Language, Rule, either

# within a clause: a comma or a dot is not its end inside a number, a name or an initial
_ANY = r"(?:[^.,!?;:]|\.(?=\d|(?:js|net|com|org|io|py|go|csv|json)\b)|(?<=[ .][a-z])\.|(?<=\d)[,:](?=\d))+?"

WORDS = {
    "value": rf"(?P<value>{_ANY})",
    "any": _ANY,
    "old": rf"(?P<old>{_ANY})",
    "why": r"(?:,? (?:because|since|as|so that|given that|due to) (?P<why><any>))?",
    "am": r"i(?:'m|m| am)",
    "we": r"(?:i|we)(?:'ve|ve| have)?",
    "adverb": r"(?:really|absolutely|also|just|still|always|do|truly|especially|generally|usually|"
    r"particularly|mostly|personally|genuinely|totally|simply|completely|honestly|actually|quite|"
    r"definitely|typically|normally|currently|now|already|finally|recently|both|strongly|much|"
    r"only|severely|highly|mildly|deathly|kind of|pretty|very|a bit|so) ",
    "ly": "(?:<adverb>)*",
    "anymore": r"(?: (?:any ?more|any longer|now))?",
    "but": r"(?:\s*[,.;:–—-]+\s+|\s+(?=(?:but|and|so|instead|now)\b))(?:(?:but|and|so|nowadays|now|instead|"
    r"rather|today|these days|currently|actually|it's|its|it is|make it|make that|"
    r"as of \w+|i mean|please),?\s+)*",
    "is": r"(?:is|are|was|has been|will be|=|:)",
    "day": r"(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    "when": r"(?:(?:by|before|until|till|due|no later than|first thing|on (?=\d|<d>|the \d))\b.+|tomorrow\b.*|tonight|today|soon|asap|.*\b(?:<d>|tomorrow|tonight|today|"
    r"this (?:week|weekend|month|evening|afternoon)|next (?:week|month|year))\b.*)",
    "kin": r"(?:wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|son|daughter|mother|mom|mum|"
    r"father|dad|brother|sister|(?:eld|old|young)\w+ (?:son|daughter|brother|sister)|baby|dog|cat|"
    r"puppy|kitten|parrot|hamster|rabbit|pet|roommate|best friend)",
    "post": r"(?:[\w-]+ ){0,3}?(?:nurse|teacher|student|developer|engineer|programmer|designer|writer"
    r"|manager|lawyer|doctor|dentist|vet|chef|cook|baker|driver|pilot|farmer|accountant|architect"
    r"|analyst|artist|author|editor|journalist|musician|photographer|translator|consultant|"
    r"researcher|scientist|professor|lecturer|tutor|freelancer|entrepreneur|founder|owner|"
    r"carpenter|electrician|plumber|mechanic|technician|librarian|paramedic|firefighter|"
    r"policeman|officer|soldier|intern|resident|postdoc|admin|administrator|secretary|"
    r"receptionist|bartender|waiter|waitress|barista|cashier|clerk|retiree|widow|widower|parent|"
    r"mother|father|mom|dad|grandmother|grandfather|beekeeper|gardener|coach|trainer|therapist|"
    r"counsell?or|psychologist|pharmacist|surgeon|midwife|economist|biologist|chemist|physicist|"
    r"mathematician|historian|statistician|contractor|builder|welder|tailor|hairdresser|sailor|"
    r"immigrant|expat|native speaker|veteran|nanny|actor|actress|dancer|singer|violinist|pianist|"
    r"guitarist|drummer|potter|painter|sculptor|only child|twin|introvert|extrovert|planner|"
    r"recruiter|salesperson|salesman|realtor|broker|trader|banker|auditor|paralegal|judge|"
    r"producer|director|supervisor|operator|worker|specialist|lead|major|graduate|sophomore|"
    r"freshman|junior|senior|homemaker|housewife|caregiver|volunteer|pastor|priest|monk|"
    r"geologist|botanist|zoologist|ecologist|neurologist|cardiologist|radiologist|optician|"
    r"tester|sysadmin|dba|novelist|poet|illustrator|animator|copywriter|marketer|blogger)"
    r"(?: .+)?",
}
WORDS["when"] = WORDS["when"].replace("<d>", WORDS["day"])

_DIET = r"(?:vegan|vegetarian|pescatarian|celiac|coeliac|lactose[- ]intolerant|gluten[- ](?:free|"\
    r"intolerant)|diabetic|kosher|halal|teetotal|(?:color|colour)[- ]?blind|pregnant|dyslexic|"\
    r"hard of hearing|deaf|blind|keto|sober|asthmatic|claustrophobic|on a .+ diet)"  # fmt: skip
WORDS["diet"] = _DIET
WORDS["cannot"] = r"(?:can't|cannot|can not|can no longer|must not|mustn't|am not allowed to|"\
    r"am unable to|'m not allowed to|'m unable to|am not able to|'m not able to|may not)"  # fmt: skip

_LIKES = "The user likes {value}."
_DISLIKES = "The user does not like {value}."
_LIMIT = "The user's constraint: {value}."
_ABOUT = "About the user: {value}."
_DECIDED = "The user decided: {value}."
_TASK = "The user has to do: {value}."
_DONE = "The user has done: {value}."

RULES = (
    # --- corrections: what was, and what is instead ------------------------------------------
    Rule("background", "live", r"i (?:don't|do not|no longer) live in <old><anymore><but>(?:<am> (?:in|based in)|i(?:'ve| have)? (?:now )?(?:live in|moved to|live over in)) <value>", "I don't live in Oslo any more, I live in Bergen.", "Bergen", "The user lives in {value}.", "home"),
    Rule("background", "used to live|used to be based", r"i used to (?:live|be based) in <old><but>(?:<am> (?:living |based )?in|i(?:'ve)? (?:live in|moved to)) <value>", "I used to live in Oslo, now I'm in Bergen.", "Bergen", "The user lives in {value}.", "home"),
    Rule("background", "live|moved|based", r"(?:<am> (?:now )?(?:based|living)|i (?:now )?live) in <value>,? (?:now,? )?(?:not|no longer|instead of|rather than) (?:in )?<old>", "I live in Bergen now, not Oslo.", "Bergen", "The user lives in {value}.", "home"),
    Rule("background", "moved|relocated", r"(?:i|we)(?:'ve| have)? <ly>(?:moved|relocated) (?:away )?from (?!chapter|page|step|line|the\b|\d)<old> to <value>", "I moved from Oslo to Bergen.", "Bergen", "The user lives in {value}.", "home"),
    Rule("background", "work", r"i (?:don't|do not|no longer) work (?:at|for) <old><anymore><but>(?:<am> (?:at|with)|i(?:'ve| have)? (?:now )?(?:work (?:at|for)|moved to|joined)) <value>", "I no longer work at Acme, I'm at Globex now.", "Globex", "The user works at {value}.", "employer"),
    Rule("background", "not |no longer", r"(?:<am>|i was) (?:not|no longer) an? <old><anymore><but>(?:<am> (?:now )?|i(?:'ve)? (?:became|now work as) )(?:an? )?<value>", "I'm no longer a nurse, I'm a teacher now.", "teacher", "The user is: {value}.", "job"),
    Rule("background", "name|call me", r"(?:please )?(?:(?:my name is(?: spel\w+)?|call me|i go by) <ly><value>,? (?:now,? )?(?:not|instead of|rather than) <old>|(?:don't|stop|do not) call(?:ing)? me (?P<old2><any>)<anymore><but>(?:please )?(?:call me|i go by|use) (?P<value2><any>))", "Call me Sam, not Samuel.", "Sam", "The user wants to be called {value}.", "name"),
    Rule("preference", "favo", r"my (?:new )?favou?rite (?P<topic>[\w ]+?) (?:is|are) (?:<adverb>|no longer )*<value>,? (?:now,? )?(?:not|no longer|instead of|rather than) <old>", "My favourite drink is tea now, not coffee.", "tea", "The user's favourite {topic}: {value}.", "favourite {topic}", "like"),
    Rule("preference", "favo", r"my favou?rite (?P<topic>[\w ]+?) (?:isn't|is not|is no longer|used to be|was) <old><anymore><but>(?:(?:that|it)(?:'s| is) (?:now )?)?<value>", "My favourite drink isn't coffee any more, it's tea.", "tea", "The user's favourite {topic}: {value}.", "favourite {topic}", "like"),
    Rule("preference", "don't|do not|no longer|stopped", r"(?:i|we) (?:don't|do not|no longer|stopped|'ve stopped|have stopped) <ly>(?:like|love|enjoy|prefer|drink|drinking|eat|eating|use|using|liking|play|playing|read|reading|watch|watching|listen to) <old><anymore><but>(?:i(?:'d)? <ly>(?:like|love|enjoy|prefer|drink|eat|use|play|read|watch|listen to|switched to|go for)|switched to|we (?:use|switched to)|we're on|<am> <ly>(?:into|a fan of)) <value>", "I don't drink coffee any more, I prefer green tea.", "green tea", _LIKES, polarity="like"),
    Rule("preference", "used to", r"i used to <ly>(?:like|love|enjoy|prefer|drink|eat|use|play|adore) <old><but>i(?:'ve)? <ly>(?:like|love|enjoy|prefer|drink|eat|use|play|switched to|find i prefer|moved to|adore) <value>", "I used to love coffee, but now I prefer tea.", "tea", _LIKES, polarity="like"),
    Rule("preference", "used to", r"i used to <ly>(?:like|love|enjoy|adore) <value><but>(?:i (?:don't|do not|no longer|can't stand|hate)(?: (?:like|love|enjoy|it|them|that|so much|any ?more|any longer|now))*|not)", "I used to love horror films but I don't any more.", "horror films", _DISLIKES, polarity="dislike"),
    Rule("decision", "switched|migrated", r"(?:i|we)(?:'ve| have)? <ly>(?:switched|migrated)(?: over| (?:my|our|the) (?:database|stack))? from (?!chapter|page|step|line)<old> to <value>", "We switched from MySQL to Postgres.", "Postgres", "{value} instead of {old}."),
    Rule("correction", "switched|changed|moved|migrated|gone|went", r"(?:i|we)(?:'ve| have)? <ly>(?:switched|changed|moved|migrated|gone|went)(?: (?:over|(?:my|our|the) (?:date|meeting|time|deadline|appointment|flight|booking|event|party|call|database|stack|team|office|wedding|plan|bank|doctor|gym|diet|job|provider)))? from (?!chapter|page|step|line)<old> to <value>", "We moved the meeting from Monday to Tuesday.", "Tuesday", "{value} instead of {old}."),
    Rule("correction", "switched|changed|change|moved|update|correct|move |pushed|rescheduled|shifted", r"(?:(?:please )?(?:change|update|correct|move) )?(?:my|our|the) (?!file|code|colou?r)(?P<topic>[\w ]{2,30}?)(?: (?:(?:has|was|is|got)(?: been)? )?(?:moved|changed|switched|pushed(?: back)?|rescheduled|updated|shifted))? from <old> to <value>", "My flight was moved from Monday to Tuesday.", "Tuesday", "The user's {topic}: {value}.", "my {topic}"),
    Rule("correction", ", not |instead of|rather than|no longer| now not", r"(?:my|our|the) (?P<topic>[\w' ]{2,30}?) (?:is|are) (?:(?:now|actually|really) )*<value>,? (?:now,? )?(?:not|no longer|instead of|rather than) <old>", "The deadline is Thursday, not Friday.", "Thursday", "The user's {topic}: {value}.", "my {topic}"),
    Rule("correction", "is not |isn't|aren't|are not |'s not |no longer", r"(?:my|our|the) (?P<topic>[\w' ]{2,30}?) (?:is|are|'s)(?: not|n't| no longer) (?!\w+ing\b)<old><anymore><but>(?:it|they|that)(?:'s| is|'re| are) (?:now |actually )*<value>", "My budget isn't 500 any more, it's 800.", "800", "The user's {topic}: {value}.", "my {topic}"),
    Rule("background", ", not ", r"<am> (?:now |actually )*(?P<value>\d{1,3})(?: years old)?,? not (?P<old>\d{1,3})", "I'm 35, not 53.", "35", "The user is {value} years old.", "age"),
    Rule("background", ", not ", r"(?:i (?:now |actually )*live|<am> (?:now |actually )*(?:based|living)) in <value>,? not (?:in )?<old>", "I actually live in Bergen, not Oslo.", "Bergen", "The user lives in {value}.", "home"),
    Rule("background", ", not ", r"i (?:now |actually )*work (?:at|for) <value>,? not (?:at |for )?<old>", "I work at Globex, not Acme.", "Globex", "The user works at {value}.", "employer"),
    Rule("correction", ", not ", r"(?:<am>|i was born in|i was born on|i speak|i study|i have) (?:now |actually )*<value>,? not <old>", "I was born in Bergen, not Oslo.", "Bergen", "{value} instead of {old}."),
    Rule("preference", ", not |instead of", r"i (?:<ly>)(?:prefer|like|love|drink|use|eat) <value>(?: now| these days)?,? (?:not|instead of) <old>", "I drink oat milk now, not soy.", "oat milk", _LIKES, polarity="like"),
    Rule("correction", "it's not|it is not", r"(?:it's|it is) not (?!an?\b|the\b|that\b|just\b|about\b|\w+ing\b|my\b|your\b|like\b|not\b)<old><but>(?:it's |it is )?(?!an?\b|the\b|that\b|just\b|about\b|\w+ing\b|my\b|your\b|like\b|not\b)<value>", "It's not Anna, it's Hanna.", "Hanna", "{value} instead of {old}."),
    Rule("correction", "any more|anymore|any longer", r"(?:it's |that's )?not <old> (?:any ?more|any longer)<but><value>", "Not Tuesday any more, Wednesday.", "Wednesday", "{value} instead of {old}."),
    Rule("correction", "i mean|i should have said|make that", r"(?:i (?:meant|mean|should have said)|make that) <value>,? (?:and )?(?:not|instead of|rather than) <old>", "I meant the red one from Bergen, not Oslo.", "the red one from Bergen", "{value} instead of {old}."),
    Rule("correction", "i mean", r"not <old><but>i (?:meant|mean) <value>", "Not Tuesday, I meant Wednesday.", "Wednesday", "{value} instead of {old}."),
    Rule("correction", "it's|it is|should be", r"(?:it's|it is|it should be|that should be) (?:actually |now )?(?!an?\b|the\b|that\b|just\b|about\b|\w+ing\b|my\b|your\b|like\b|not\b)<value>,? not <old>", "It's actually Thursday, not Friday.", "Thursday", "{value} instead of {old}."),
    Rule("correction", "changed my mind|change of plan", r"(?:i(?:'ve| have)? changed my mind|change of plans?)<but>(?:(?:i(?:'ll| will|'d rather| want to)|we(?:'ll| will)|let's) (?:go with|use|take|have|do) )?<value>,? (?:instead of|rather than|not) <old>", "I changed my mind, let's use Postgres instead of MySQL.", "Postgres", "{value} instead of {old}."),
    Rule("constraint", "no longer|any ?more|anymore|not ", r"<am> (?:no longer|not) (?P<old><diet>)<anymore><but>(?:<am> )?(?:<ly>)(?P<value>[\w -]+?)", "I'm no longer vegetarian, I'm vegan.", "vegan", "The user is {value}.", "diet"),

    # --- preferences --------------------------------------------------------------------------
    Rule("preference", "favo", r"my (?P<least>least )favou?rite (?P<topic>[\w ]+?) <is> <value>", "My least favourite vegetable is celery.", "celery", "The user's least favourite {topic}: {value}.", "disliked {topic}", "dislike"),
    Rule("preference", "favo", r"my (?:all-time |absolute |current |new )?favou?rite (?P<topic>[\w ]+?) (?:<is>|has to be|would be) (?:<ly>)<value>", "My favourite colour is dark green.", "dark green", "The user's favourite {topic}: {value}.", "favourite {topic}", "like"),
    Rule("preference", "favo", r"<value> (?:is|are) (?:<ly>)my (?:all-time |absolute )?favou?rite(?: (?P<topic>[\w ]+?))?(?: ever| of all(?: time)?)?", "Jazz is my favourite.", "Jazz", _LIKES, polarity="like"),
    Rule("preference", "i like|i love|i enjoy|i adore|so like|so love|still like|still love|always love|always like|just love|just like|do like|do love|do enjoy|also enjoy|both love|both like|still enjoy|i really|i absolutely|i usually|i generally|i truly|i totally|i personally|i genuinely|i definitely|i especially|i honestly|i actually|i particularly|i mostly|i typically", r"i (?:<ly>)(?:love|like|enjoy|adore) (?!(?:it|that|this|these|those|them|you|your|the|how|when|what|where|to (?:know|think|see|get|have|book|make|eat|watch|go|buy|hear|listen|travel|find))\b)(?!.* (?:is|are|was) )<value>(?: best| more)?", "I really enjoy long train rides.", "long train rides", _LIKES, polarity="like"),
    Rule("preference", "always loved|always liked|always enjoyed|always adored", r"i(?:'ve| have) always (?:loved|liked|enjoyed|adored) (?!(?:it|that|this|the|how|you|your)\b)<value>", "I've always loved trains.", "trains", _LIKES, polarity="like"),
    Rule("preference", "i prefer|i much prefer|always prefer|usually prefer|generally prefer|really prefer|still prefer", r"i (?:<ly>)prefer (?!(?:it|that|this|these|those|them|the|you|\d|if|not)\b)<value>(?: (?:to|over|rather than|instead of|more than) (?P<than><any>))?", "I prefer aisle seats to window seats.", "aisle seats", "The user prefers {value}.", polarity="like"),
    Rule("preference", "my preference", r"my preference is (?:for |to )?<value>", "My preference is for short answers.", "short answers", "The user prefers {value}.", polarity="like"),
    Rule("preference", "fan of|into |fond of|crazy about|obsessed with|keen on|partial to|sucker for|passionate about|addicted to", r"(?:<am> (?:<ly>)|(?=(?:big|huge|massive) fan))(?:(?:a )?(?:big |huge |massive |real |great )?(?:fan of|sucker for)|into|fond of|crazy about|obsessed with|keen on|partial to|passionate about|addicted to) <value>", "I'm a big fan of old maps.", "old maps", _LIKES, polarity="like"),
    Rule("preference", "get enough of|soft spot for|sweet tooth|nothing beats", r"(?:i (?:can't|can never|cannot) get enough of|i have a soft spot for|nothing beats) <value>(?: for me)?", "I can't get enough of mango.", "mango", _LIKES, polarity="like"),
    Rule("preference", "hate|detest|loathe|despise|dislike|stand|bear|abhor", r"(?:i (?:<ly>)|(?:really |absolutely |honestly )?(?=can\'t|cannot|hate|despise|loathe))(?:hate|detest|loathe|despise|dislike|abhor|can't stand|cannot stand|can't bear|cannot bear) (?:it when (?=people|my|the|others|some|an?\b))?(?!it\b|that\b|this\b|to (?:say|break|ask|admit|bother|be that)|on (?:one|my)|up\b|you\b|your\b)<value>", "I can't stand loud music.", "loud music", _DISLIKES, polarity="dislike"),
    Rule("preference", "don't|do not|never|no longer|didn't", r"i (?:<ly>)(?:don't|do not|never|no longer|have never|'ve never|never really)(?: (?:really|particularly|much|actually|even))* (?:like|liked|enjoy|enjoyed|love|care for|cared for) (?!(?:the|it|that|this|these|those|them|how|the (?:way|idea|look|sound|first|second|one)|to (?:be|say))\b)<value><anymore>", "I don't like cilantro.", "cilantro", _DISLIKES, polarity="dislike"),
    Rule("preference", "fan of|into|fond of|keen on|no longer", r"(?:<am> (?:<ly>)|(?=not a))(?:not|no longer|never)(?: (?:really|much|exactly|particularly|such|too|very))* (?:a )?(?:big |huge |great )?(?:of a )?(?:fan of|into|fond of|keen on) <value><anymore>", "I'm not a fan of spicy food.", "spicy food", _DISLIKES, polarity="dislike"),
    Rule("preference", "turns me off|drives me crazy|not my thing|isn't my thing|not for me|disgusts me|not my cup of tea|isn't my cup of tea|drives me nuts|gets on my nerves|aren't my thing|isn't for me", r"<value> (?:(?:really )?(?:turns me off|drives me (?:crazy|nuts)|disgusts me|gets on my nerves)|(?:is|are)(?: really| just|n't| not)* (?:my thing|for me|my cup of tea))", "Golf is really not my thing.", "Golf", _DISLIKES, polarity="dislike"),

    # --- constraints --------------------------------------------------------------------------
    Rule("constraint", "allergic|allergy|intoleran", r"<am> (?:<ly>)(?:allergic|intolerant) to <value>", "I'm allergic to peanuts.", "peanuts", "The user is allergic to {value}."),
    Rule("constraint", "allergy|intolerance|allergies", r"i(?:'ve| have)?(?: got)?(?: have)? an? (?:<ly>)(?:(?:severe|bad|serious|mild|strong) )?(?:(?:allergy|intolerance) to (?P<value><any>)|(?P<value2>[\w -]+?) (?:allergy|intolerance))", "I have a severe allergy to shellfish.", "shellfish", "The user is allergic to {value}."),
    Rule("constraint", "vegan|vegetarian|pescatarian|celiac|coeliac|intolerant|gluten|diabetic|kosher|halal|teetotal|blind|pregnant|dyslexic|deaf|hearing|keto|sober|asthma|claustro|diet", r"(?:<am>|i've been|i have been|i eat) (?:<ly>)(?:an? )?(?:strict(?:ly)? )?(?P<value><diet>)(?: (?:for|since) .+)?", "I'm vegetarian.", "vegetarian", "The user is {value}."),
    Rule("constraint", "can't|cannot|can not|can no longer|not allowed|unable|mustn't|must not|not able", r"(?:i|we) ?(?:<ly>)<cannot> (?:<ly>)(?P<value>(?:eat|drink|have|use|work|afford|spend|travel|drive|fly|attend|install|lift|run|take|pay|do|join|meet|stay|sit|stand for|climb|swim|tolerate|handle|digest|walk|share|send|store|upload|deploy|change|modify|make|commit|touch|accept|exceed|go over|go above|be) <any>)(?P<why>,? because .+)?", "I can't eat anything with gluten.", "eat anything with gluten", "The user cannot {value}."),
    Rule("constraint", "don't|do not|never|no longer", r"i (?:don't|do not|never|no longer) (?!.*any ?more)(?P<value>(?:eat|drink|fly|drive|smoke|work (?:on|after|before|past|weekends|nights)|take (?:calls|meetings)|own|have access to|consume|touch) ?(?:<any>)?)", "I don't eat meat.", "eat meat", "The user does not {value}."),
    Rule("constraint", "i don't have|i do not have|i have no", r"i (?:don't have|do not have|have no)(?: an?| any| the)? (?P<value>(?:car|oven|microwave|kitchen|license|licence|driver's .+|access .+|passport|visa|credit card|admin .+|root .+|gpu|internet .+|freezer|dishwasher|printer|smartphone|permission .+|budget .+|sudo .+|blender|stove|washing machine|balcony|garden))(?: .+)?", "I don't have a car.", "car", "The user has no {value}."),
    Rule("constraint", "budget", r"(?:my|our|the) (?:[\w]+ )?budget(?: for <any>)? (?:<is>|is about) (?:<ly>)(?:limited to |capped at |around |about |at most |under |only |max(?:imum)? )*<value>", "My budget is 500 euros.", "500 euros", "The user's budget: {value}.", "budget"),
    Rule("constraint", "budget", r"(?:i|we)(?:'ve| have)?(?: got| have)?(?: only)? an? (?:(?:tight|strict|total|max(?:imum)?|fixed|monthly) )*budget of (?:only |about |around )*<value>", "I have a budget of 300 dollars.", "300 dollars", "The user's budget: {value}.", "budget"),
    Rule("constraint", "i only|we only|have only|'ve only|got only|only have|only eat|only free|only avail|only work|only drink|only use|only fly|only buy|can only", r"(?:i|we)(?: can|'ve| have|'m| am| are|'re)?(?: got)? only (?:(?:have|got|eat|drink|work|available|free|able to|use|fly|buy|wear|shop|read|speak|can) )*(?!want|need|know|care|see|like|think|say|just)(?P<value>(?:[^.!?;]*\d|[^.!?;]*(?:minutes|hours?|days?|weeks?|<day>s?|weekends?|mornings?|evenings?|afternoons?|halal|kosher|vegan|vegetarian|organic|cash|nights?|a half)\b|one )(?:<any>)?)", "I only have 30 minutes a day.", "30 minutes a day", _LIMIT),
    Rule("constraint", "only", r"<am> only (?:available|free|able to meet|reachable) <value>", "I'm only free after six.", "after six", _LIMIT),
    Rule("constraint", "must|needs to|has to|have to|cannot|can't|mustn't|should never", r"(?:it|everything|the \w+(?: \w+)?|this|all \w+(?: \w+)?|any \w+(?: \w+)?|my \w+(?: \w+)?|our \w+(?: \w+)?) (?:must|has to|have to|needs to|need to|cannot|can't|must not|mustn't|should never) (?P<value>(?:not |always |also |only |never |all )*(?:be (?:under|below|within|less|at most|no more|compatible|accessible|offline|open|free of|ready|finished|done|vegan|vegetarian|halal|kosher|gluten|wheelchair|in (?:python|english|german|french|java|rust|spanish|pdf|json|metric)|short|delivered|backwards?|able|usable|signed|encrypted|stored|kept|written)|run|fit|support|use|stay|cost|comply|contain|include|exceed|remain|weigh|work (?:on|with|without|offline|in)|follow|pass|handle)(?: <any>)?)", "It has to run on Python 3.8.", "run on Python 3.8", _LIMIT),
    Rule("constraint", "i have to|i must|i need to|we have to|we must|we need to|i've got to", r"(?:i|we)(?:'ve got to| have to| must| need to) (?P<value>(?:avoid|stay (?:under|within|below|away|off)|keep (?:it|everything|costs?|my|the|our) |limit|stick to|watch my|use (?:only|python|java|windows|linux)|work (?:with|within)|support) ?<any>)", "I have to avoid salt.", "avoid salt", _LIMIT),
    Rule("constraint", "never|always|don't|do not|avoid|keep|stick|make sure|only|from now on|going forward|no more|stop", r"(?:please,? (?P<value>(?:never|always|avoid|stick to|stop|don't (?:use|call|send|include|suggest|recommend|mention|ever|add|put|write|give|reply|answer|schedule|book|email)|do not (?:use|call|send|include|suggest|recommend|mention|add|put|write|reply|answer|schedule)|keep (?:your |all |the |my )?(?:answers?|replies|responses?|explanations?|it|things|messages|everything|code|examples)|(?:answer|reply|respond|write|speak) (?:to me )?(?:only )?in) (?!(?:it|this|that|them|anything)\b)<any>)|(?:(?:please|from now on|going forward|in future|in the future|and),? )*(?:from now on|going forward|in (?:the )?future),? (?:please )?(?P<value2>(?!i\b|we\b)\w+ <any>))(?: from now on| going forward| in (?:the )?future)?", "Please always answer in English.", "always answer in English", _LIMIT),
    Rule("constraint", "never|always|don't|do not|from now on|going forward|keep |should never|should always|must never|must always", r"(?P<value>(?:you )?(?:(?:should|must) (?:never|always) \w+ <any>)|keep (?:your |all |the |my )?(?:answers?|replies|responses?|explanations?|messages|summaries) <any>|(?:never|always) (?:use|answer|reply|respond|write|call|send|include|give|suggest|recommend|book|schedule|put|add|mention|share|contact|speak|keep|explain|start|end|format|ask|show|cite)(?! (?:it|this|that)\b) <any>|(?:don't|do not) (?:use|include|suggest|recommend|schedule|book|call me|contact me|send me|mention|email me|message me|put|give me|serve|add)(?! (?:anything|anyone|it|this|that|these|those|them|any)\b) <any>|<any> (?:from now on|going forward))", "Never schedule meetings before ten.", "Never schedule meetings before ten", _LIMIT),
    Rule("constraint", "no more|no meetings|no calls|no emails|no pork|no beef|no meat|no dairy|no nuts|no gluten|no sugar|no alcohol|no seafood|no fish|no emoji|no jargon|no flights|no layovers|no stairs|no pets|no smoking|no spoilers|no swearing|no external|no third|no new|no cloud|no javascript|no messages|no notifications|no caffeine|no frameworks|no dependencies|no slang", r"(?P<value>no (?:more )?(?:meetings|calls|emails|pork|beef|meat|dairy|nuts|gluten|sugar|alcohol|seafood|fish|emojis?|jargon|flights|layovers|stairs|pets|smoking|spoilers|swearing|external|third-party|new|cloud|javascript|messages|notifications|caffeine|frameworks|dependencies|slang)[^.!?;,]*?)(?: please)?", "No meetings before ten please.", "No meetings before ten", _LIMIT),
    Rule("constraint", "deadline", r"(?:(?:my|our|the) (?:\w+ )?)?deadline <is> (?:<ly>)<value>", "Our deadline is 3 March.", "3 March", "The user's deadline: {value}.", "deadline"),
    Rule("constraint", "weight limit|limit is|curfew|limited to|restricted to|at most|no more than", r"(?:(?:my|our|the) (?:\w+ )?(?:limit|curfew|cap|maximum) <is> <value>|(?:<am>|we're|we are) (?:limited|restricted|confined) to (?P<value2><any>)|(?:i|we) can (?:spend|pay|use|take|carry|lift|work) (?:at most|no more than|only|up to) (?P<value3><any>))", "I can spend at most 200 dollars.", "200 dollars", _LIMIT),
    Rule("constraint", "doesn't allow|does not allow|forbids|isn't allowed|bans|prohibits|aren't allowed|doesn't permit|blocks", r"(?:my|our|the) [\w' ]+? (?:doesn't allow|does not allow|doesn't permit|forbids|bans|prohibits|blocks) <value>", "My landlord doesn't allow pets.", "pets", "Not allowed to the user: {value}."),

    # --- background ---------------------------------------------------------------------------
    Rule("background", "name", r"(?:hi,? |hello,? )?my (?:first |full |real |given )?name(?:'s| is) (?:<ly>)(?P<value>[\w.'-]+(?: [\w.'-]+){0,2})", "My name is Priya.", "Priya", "The user is called {value}.", "name"),
    Rule("background", "call me|go by|known as", r"(?:(?:please|you can|just|everyone|everybody|people|my friends|friends|they|most people) (?:just |usually |all )?(?:call|can call) me|call me|i go by|<am> known as) (?P<value>[\w.'-]+(?: [\w.'-]+){0,2})", "You can call me Max.", "Max", "The user wants to be called {value}.", "name"),
    Rule("background", "live|based|living|moved|relocated|reside", r"(?:i (?:<ly>)(?:live|reside)|<am> (?:<ly>)(?:based|living|located)|i(?:'ve|ve| have) (?:<ly>)(?:been living|lived)|(?:i|we)(?:'ve| have| just| recently)* (?:moved|relocated)|we live) (?:(?:in|to|at|near|on|outside)|just outside(?: of)?|out in|over in|back to) (?:(?:a|an|the) (?:small |little |big )?(?:city|town|village|suburb) (?:of|called|near) )?(?!constant|fear|hope|denial|peace|(?:the|this|that) (?:area|town|city|moment|past|hotel))<value>", "I live in Porto.", "Porto", "The user lives in {value}.", "home"),
    Rule("background", "i'm from|i am from|im from|originally from|actually from|i come from|grew up|raised|born", r"(?:<am> (?:<ly>)(?:originally )?from|i come from|i grew up in|i was (?:born(?: and raised)?|raised) in|<am> originally from) (?!now\b|the (?:\w+ )?(?:team|future|internet|department|company)|here\b|this\b)<value>", "I'm originally from Kenya.", "Kenya", "The user comes from {value}.", "origin"),
    Rule("background", "i work|working|employed|currently work|actually work|mostly work|i've worked|have worked|also work|now work|still work", r"(?:i (?:<ly>)work|<am> (?:<ly>)(?:working|employed)|i've (?:<ly>)(?:been working|worked)|i have (?:worked|been working)) (?:part[- ]time |full[- ]time |remotely )?(?P<value>(?:as|at|for|in|from home|night shifts?|nights|remotely|the night shift|shifts)(?: <any>)?)", "I work as a nurse in a children's ward.", "as a nurse in a children's ward", "The user works {value}.", "work"),
    Rule("background", "job|profession|occupation|living|major", r"(?:my (?:day )?(?:job|profession|occupation|major)(?: title)? is (?:to be )?(?:an? )?<value>|i (?P<value2>\w+ (?:<any>)?) for a living)", "My job is teaching chemistry.", "teaching chemistry", "The user's occupation: {value}.", "job"),
    Rule("background", "i'm a|i am a|im a|ve been a|currently a|actually a|originally a|really a", r"(?:<am>|i've been|i have been) (?:<ly>)an? (?P<value>(?!bit |big fan|little )<post>)", "I'm a civil engineer in Lyon.", "civil engineer in Lyon", "The user is: {value}.", "job"),
    Rule("background", "years old|year old|year-old|turned|turning", r"(?:<am> (?:<ly>)(?:an? )?(?P<value>\d{1,3}|[a-z]+(?:-[a-z]+)?)[ -]years?[ -]old(?: .+)?|i(?:'ve)? (?:<adverb>|just )*turned (?P<value2>\d{1,3}|[a-z]+)(?: .+)?)", "I'm 34 years old.", "34", "The user is {value} years old.", "age"),
    Rule("background", "i'm 1|i am 1|im 1|i'm 2|i am 2|im 2|i'm 3|i am 3|im 3|i'm 4|i am 4|im 4|i'm 5|i am 5|im 5|i'm 6|i am 6|im 6|i'm 7|i am 7|im 7|i'm 8|i am 8|im 8|i'm 9|i am 9|im 9", r"<am> (?P<value>[1-9]\d)(?: and .+)?", "I'm 34.", "34", "The user is {value} years old.", "age"),
    Rule("background", "birthday|was born on|time zone|timezone", r"(?:my (?P<topic>birthday|time ?zone) is (?:on |in )?|i was born (?:on|in) (?=.*\d)|<am> in the (?=.*time ?zone))<value>(?: time ?zone)?", "My birthday is on 4 May.", "4 May", "The user's birthday or time zone: {value}.", "{topic}"),
    Rule("background", "native language|mother tongue|first language|native tongue", r"(?:my (?:native language|mother tongue|first language|native tongue) is <value>|(?P<value2>\w+) is my (?:native language|mother tongue|first language|native tongue))", "My mother tongue is Tamil.", "Tamil", "The user's first language: {value}.", "first language"),
    Rule("background", "i speak|i also speak|fluent in|actually speak", r"(?:i (?:<ly>)speak|<am> (?:<ly>)fluent in) (?P<value>(?!to|for|up|with|about)<any>)", "I speak Danish and some Dutch.", "Danish and some Dutch", "The user speaks {value}."),
    Rule("background", "i study|studying|i studied|major|learning|i teach|i taught|teaching|degree|graduated|phd|master|enrolled", r"(?:i (?:<ly>)(?:study|studied|majored in|teach|taught|graduated (?:from|in|with)|have (?:a|an|my) (?=.*(?:degree|phd|master|bachelor))|did my (?=.*(?:degree|phd|master|bachelor)))|<am> (?:<ly>)(?:studying|majoring in|learning|teaching|enrolled (?:in|at)|doing my|doing a|pursuing (?:a|my))|i've been (?:studying|learning|teaching)) (?!for|how|about|that|to|from|hard|a lot)<value>", "I'm studying marine biology.", "marine biology", "The user's studies: {value}."),
    Rule("background", "named|called", r"(?:i|we)(?:'ve got| have) (?P<value>an? (?:[\w-]+ ){1,4}?(?:named|called) <any>)", "I have a golden retriever named Hugo.", "a golden retriever named Hugo", "The user has {value}."),
    Rule("background", "kid| child| son|daughter| dog| cat|twin|brother|sister|sibling| pet|rabbit|parrot|toddler|baby|horse|chicken|hamster|grandchild|grandkid", r"(?:i|we)(?:'ve got| have| have got|'ve|'m the (?:mother|father) of)(?: got)? (?P<value>(?:an?|one|two|three|four|five|six|\d+|twin|no)(?: [\w'-]+){0,4} (?:kids?|child(?:ren)?|sons?|daughters?|dogs?|cats?|twins?|brothers?|sisters?|siblings?|pets?|rabbits?|parrots?|toddlers?|bab(?:y|ies)|horses?|chickens?|hamsters?|boys?|girls?|grand\w+|retriever|puppy|kitten)(?:(?: and|,) [^.!?;]+| (?:named|called|who|aged|under|over|in) [^.!?;]+)?)", "I have two kids.", "two kids", "The user has {value}."),
    Rule("background", "married|single|divorced|engaged|widowed|retired|unemployed|left-handed|left handed|self-employed|introvert|dating|freelanc", r"(?:<am> (?:<ly>)(?P<value>(?:happily )?(?:married|single|divorced|engaged|widowed|retired|unemployed|left[- ]handed|self-employed|a freelancer|introverted|ambidextrous|near-?sighted)(?: (?:to|with|and|for|from|since) [^.!?;]+)?)|i (?P<value2>retired [^.!?;]+|freelance[^.!?;]*|got (?:married|divorced|engaged)[^.!?;]*))", "I'm retired.", "retired", "The user is {value}."),
    Rule("background", "is called|is named|are called|are named|'s name", r"my (?P<topic><kin>)(?:'s name| is (?:named|called)| are (?:named|called)|'s called|s are (?:named|called))(?: is)? <value>", "My dog is called Biscuit.", "Biscuit", "The user's {topic} is called {value}.", "{topic}'s name"),
    Rule("background", "wife|husband|partner|girlfriend|boyfriend|fianc|my son|our son|daughter|mother|my mom|my mum|father|my dad|brother|sister|my baby|our baby|my dog|our dog|my cat|our cat|puppy|kitten|parrot|hamster|rabbit|my pet", r"(?:my|our) (?P<value><kin>s?(?: (?!is|are|was|has|just)[\w-]+)?(?: just)? (?:(?:is|are) (?:an? |called |named |from |\d|one|two|three|four|five|six|seven|eight|nine|ten|in (?:\w+ grade|high|college|kinder)|allergic|vegan|vegetarian|pregnant|deaf|blind|retired|diabetic|based|studying|turning|lactose|celiac|autistic|afraid of|[a-z]+(?:ian|ese|ish|ican)\b)|works? (?:as|at|for|in|from|nights)|lives? (?:in|with|near|at)|has (?:an? |adhd|asthma|diabetes|two|three|celiac)|was born|goes to|started (?:school|college|university|kinder)|studies|speaks|turns|turned|teaches) ?(?:<any>)?)", "My wife is a doctor.", "wife is a doctor", "The user's family: {value}."),
    Rule("background", "years", r"(?:i|we)(?:'ve| have)(?: got| been)? (?P<value>(?:(?:over|about|around|almost|nearly|more than) )?(?:\w+|\d+\+?) years(?:'| of) (?:of )?(?:experience|practice)(?:<any>)?|(?:working|teaching|living|coding|programming|playing|running|practi[cs]ing|studying|learning|driving|married|a member|in) (?:<any>)?years(?:<any>)?)", "I have ten years of experience in logistics.", "ten years of experience in logistics", "The user has {value}."),
    Rule("background", "i own|i drive|i run |i play|i use|we use|i manage|i lead|i ride|i commute|i volunteer|i coach|i train|we run|i keep|i collect", r"(?:i|we) (?:<ly>)(?P<value>(?:own|drive|run|play|use|manage|lead|ride|commute|volunteer|coach|keep|collect)(?! (?:it|this|that|these|them|into|out|to|my|in on|up|late|a hard|around|your|the (?!\w+ in)\w+ (?:of|and)|the tests?)\b) <any>)", "I play the cello in an amateur orchestra.", "play the cello in an amateur orchestra", "The user does this: {value}."),
    Rule("task", "my goal|my aim|my dream|training for|preparing for|saving up|saving for", r"(?:my (?:main |current |long-term |big |new )?(?:goal|aim|dream|target|objective)(?: (?:this|for|right|these) [\w ]+?)? is (?:to )?|<am> (?:<ly>)(?:training|preparing|studying|saving|saving up) for )<value>", "My goal is to run a marathon.", "run a marathon", "The user's goal: {value}.", "goal"),
    Rule("background", "focus|productive|morning person|night owl|early bird|concentrate|do my best work|work best", r"(?:i (?:<ly>)(?:focus|concentrate|work|think|study) best|<am> (?:<ly>)most (?:productive|focused|alert)|i do my best work|i get my best work done|i can focus best) (?P<value><any>)", "I focus best early in the morning.", "early in the morning", "The user focuses best: {value}.", "focus time"),
    Rule("background", "morning person|night owl|early bird|early riser", r"<am> (?:<ly>)an? (?P<value>morning person|night owl|early bird|early riser)", "I'm a night owl.", "night owl", "The user focuses best: {value}.", "focus time"),
    Rule("background", "i have |i've got|diagnosed", r"(?:i (?:have|was diagnosed with|live with|suffer from)|i've (?:had|got|been diagnosed with)) (?P<value>(?:type [12] )?(?:adhd|asthma|diabetes|insomnia|migraines?|chronic [\w ]+|celiac disease|high blood pressure|arthritis|dyslexia|epilepsy|tinnitus|anxiety|a bad (?:back|knee)|bad knees|crohn\S+|a heart condition|vertigo|hay fever|glaucoma|autism|back pain|hypertension)(?:<any>)?)", "I have asthma.", "asthma", "The user has {value}."),

    # --- decisions ----------------------------------------------------------------------------
    Rule("decision", "decided:|decided,|decision:", r"(?:it's |that's )?deci(?:ded|sion)(?::|,) (?:we |i )?<value><why>", "Decided: we ship on Friday.", "ship on Friday", _DECIDED),
    Rule("decision", "decided|chosen|chose|settled|opted|made up|concluded|picked|agreed|gone with", r"(?:so,? )?<we> (?:<adverb>|all )*(?:decided (?!to ask you)(?:to |on |that |against |in favou?r of |we'll |i'll )?|chosen (?:to )?|chose (?:to )?|settled on |opted (?:for |to )|made up my mind(?: to| that|:|,)? (?:i'm |i'll |i am |we're )?|concluded that |picked (?!up)|agreed (?:to|on|that) |gone with )<value><why>", "We've decided to use Postgres because it handles JSON well.", "use Postgres", _DECIDED),
    Rule("decision", "let's|we'll|i'll|we will|i will|we're going|i'm going|i am going|we are going", r"(?:(?:so|then|alright|all right|ok|okay),? )*(?:let's|we'll|i'll|we will|i will|(?:we're|i'm|i am|we are) going to) (?:<adverb>|definitely )*(?P<value>(?:go|stick|stay|move forward|proceed|move ahead) with (?!that|this|it\b|you\b|the (?:first|second|third|last|one)|these|those|your|them)<any>)<why>", "Let's go with the blue logo because it reads better.", "go with the blue logo", _DECIDED),
    Rule("decision", "going with|sticking with|switching to", r"(?:we're|i'm|i am|we are) (?:<ly>)(?:going with|sticking with|switching to) (?!that|this|it\b|these|my|two|three|\d|people|friends|him|her|them|a friend|the (?:first|second))<value><why>", "We're going with the smaller venue because it has a garden.", "the smaller venue", _DECIDED),
    Rule("decision", "let's|we'll|we will", r"(?:(?:so|then|alright|ok|okay),? )*(?:let's|we'll|we will) (?P<value>(?:use|settle on|switch to|adopt|drop|keep (?!looking|going|searching|in|it|on)|ship|target|migrate to|build on|standardi[sz]e on|host|deploy|name it|call it|store|write it in|skip|postpone|cancel) (?!it\b|that\b|this\b|these\b)<any>)<why>", "Let's use SQLite because it needs no server.", "use SQLite", _DECIDED),
    Rule("decision", "decision", r"(?:my|our|the)? ?(?:final )?decision(?: is(?: to| that|:)?|:| -| made[:,.]?) (?:(?:we|i)(?:'ll| will| are going to)? )?<value><why>", "Final decision: two-factor login for everyone.", "two-factor login for everyone", _DECIDED),
    Rule("decision", "it's settled|it's decided|that settles it|final answer", r"(?:it's settled|it's decided|that settles it|final answer)[:,;.]? (?:we|i)(?:'ll|'re| will| are|'m)? (?:going (?:to|with) )?<value><why>", "It's settled, we'll paint the hall yellow.", "paint the hall yellow", _DECIDED),

    # --- tasks --------------------------------------------------------------------------------
    Rule("task", "remind me|forget to|remember to", r"(?:please |can you |could you )?(?:remind me (?:(?:tomorrow|tonight|later|on <day>|next week|at [\w: ]+?|in [\w ]+?|in the [\w ]+?|this [\w]+),? )?(?:that i (?:need|have) )?(?:to|about)|don't let me forget (?:to|about)|(?:i|we) (?:need to|must|have to|should|want to) remember to|(?:i|we) (?:can't|mustn't|must not|shouldn't|cannot) forget (?:to|about)|note to self:?) <value>", "Remind me to call the plumber tomorrow.", "call the plumber tomorrow", _TASK),
    Rule("task", "note to self", r"note to self[:,]? <value>", "Note to self: buy a charger.", "buy a charger", _TASK),
    Rule("task", "to-do|todo|to do:|task:|task for|next task", r"(?:my )?(?:to-?do|to do|(?:next )?task)(?: for \w+)?(?: is(?: to)?| -|:) <value>", "To-do: book the vet.", "book the vet", _TASK),
    Rule("task", "to-do|todo|to do list|task list|shopping list|my list", r"(?:please |can you )?(?:(?:add|put) <value> (?:to|on|onto) (?:my|the|our) (?:[\w-]+ ){0,2}(?:list|to-?dos?|tasks)|on my (?:to-?do list|list)(?: is(?: to)?|:) (?P<value3><any>))", "Add book the vet to my to-do list.", "book the vet", _TASK),
    Rule("task", "need to|have to|must|got to|gotta|should|supposed to", r"(?:i|we)(?:'ve got to| still need to| still have to| need to| have to| must|'m supposed to| am supposed to| also need to| also have to| really need to| really have to| should| gotta) (?!find|book a|get a|know|see|search|look|reserve|make|go|leave|travel|fly|be |check|take a|rent|transfer|use|keep|avoid|catch|find|stay|depart|arrive|return (?:on|by|to|home)|eat|have|change|observe|watch|purchase|plan|view|schedule a (?:ride|cab|taxi)|listen|hear|visit|move|attend|spend|buy (?:a |\\d |two |three )?(?:bus |train )?tickets?|get(?: a| to| there)|set up an app|open|play|come|do|work|start|choose|decide|figure|think|ask|talk|say)(?!get\b|schedule\b|urge\b|enjoy\b|buy \d|head\b|\w+ (?:it|this|that)\b|pick (?:it|up the car|the car)|do\b)(?P<value>\w+ (?:<any>)?<when>)", "I need to submit the grant report by Friday.", "submit the grant report by Friday", _TASK),
    Rule("task", "still need to|still have to|haven't|promised", r"(?:i|we) (?:(?:still )(?:need|have) to|promised(?: \w+){0,3} to|have yet to) (?!find|book a|get|know|see|go|be|think|decide|figure)<value>", "I still need to renew my passport.", "renew my passport", _TASK),
    Rule("task", "due", r"(?:my|our|the) (?P<value>[\w' -]+? (?:is|are) due (?:by|on|in|next|this|tomorrow|at)? ?(?:<any>)?)", "My tax return is due on 15 April.", "tax return is due on 15 April", _TASK),

    # --- tasks done ---------------------------------------------------------------------------
    Rule("task_done", "finished|completed|submitted|handed in|turned in|wrapped up|sent off|mailed|delivered|cancelled|canceled|renewed|paid", r"(?:(?:<we>|i|we) |(?=(?:finished|submitted|completed|paid|renewed|handed in) (?:the|my|our|all)\b))(?!.*\b(?:lunch|dinner|breakfast)\b)(?:<adverb>|just )*(?:finished|completed|submitted|handed in|turned in|wrapped up|sent off|mailed|delivered|renewed|paid(?: off)?(?= the| my| our| all)|crossed off|checked off|got done with|finalized|finalised)(?: (?:writing|reading|doing|making|preparing|fixing|cleaning|painting|editing|packing|setting up|working on))? (?:(?:the|my|our|that|all|all the|all my|a|an) )?<value>(?: (?:already|today|yesterday|this (?:morning|afternoon|evening|week)|last (?:night|week)|an hour ago))*", "I finished the quarterly report.", "quarterly report", _DONE),
    Rule("task_done", "this morning|today|yesterday|last night|ago|this afternoon|this evening", r"(?:<we>|i|we) (?:<ly>)(?:booked|bought|sent|called|paid|picked up|dropped off|mailed|ordered|fixed|signed|returned|cleaned|emailed|filed|wrote|cancelled|watered|submitted|renewed) (?:(?:the|my|our|all the|a|an) )?(?!you\b|him\b|her\b|it\b|them\b)<value> (?:this (?:morning|afternoon|evening)|today|yesterday|last night|(?:an hour|two hours|a few \w+|two days) ago)", "I booked the flights this morning.", "flights", _DONE),
    Rule("task_done", "already|finally|just ", r"(?:(?:<we> )?(?:(?:just|now) )+(?=sent|booked|bought|signed|filed|shipped|ordered|picked up|dropped off|registered|washed|mowed|watered|cleaned|mailed)|(?:<we> )?(?:(?:already|finally|also) )+)(?:sent|bought|did|wrote|made|called|emailed|booked|fixed|cleaned|returned|picked up|dropped off|signed|filed|uploaded|deployed|merged|shipped|scheduled|ordered|packed|registered|replaced|repaired|updated|set up|washed|mowed|posted|published|watered|printed|read|took out|painted|reserved|cancelled|canceled|closed|reviewed|backed up|installed|assembled|sold|got around to \w+ing|done|taken care of|changed|baked|migrated|tested|sorted(?: out)?|renewed|paid|applied for) (?:(?:the|my|our|that|all the|all my|a|an) )?<value>", "I already called the plumber.", "plumber", _DONE),
    Rule("task_done", " done| finished| complete|taken care of| submitted| paid| sent| fixed|ready to ship| booked| delivered|over and done| renewed| signed| merged| deployed| shipped| cleaned| filed| cancel| repaired| ordered| uploaded| published| scheduled|out of the way|off my| written| sorted|in the mail| packed", r"(?:(?:the|my|our|all the|both) <value>|(?P<value>[\w-]+(?: [\w-]+){0,3}?)(?= (?:is|are) (?:(?:now|all|finally) )*(?:done|finished))) (?:is|are|has been|have been|'s|was) (?:(?:now|all|finally|already|completely) )*(?:done|finished|completed|complete|submitted|paid|taken care of|sent|fixed|ready to ship|booked|delivered|over and done with|renewed|signed|merged|deployed|shipped|cleaned|filed|cancelled|canceled|repaired|submitted|ordered|uploaded|published|scheduled|out of the way|off my (?:list|plate)|written|sorted|in the mail|packed)", "The tax return is finally done.", "tax return", _DONE),
    Rule("task_done", "done with|finished with|cross |as done|as complete|as finished|tick |check off", r"(?:(?:(?:<am>|we're|we are) )?(?:<adverb>|all |finally )*(?:done|finished) with (?:the |my |our )?<value>|(?:you can )?(?:please )?(?:cross|tick|check) (?:off (?:the |my )?(?P<value2><any>)|(?:the |my )?(?P<value4><any>) off(?: (?:my|the) .+)?)|(?:you can )?(?:please )?mark (?:the |my )?(?P<value3><any>) as (?:done|complete|completed|finished))", "Mark the dentist appointment as done.", "dentist appointment", _DONE),

    # --- feelings: the slot is the label --------------------------------------------------------
    Rule("feeling", "happy|glad|thrilled|delighted|excited|overjoyed|joyful|over the moon|grateful|cheerful", r"(?:<am>|i feel|i'm feeling|i am feeling|i was) (?:<adverb>|so |super |incredibly |extremely |over )*(?:happy|glad|thrilled|delighted|excited|overjoyed|joyful|over the moon|grateful|cheerful)\b.*", "I'm so happy today!", "", slot="joy"),
    Rule("feeling", "proud|accomplished|did it|made it|nailed it", r"(?:(?:<am>|i feel|i'm feeling) (?:<adverb>|so |super |incredibly )*(?:proud|accomplished)\b.*|i (?:finally )?(?:did|made|nailed) it)", "I feel really proud of myself.", "", slot="achievement"),
    Rule("feeling", "anxious|nervous|worried|scared|afraid|stressed|overwhelmed|terrified|panicking", r"(?:<am>|i feel|i'm feeling|i am feeling|i've been) (?:<adverb>|so |super |incredibly |extremely |feeling )*(?:anxious|nervous|worried|scared|afraid|stressed|overwhelmed|terrified|panicking)\b.*", "I'm really anxious about tomorrow.", "", slot="anxiety"),
    Rule("feeling", "sad|down|depressed|dejected|lonely|heartbroken|miserable|disappointed|upset|hopeless", r"(?:<am>|i feel|i'm feeling|i am feeling|i've been) (?:<adverb>|so |super |incredibly |extremely |feeling )*(?:sad|down|depressed|dejected|lonely|heartbroken|miserable|disappointed|upset|hopeless)\b.*", "I feel so down today.", "", slot="dejection"),
    Rule("feeling", "angry|furious|annoyed|frustrated|mad|irritated", r"(?:<am>|i feel|i'm feeling|i am feeling) (?:<adverb>|so |super |incredibly |extremely )*(?:angry|furious|annoyed|frustrated|mad|irritated)\b.*", "I'm furious about the delay.", "", slot="anger"),
    Rule("feeling", "tired|exhausted|drained|burnt out|burned out|worn out", r"(?:<am>|i feel|i'm feeling|i am feeling) (?:<adverb>|so |super |incredibly |extremely )*(?:tired|exhausted|drained|burn(?:t|ed) out|worn out)\b.*", "I'm completely exhausted.", "", slot="fatigue"),
)  # fmt: skip

_EMOJI = "\u2600-\u27bf\U0001f300-\U0001faff\ufe0f\u200d"
_HEDGES = (
    " if ", "if i ", "if you ", "if we ", "if it ", "unless", "suppose", "supposing", "imagine",
    "pretend", "assume", "assuming", "hypothetical", "in case", "whether", "wish", "maybe",
    "perhaps", " might ", "not sure", "i guess", "wonder", "someday", "one day", "probably",
    "possibly", " said", " say ", " says", "saying", " told ", " tells ", " asked ", " asks ",
    "thinks", " claim", "wrote", " writes", "according to", " heard", "you said", "you mention",
    "you told", "you think", "you know", "you remember", "you noted", "you listed", "you showed",
    "apparently", "when i was", "as a kid", "as a child", "as a teenager", "back then", "back when",
    "would have", "wouldn't have", " lol", "lmao", "kidding", "the song", "the movie", "the book",
    "the film", "the line ", "not that", "it's not like", "don't you", "yeah right", "oh sure",
    "lyrics", "supposedly", "i think ", "i thought",
)  # fmt: skip


def _fold(text: str) -> str:
    low = text.lower()
    low = low if len(low) == len(text) else text
    return low.replace("\u2019", "'") if "\u2019" in low else low


_NOT_KEY = re.compile(
    r"\b(?:the|my|our|an?|that|this|all|to|on|by|before|until|at|in|tomorrow|today|tonight|"
    rf"next|week|month|year|{WORDS['day']}|morning|evening|afternoon|weekend)\b|[^\w\s]"
)


def _key(task: str, done: bool) -> str:
    """The thing to do, without verb, articles and dates: "submit the report by May" -> "report"."""
    words = _NOT_KEY.sub(" ", _fold(task)).split()
    return " ".join(words if done else words[1:] or words)


_TEXTS = (
    r"(?:story|poem|monolog|dialog|song|scene|essay|letter|e-?mail|tweet|script|character|speech|joke"
    r"|haiku|limerick|post|bio|message|review|caption|sentence|play|chapter|reply|ad\b|slogan|"
    r"conversation|lyrics|toast|sketch|novel|diary|quote)"
)
_LABOURS = (
    "translat", "proofread", "proof-read", "rewrite", "rephrase", "paraphras", "summarise",
    "summarize", "role-play", "roleplay", "role play", "pretend", "act as a", "act as my",
    "act as if", "act like", "grammar", "how do you say", "how do i say", "in character",
    "example sentence", "the sentence", "the phrase", "following text", "following sentence",
    "following paragraph", "following email", "following message", "play the role",
    "play the part", "you are a ", "you are an ", "you are now", "you're my ", "you're a ",
    "you're an ", "be my ", "from the perspective", "subtitle", "in this scenario", "my character", "the quote",
)  # fmt: skip
_WRITE = (
    "write",
    "compose",
    "draft",
    "create",
    "make up",
    "tell",
    "finish",
    "continue",
    "generate",
)
_REQUEST = (
    rf"\b(?:{either(_LABOURS)}|what does .{{1,80}} mean|{either(_WRITE)} (?:me )?"
    rf"(?:an?|the|some|this|my|our|two|three|\d+) (?:\w+ ){{0,3}}?{_TEXTS})|🙄|🙃| /s\b"
)
_ANAPHORA = (  # what begins so points at something else
    "i", "we", "okay", "ok", "right now", "it", "that", "this", "these", "those", "them", "him",
    "her", "you", "your", "his", "their", "its", "me", "us", "one", "what", "how", "when", "where",
    "who", "why", "both", "either", "neither", "all", "everything", "nothing", "something",
    "anything", "any", "to know", "to see", "to hear", "to ask", "to think", "to get", "to have",
    "to book", "to find", "to be", "to go", "to say", "to make", "to do", "knowing", "being able",
    "here", "there", "same", "another", "each", "some", "so", "none", "either way", "help",
    "on one", "on my own", "up", "out",
)  # fmt: skip
_SHOWN = (
    "first", "second", "third", "last", "next", "other", "one", "idea", "way", "sound", "look",
    "option", "answer", "result", "new", "same", "latest", "suggestion", "response", "example",
    "previous", "above", "plan", "design", "name", "title", "tone", "style", "ending", "part",
    "fact", "color scheme",
)  # fmt: skip
_EMPTY = (
    rf"{either(_ANAPHORA)}\b.*|the {either(_SHOWN)}\b.*|.* (?:one|ones|option)"
    r"|done|more|less|good|great|fine|well|."
)
_OPENINGS = (  # what may stand before a statement
    "ok", "okay", "well", "so", "and", "but", "also", "plus", "oh", "hi", "hi there", "hey",
    "hello", "actually", "ugh", "by the way", "btw", "fyi", "tbh", "imo", "honestly", "to be honest",
    "personally", "for the record", "for what it's worth", "just so you know", "yes", "yeah",
    "yep", "no,", "no.", "nope", "sorry", "correction", "note:", "note that", "please note",
    "please note that", "remember", "remember that", "please remember", "please remember that",
    "keep in mind", "keep in mind that", "bear in mind", "bear in mind that", "because", "since",
    "though", "although", "while", "then", "still", "as you know", "as you may know", "anyway",
    "right", "sure", "thanks", "thank you", "great", "good news", "update", "as for me", "for me",
    "unfortunately", "sadly", "luckily", "turns out", "wait", "heads up", "quick note",
    "to clarify", "reminder", "typo", "i mean", "in general", "usually", "these days", "nowadays",
    "lately", "currently", "at work", "at home", "frankly", "let me correct that", "let me clarify",
    "let me correct myself", "scratch that", "small correction", "one more thing", "first",
    "today", "yesterday", "this morning", "this week", "as a rule", "as of today", "as of now",
    "important", "ps", "p.s", "next topic",
)  # fmt: skip
_LEAD = (
    rf"[\s\W_]*(?:{either(_OPENINGS)}(?![\w'])|after (?:the|a|some|much|long|last) [\w ]{{3,30}}?"
    r"(?=,? (?:i|we)\b))[\s,:;.!…-]*"
)

ENGLISH = Language(
    RULES,
    words=WORDS,
    border=r"\b",
    lead=_LEAD,
    tail=r"(?:,? (?:nowadays|now|these days|a lot|very much|so much|too|as well|lately|anyway|though|actually|"
    r"by the way|btw|at the moment|right now|currently|in general|the most|more than anything|please|"
    r"instead|again|already|since then|of course|honestly|tbh|okay|ok|thanks|thank you|"
    r"for now|(?:last|this) (?:year|month|week|summer|spring|autumn|fall|winter)|in \d{4}|recently|(?:a|two|three|\d+|a few) (?:days?|weeks?|months?|years?) ago|for (?:\w+ ){1,2}(?:years|months)|overall|to be honest|originally|normally|especially|at all|ever|lol|haha))*",
    sentence=rf"(?<![ .][a-z])[.!?]+(?=[\s\"')]|$)|\n+|…|[{_EMOJI}]+\s*",
    clause=r"[;:()]\s*(?!\d)|\s[-–—]+\s|,(?!\d)\s*| but | and (?=i\b|i'|i?'?ve\b|my\b|we\b|our\b|please\b|don't\b|never\b|always\b)|(?<!'m)(?<! am)(?<!feel)(?<!was) so (?!far|much|many|that i can)| because | since (?=we|i\b|it|there|they|the)| although | though | while | which | except | whereas | and (?=(?:would|have|want|need|should|am|was|will|could|can|is|are|it|they|he|she|there|also|then|work|live|who|this|that|now|honestly|nothing)\b)| when (?=i\b|it\b|you\b|we\b)| especially ",
    foreign=either(_HEDGES)
    + r"|:(?<!note:)(?<!correction:)(?<!update:)(?<!fyi:)(?<!record:)(?<!clear:) (?:i|i'm|im|my)\b",
    doubt=r"\?",
    asks=r"\s*(?:(?:hey|hi|please|ok|also|and|so),? )*(?:can|could|would|will) you (?:please )?(?:remind me to|add|put|call me|mark|cross)",
    request=_REQUEST,
    empty=_EMPTY,
    key=_key,
    fold=_fold,
)
