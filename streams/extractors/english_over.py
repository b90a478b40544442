"""English rules: what is over by the verb, whatever it is: dropped, let go, parted with, behind one.

The end names every family, and the thing; what has its words in memory is over. One line each
(docs/extractors.md).
"""

# ruff: noqa: E501 - a rule is one line, however long

from streams.extractors.rule import Rule

_ALL = (  # as many as an end may name
    "home|work|job|employer|study|pet|possession|habit|like|favourite|goal|plan|task|decision|health|diet"
)
_PARTNERS = "girlfriend|boyfriend|partner|wife|husband|fiance|fiancé|fiancée|"

PARTS = {
    "hadto": r"(?:had to |have to |decided to |finally |just |also |completely |recently )*",
    # what is done with a thing for good, before its name
    "parted": r"(?:gone off|went off|grown out of|outgrown|outgrew|gr[eo]wn? tired of|lost the taste for|lost (?:all )?interest in|fallen out of love with|"
    r"moved on from|turned my back on|given up on|gave up on|give up on|let go of|parted with|part with|<leftbehind>)",
    "leftbehind": r"(?:ditche?d?|stepped down from|pulled out of|bowed out of|parted ways with|cut ties with|hung up|packed in|kissed goodbye|"
    r"(?:said|say) goodbye to|walked away from|rehomed|resigned from|switched out of|transferred out of|moved out of|kicked|come off|came off|weaned off|"
    r"stop \w+ing (?:at|in|with|for|to)|shelved|binned|scrapped|deleted|uninstalled|got rid of|gotten rid of)",
    "mine": r"(?:all )?(?:of )?(?:my |our |the |that )?(?!(?:question|step|level|page|exercise|number|option|chapter|part)s?\b)(?!(?:it|that|this|them|him|her|you|me|us|everything)\b)",
    "forgood": r"(?: (?:for good|for now|completely|entirely|altogether|at last|any ?more|last (?:week|month|year)|<then>))?",
    "ownthing": r"(?!(?:it|that|this|which|everything|game|movie|film|show|call|meeting|party|concert|war|day|week|weekend|class|lunch|break)\b)",
    "longago": r"(?:in|for) (?:over |more than |about |almost |nearly )?(?:an? |\w+ )?(?:years?|months?|ages|weeks|long time)(?: now)?",
}

