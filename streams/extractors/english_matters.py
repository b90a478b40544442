"""English rules: what matters to somebody, does them good, or is looked up to; with named parts.

One line each (docs/extractors.md).
"""

# ruff: noqa: E501 - a rule is one line, however long

from streams.extractors.rule import Rule

PARTS = {
    # what does somebody good: "Running", "my garden", "Choir practice"
    "source": r"(?:(?!(?:imagining|being|having|hearing|seeing|talking|knowing|everything|anything|"
    r"something|nothing|thing|looking|waiting|king|during)\b)[a-z]{2,}ing|"
    r"my (?!friends? \w+ and|phone|computer|laptop|app|screen)[a-z]+|<field>)",
    # anything that may matter, in up to four words; what points elsewhere is left out by <notyours>
    "matter": r"(?!(?:it|its|this|that|these|those|they|he|she|there|what|which|who|one|everything|"
    r"all|here|nothing|something|anything|i|we|you|if|but|and|or|so|the|an?)\b)[a-z][\w-]*"
    r"(?: (?:and|of|to|in|for|with|at|my|the|our|[\w-]+)){0,5}?",
    "notyours": r"(?!.*\b(?:you|your|you're|it|this|that|them|these|those(?! (?:in|who))|him|her|his|their)\b)",
    # what it does: "helps me sleep", "is my escape"
    "boon": r"(?:(?:helps?|keeps?|makes?|gives?|calms?|reminds?|inspires?|brings?|motivates?|pushes|"
    r"push|drives?|energi[sz]es?|<hasdone>) me (?!wait|want|wonder|cry|laugh|sad|sick|angry|nervous|awake|mad|anxious|late|busy|tired)<any>|"
    r"(?:calms?|relaxes|relax|comforts?|motivates?|inspires?|energi[sz]es?) me|<ismy>|<iscalm>|<isaway>)",
    "hasdone": r"(?:has|have|'s|'ve) (?:really |also )?(?:helped|made|given|taught|allowed|inspired|"
    r"brought|kept|shown|motivated)",
    "bes": r"(?:'s| is| are| was| were|'re| has been| have been)",
    "ismy": r"(?:is|are) my (?:\w+ )?(?:passion|motivation|inspiration|escape|happy place|therapy|"
    r"outlet|rock|comfort|refuge|stress relief|stress reliever|support system|hobby|guilty pleasure|weakness|favou?rite pastime)s?(?: <any>)?",
    "iscalm": r"(?:is|are) (?:so|really|super|very) (?:relaxing|calming|therapeutic|freeing|soothing)"
    r"(?: (?:and|for me)\b.*)?",
    "isaway": r"(?:is|are) (?:such )?an? (?:[\w-]+ )?way (?:for me )?to "
    r"(?=.*\b(?:my|me|relax|unwind|de-?stress|destress|escape)\b)<any>",
    # what it is to somebody, whatever it is: "means a lot to me", "is a huge part of my life"
    "weight": r"(?: (?:<adverb>)*means? (?:a lot|so much|a great deal|everything|the world) to me|"
    r" (?:<adverb>)*matters?(?: a lot| so much| deeply)? to me|"
    r"<bes> (?:<adverb>|super |incredibly )*important to me(?: during <any>)?|"
    r"<bes> (?:like )?therapy (?:for|to) me|<bes> (?:mostly |really |totally )?my (?:thing|life|passion)|"
    r"<bes> an? (?:huge|big|important|major|large|significant|essential) part of (?:my|our) (?:life|lives)|"
    r" brings? (?:me|joy to my life)(?: such| so much| great| a lot of)?(?: (?:joy|peace|comfort|calm))?(?: <any>)?)",
    # a hardship of one's own, not an error message
    "hardship": r"(?!(?:the|some|another|one|two|an?)\b)",
    "relaxing": r"(?:relaxing|calming|therapeutic|freeing|soothing|rewarding|fulfilling|satisfying|"
    r"refreshing|empowering)",
}  # fmt: skip

_BOON = (
    "motivates me|motivate me|drives me|pushes me|push me|relaxes me|comforts me|energizes me|"
    "is my |are my |so relaxing|so calming|so therapeutic|way to |helps me|help me|keeps me|"
    "keep me|makes me|make me|gives me|give me|calms me|reminds me|inspires me|brings me|bring me|"
    "helped me|made me|given me|taught me|allowed me|inspired me|brought me|kept me|shown me"
)
_WEIGHT = (
    "mean a|mean s|mean e|mean t|means a|means s|means e|means t|matter|important to me|therapy for|"
    "therapy to|my thing|my life|my passion|part of my|part of our|brings|bring "
)