RULES = (
    Rule("end", "gone off|went off|grown|grow|grew|outgr|ditch|stepped down|pulled out|bowed out|parted|part with|cut ties|interest in|fallen out|hung up|packed in|goodbye|walked away|let go of|rehomed|resigned|switched out|transferred out|given up on|gave up on|give up on|moved out|kicked|come off|came off|weaned off|had to stop|the taste|moved on from|turned my back|shelved|binned|scrapped|deleted|uninstalled|got rid|gotten rid", r"(?:i|we|i'm|we're)(?:'ve| have|'m| am| are)? <hadto><parted> <mine>(?P<value>[\w' -]+?)(?: for (?!good)<any>| and <any>| in favou?r of <any>)?<forgood>", "I've gone off coffee completely.", "coffee", ends=_ALL),
    Rule("end", "dropped |gave up", r"(?:i|we)(?:'ve| have)? <hadto>(?:dropped|gave up) (?!(?:on|my|the|our|off|out|by|in|it|that|him|her|them|everything|a|an)\b)(?P<value>[\w' -]+?)<forgood>", "I dropped Danish.", "Danish", ends="study|habit|like|plan|goal|task"),
    Rule("end", "do it for me|bores me|bore me|appeal to me", r"(?P<value><ownthing>[\w' -]{2,40}?) (?:(?:doesn't|don't|no longer) (?:really )?(?:do it for|appeals? to) me(?: any ?more| any longer)?|(?:just )?bores? me now)", "Sushi doesn't do it for me any more.", "Sushi", ends="like|favourite|habit"),
    Rule("end", "off me|from me", r"(?:somebody|someone|they|my \w+) (?:bought|took) my (?P<value>[\w' -]+?) (?:off|from) me<forgood>", "Someone bought my kayak off me.", "kayak", ends="possession|pet"),
    Rule("end", "let ", r"(?:i|we)(?:'ve| have)? <hadto>let <mine>(?P<value>[\w' -]+?) (?:drop|lapse|go|slide|expire)<forgood>", "I let my gym membership lapse.", "gym membership", ends=_ALL),
    Rule("end", "traded|give |gave |given |handed|sent ", r"(?:i|we)(?:'ve| have)? <hadto>(?:traded|give|gave|given|handed|sent) <mine>(?P<value>[\w' -]+?) (?:in|up|away|back|over)(?: (?:for|to) <any>)?<forgood>", "We had to give Rufus up to a shelter.", "Rufus", ends=_ALL),
    Rule("end", "left ", r"(?:i|we)(?:'ve| have)? (?:packed up and )?left (?P<value>[\w' -]+?) (?:for good|for ever|forever|behind)(?: (?:in|last|this|on) <any>)?", "We left Lisbon for good in March.", "Lisbon", ends="home|work|employer|study|habit"),
    Rule("end", "and i ", r"(?:my )?(?P<value>[\w'-]+) and i(?:'ve| have| are|'re)? (?:<adverb>)*(?:aren't|parted ways|called it quits|went our separate ways|not together|no longer together|not a couple|done|over|finished|split)(?: (?:a couple|together|an item))?<gone><forgood>", "anna and i aren't a couple any more.", "anna", ends="people|partner|work|employer", whose=_PARTNERS),
    Rule("end", "over for|behind me|history|no more", r"(?:my |our |the )?(?P<value><ownthing>[\w' -]{2,40}?)(?:'s| is| are) (?:<adverb>)*(?:over for (?:me|good)|behind me|history|no more)(?: now| for me)*", "Keto is over for me.", "Keto", ends=_ALL),
    Rule("end", "isn't going to happen|aren't going to happen|won't happen|didn't work out|fell apart|didn't happen", r"(?:my |our |the )?(?P<value><ownthing>[\w' -]{2,40}?) (?:(?:isn't|aren't|not) going to happen|won't happen|didn't work out|fell apart|didn't happen)(?: now| after all| for me)*", "The Japan trip isn't going to happen after all.", "Japan trip", ends=_ALL),
    Rule("end", "haven't|have not", r"i (?:haven't|have not) (?:\w+|been to|been|gone to) <mine>(?P<value>[\w' -]+?) <longago>", "I haven't played tennis in over a year now.", "tennis", ends="habit|hobby|possession"),
    Rule("end", "me off", r"(?:(?:the|my) doctors?|they) (?:took|taken|weaned|have taken|got) me off <mine><value><forgood>", "The doctors took me off insulin.", "insulin", ends="health|diet"),
    Rule("end", "outgrown|outgrew", r"(?:<any> (?:that )?)?i(?:'ve| have)? (?:outgrown|outgrew) my <value>(?: allergy| intolerance)", "Tests show I've outgrown my peanut allergy.", "peanut", ends="health|diet|limit"),
    Rule("end", "grown on me", r"(?P<value>[\w' -]+?) (?:has|have)(?: really| kind of)? grown on me", "Olives have grown on me.", "Olives", ends="dislike"),
    Rule("end", "back to eating|back to meat|back on meat", r"i(?:'ve| have|'m| am)? <hadto>(?:gone |went |going |am )?back (?:to|on) (?:eating )?(?P<value>(?P<old>)(?:meat|fish|dairy|gluten|bread|carbs|everything|animal products))", "I've gone back to eating meat.", "meat", ends="diet"),
    Rule("end", "never mind|forget |scrap |scratch ", r"(?:please )?(?:never mind|forget(?: about)?|scrap|scratch) (?:the|my|our) (?P<value>[\w' -]+?)(?: (?:limit|idea|plan|reminder|task|thing))?", "Never mind the passport.", "passport", ends="task|goal|plan|budget|decision"),
    Rule("end", "new owner|new home|been sold|got stolen|was stolen|written off|been scrapped|repossessed", r"(?:my|our|the) (?P<value>[\w' -]+?) (?:went to|has gone to|found|has found|got|was|has been|is) (?:with )?(?:a new (?:owner|home)|sold|stolen|written off|scrapped|repossessed)<forgood>(?: on <any>)?", "The motorbike went to a new owner on Saturday.", "motorbike", ends="possession|pet"),
)  # fmt: skip