RULES = (
    Rule("background", "helped me", r"(?P<value><notyours><source>(?: [\w'-]+){0,3}? (?:<adverb>)*helped me <any>)", "Swimming helped me recover from surgery.", "Swimming helped me recover from surgery", "{value}.", family="value", confidence=0.85),
    Rule("background", "i find |i also find", r"i (?:<ly>)find (?P<value><notyours><any> (?:<adverb>)*<relaxing>)", "I find ironing relaxing.", "ironing relaxing", "Finds {value}.", family="value", confidence=0.85),
    Rule("background", "struggling with|dealing with|coping with|battling", r"(?:(?:i|we)(?:'ve| have) been|<am>) (?:<ly>)(?P<value>(?:struggling with|dealing with|coping with|battling(?: with)?) <notyours><hardship><any>)", "I've been struggling with insomnia.", "struggling with insomnia", "Has been {value}.", family="habit", confidence=0.85),
    Rule("background", "good at|great at|bad at|terrible at|talented at|hopeless at", r"<am> (?:<ly>)(?P<value>(?:not )?(?:<adverb>)*(?:good|great|bad|terrible|talented|hopeless) at <notyours>(?!\d|(?:what|all|noon|explaining|saying|the moment)\b)<any>)", "I'm terrible at remembering birthdays.", "terrible at remembering birthdays", "Is {value}.", family="identity", confidence=0.85),
    Rule("background", _BOON, r"(?P<value><notyours><source>(?: [\w'-]+){0,5}? (?:<adverb>)*<boon>)", "Running helps me clear my head.", "Running helps me clear my head", "{value}.", family="value", confidence=0.85),
    Rule("background", _BOON, r"(?P<value><notyours><matter>(?:'s|'ve| has| have) (?:really |also )?(?:helped|given|taught|allowed|brought|kept) me <any>)", "Meditation has helped me cope with night shifts.", "Meditation has helped me cope with night shifts", "{value}.", family="value", confidence=0.85),
    Rule("background", _WEIGHT, r"(?P<value><notyours><matter><weight>)", "Punctuality matters a lot to me.", "Punctuality matters a lot to me", "{value}.", family="value", confidence=0.85, passing=True),
    Rule("background", "relaxing|calming|therapeutic|freeing|soothing", r"(?P<value><notyours><matter><bes> (?:so|really|super|very|such an? \w+) <relaxing>(?: (?:and|for me)\b.*)?)", "Sailing's so relaxing.", "Sailing's so relaxing", "{value}.", family="value", confidence=0.85),
    Rule("background", "way to ", r"(?P<value><notyours><source>(?: [\w-]+)?'s (?:such )?an? (?:[\w-]+ )?way (?:for me )?to (?=.*\b(?:my|me|relax|unwind|destress|escape)\b)<any>)", "Knitting's a good way to relax.", "Knitting's a good way to relax", "{value}.", family="value", confidence=0.85),
    Rule("background", "important to me|important for me|s important to|is important to", r"(?:it(?:'s| is) (?:<adverb>|so )*important (?:to|for) me to|i (?:feel|believe|find)(?: like| that)? it(?:'s| is)? ?(?:<adverb>|so )*important to) (?P<value><clear><any>)", "It's important to me to pay my suppliers on time.", "pay my suppliers on time", "Finds it important to {value}.", family="value", confidence=0.85),
    Rule("background", "value |cherish|treasure", r"(?:i|we) (?:<ly>)(?:value|cherish|treasure) (?P<value><notyours>(?!the (?:feedback|opinion|thought|idea|day))<any>)", "I really value honesty at work.", "honesty at work", "Values {value}.", family="value", confidence=0.85),
    Rule("background", "admire|look up to", r"(?:i|we) (?:<ly>)(?:admire|look up to) (?P<value><notyours>(?!(?:how|what|the)\b)<any>)", "I really admire Marie Curie.", "Marie Curie", "Admires {value}.", family="value", confidence=0.85),
    Rule("background", "believe in", r"(?:i|we) (?:<ly>|firmly )believe in (?P<value><notyours>(?!myself|god knows|what\b)<any>)", "I believe in free public libraries.", "free public libraries", "Believes in {value}.", family="value", confidence=0.85),
    Rule("background", "inspired by|motivated by|fascinated by|drawn to", r"(?:<am>|i feel) (?:<ly>)(?P<value>(?:inspired by|motivated by|fascinated by|drawn to) <notyours>(?!how\b|what\b|all\b)<any>)", "I'm inspired by Nordic architecture.", "inspired by Nordic architecture", "Is {value}.", family="value", confidence=0.85),
    Rule("background", "lucky to have|blessed to have|fortunate to have", r"<am> (?:<ly>)(?:lucky|blessed|fortunate) to have (?P<value><notyours>(?!my (?:family|friends|team)$)(?:my|an?|two|three|at least) (?=.*\b(?:<kin>s?|<colleagues>s?|<kids>|people|bond|relationship|community)\b)<any>)", "I'm lucky to have a patient husband.", "a patient husband", "Is lucky to have {value}.", family="value", confidence=0.85),
    Rule("background", "bucket list", r"(?:(?P<value><notyours><any>) (?:is|are) (?:<ly>)on (?:my|our) bucket list|(?:on )?(?:my|our) bucket list (?:is|has) (?P<value2><notyours><any>))", "Iceland is on my bucket list.", "Iceland", "Has on the bucket list: {value}.", family="plan", confidence=0.85),
    Rule("background", "a dream|my dream|lifelong dream", r"it(?:'s| has) (?:always )?been (?:a|my|our) (?:lifelong |big )?dream (?:of (?:mine|ours) )?to (?P<value><clear><any>)", "It's been a dream of mine to run a vineyard.", "run a vineyard", "Has the dream to {value}.", family="plan", confidence=0.85),
)  # fmt: skip
