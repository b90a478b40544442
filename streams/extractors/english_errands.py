"""Named patterns of what users say to an agent: errands, limits, choices, corrections and ends. A
comment says what each finds; `<name>` stands for the pattern or list of that name
(`english_lists.py`).
"""

# ruff: noqa: E501 - a list of words is one line, however long

PARTS = {
    # --- homes, people, work ----------------------------------------------------------------------
    # "live", "am based", "have moved"
    "dwell": r"(?:i (?:<ly>)(?:live|reside)|<am> (?:<ly>)(?:based|living|located)|"
    r"i(?:'ve|ve| have) (?:<ly>)(?:been living|lived)|(?:i|we)(?:'ve| have| just| recently)* "
    r"(?:moved|relocated)|we live)",
    # what leads to the name of a place: "in", "just outside", "over in"
    "whereto": r"(?:in|to|at|out in|over in|back to) "
    r"(?:(?:a|an|the) (?:small |little |big )?(?:city|town|village|suburb) (?:of|called) )?",
    # "near", "just outside", "on" an island
    "beside": r"(?:(?:just )?outside(?: of)?|(?:quite |very )?(?:near|close to)|on|by)",
    # not "in fear", "in the moment"
    "realplace": r"(?!constant|fear|hope|denial|peace|"
    r"(?:the|this|that) (?:area|town|city|moment|past|hotel))",
    # "am from", "grew up in", "was born in"
    "comefrom": r"(?:<am> (?:<ly>)(?:originally )?from|i come from|i grew up in|"
    r"i was (?:born(?: and raised)?(?: (?:in|on) (?:[a-z]+ )?(?:\d{1,2},? )?\d{4},?)?|raised) in|"
    r"<am> originally from)",
    # what follows is a place, not a time or a team
    "noorigin": r"(?!now\b|\d|(?:the )?(?:<month>|<season>)\b|"
    r"the (?:\w+ )?(?:team|future|internet|department|company)|here\b|this\b)",
    # "work", "am employed", "have been working"
    "working": r"(?:i (?:<ly>)work|<am> (?:<ly>)(?:working|employed)|"
    r"i've (?:<ly>)(?:been working|worked)|i have (?:worked|been working))",
    # "from home", "night shifts"
    "workhow": r"(?:from home|the (?:late|early|day|graveyard|weekend|evening|morning) shift|night shifts?|nights|remotely|the night shift|shifts)(?: (?!you know|so yeah|and stuff)<any>)?",
    # "Dutch, English and a bit of Turkish"
    "tongues": r"<tongue>(?:, (?:<some>)?<tongue>)+(?:,? and (?:<some>)?<tongue>)?",
    "some": r"(?:(?:some|fluent|basic|decent|a (?:bit|little)(?: bit)?(?: of)?) )",
    # what somebody close is: "is a doctor", "works at", "turned five"
    "kinis": r"(?:(?:is|are|'s) (?:<adverb>)*(?:an? |called |named |from |<kinnow>|\d|one|two|three|four|"
    r"five|six|"
    r"seven|eight|nine|ten|in (?:\w+ grade|high|college|kinder)|allergic|vegan|vegetarian|pregnant|"
    r"deaf|blind|retired|diabetic|based|studying|turning|lactose|celiac|autistic|afraid of|"
    r"[a-z]+(?:ian|ese|ish|ican)\b)|<kinfell>|<kinaims>|<kindoes>)",
    "kindoes": r"(?:works? (?:as|at|for|in|from|nights)|lives? (?:in|with|near|at)|"
    r"has (?:an? |been (?:diagnosed|ill|sick)|just (?:started|turned|moved)|adhd|asthma|diabetes|two|three|celiac)|was born|goes to|"
    r"start(?:s|ed) (?:school|college|university|kinder|work|nursery)|lost (?:his|her|their) (?:job|sight|hearing|house|home|licen[cs]e)|studies|speaks|turns|turned|teaches)",
    "kincannot": r"(?:(?:really |also )?(?:can't|cannot|can not) (?:eat|drink|have|stand|handle|tolerate|walk|hear|see|swim|fly|drive|climb)|"
    r"(?:doesn't|does not) (?:eat|drink))",
    "kinneeds": r"uses (?:an? (?:\w+ )?(?:wheelchair|walker|cane|stick)|crutches|hearing aids)",
    "kinnow": r"(?:going to (?:be|become|study|college|school|move|start)|getting (?:married|divorced)|expecting|moving (?:to|in)|visiting (?:us|me)|"
    r"coming to|graduating|starting|in (?:hospital|love)|dying|ill\b|sick with|non-?verbal|left-handed)",
    "kinaims": r"(?:wants?|hopes?|plans?|decided|is learning) to (?:become|be an?|study|learn|move|start|"
    r"marry|adopt|retire|play)",
    "kinfell": r"<kinneeds>|(?:had|got into|was in|got in|suffered) (?:an? )?(?:[\w-]+ )?(?:accident|stroke|heart attack|surgery|operation|crash|miscarriage|baby(?: \w+)?|twins|fall|seizure)",
    # a habit by its verb: "play", "do yoga"
    "practise": r"(?:mentor|tutor|foster|grow|breed|brew|bake|knit|restore|compose|referee|farm|"
    r"sing(?= in)|dance(?= in)|drive|run|play|use|manage|lead|ride|commute|volunteer|coach|keep|"
    r"collect|"
    r"do(?= <exercise>))",
    # what follows such a verb is a thing or pursuit of one's own
    "pursuit": r"(?! (?:\w+ing\b|it|this|that|these|them|into|out|to|my|in on|up|late|a hard|"
    r"around|"
    r"your|the (?!\w+ in)\w+ (?:of|and)|the tests?)\b)",
    # "my long-term goal for this year"
    "mygoal": r"my (?:main |current |long-term |big |new |number one |ultimate )?"
    r"(?:goal|aim|dream|target|objective)(?: (?:this|for|right|these) [\w ]+?)?",
    # --- likes ------------------------------------------------------------------------------------
    # what is liked is not "it", "how ...", "to see ..."
    "likable": r"(?!(?:it|that|this|these|those|them|you|your|the|how|when|what|where|to (?:know|"
    r"think|"
    r"see|get|have|book|make|eat|watch|go|buy|hear|listen|travel|find))\b)(?!.* (?:is|are|was) )",
    # what one "got into" and does not like: a school, trouble
    "admitted": r"(?:oxford|cambridge|harvard|stanford|mit|yale|princeton|berkeley|med|medical|law|grad|college|uni|university|drama school|art school|the|an?|trouble|debt)\b",
    "keenon": r"(?:more )?(?:(?:a )?(?:big |huge |massive |real |great )?(?:fan of|sucker for)|into|hooked on|fond of|"
    r"crazy about|obsessed with|keen on|partial to|passionate about|addicted to)",
    "hating": r"(?:hate|detest|loathe|despise|dislike|abhor|can't stand|cannot stand|can't bear|"
    r"cannot bear)",
    # what is hated is not "it", "to say", "you"
    "hateful": r"(?!it\b|that\b|this\b|to (?:say|break|ask|admit|bother|be that)|on (?:one|my)|"
    r"up\b|"
    r"you\b|your\b)",
    # what is not liked is not "the idea", "it"
    "dislikable": r"(?!(?:the|it|that|this|these|those|them|how|the (?:way|idea|look|sound|first|"
    r"second|"
    r"one)|to (?:be|say))\b)",
    # --- corrections ------------------------------------------------------------------------------
    # what is corrected is a thing of one's own, not "the problem" or "life"
    "nothing": r"(?!(?:\w+ )?(?:life|problem|issue|point|thing|question|answer|truth|key|reason|difference|goal|fact|trick|world)\b)",
    "blamed": r"(?:the|an?|my) (?:real |main |only |biggest )?(?:issue|problem|point|reason|question|concern|worry)\b",
    # "no longer drink", "stopped eating"
    "notuse": r"(?:no longer|stopped|'ve stopped|have stopped|"
    r"(?:don't|do not)(?=.* (?:any ?more|any longer|now)\b)) <ly>(?:like|love|enjoy|prefer|"
    r"drink|drinking|eat|eating|use|using|liking|play|playing|read|reading|watch|watching|"
    r"listen to)",
    # "I prefer", "switched to", "I'm into"
    "nowuse": r"(?:i(?:'d)? <ly>(?:like|love|enjoy|prefer|drink|eat|use|play|read|watch|listen to|"
    r"switched to|go for)|switched to|we (?:use|switched to)|we're on|<am> <ly>(?:into|a fan of))",
    # a home that has no name: "moved out of my old flat"
    "ownhome": r"(?:place|flat|apartment|house|home|room|dorm|condo|studio)(?!\w)",
    "isoff": r"(?:(?:is|are) (?:now |all |officially |completely )*(?:off|cancell?ed|called off|not happening)|isn't happening|"
    r"(?:has|have) (?:now )?(?:been (?:cancell?ed|called off)|fallen through)|(?:was|were|got) (?:cancell?ed|called off)|fell through)",
    # what people look forward to for weeks, not a meeting
    "lastingplan": r"(?:trips?|road ?trip|holidays?|vacation|honeymoon|getaway|cruise|wedding|engagement|move|relocation|reunion|"
    r"party|marathon|race|tour|surgery|operation|exchange|sabbatical|internship|renovation|house sale|adoption|retreat|festival)",
    # who lets people go: a name, but nobody's
    "ownfirm": r"(?:they|my (?:company|boss|employer|manager|work|job|firm)|work|the (?:company|firm|agency))",
    # when and why somebody was let go
    "dismissed": r"(?:<then>|after (?:[\w-]+ ){1,3}(?:years?|months?|weeks?)|because .+|due .+|from (?:my|the) .+|in <month>.*|as part .+)",
    "firm": r"(?!(?:the|a|an|my|our|his|her|they|he|she|it|you|this|that|we|i|who|what|never|god|please|so|then|<kin>)\b)(?:[\w&.-]+(?: [\w&.-]+){0,2})",
    # --- ends -------------------------------------------------------------------------------------
    # "quit my job", "was laid off"
    "jobless": r"(?:(?:quit|left|lost) (?:my|the) (?:[\w-]+ ){0,2}?(?:job|work|position|company|"
    r"role|gig)|"
    r"resigned|handed in my notice|(?:was|got|been|were) (?:laid off|fired|let go|made redundant)|"
    r"retired)",
    "gaveup": r"(?:quit|stopped|gave up(?: on)?|given up(?: on)?|giving up(?: on)?|cut out)",
    # what was given up is a thing or pursuit of one's own
    "habitual": r"(?!(?:by|to|at|off|in|for|it|that|this|you|them|what|because|when|and|"
    r"my (?:job|work)|the job|hope|being|(?:the |this |that )?(?:questions?|problem|step|level|chapter|exercise|page|part|"
    r"puzzle|task|idea|conversation|order|call|search)(?! \w{3}))\b)",
    "liking": r"(?:like|love|enjoy|prefer|care for|care about|adore)",
    # "don't like", "am not into", "am over"
    "notliking": r"(?:(?:i|we) (?:don't|do not) <ly><liking> |<am> (?:no longer|not) <ly>(?:into|"
    r"a fan of|"
    r"a big fan of|interested in|fond of|keen on) |i(?:'m| am) over |"
    r"i(?:'ve)? (?:lost interest in|grown tired of|got bored of) )",
    "calledoff": r"(?:cancel(?:led|ed)?|call(?:ed)? off|scrap(?:ped)?|abandon(?:ed)?|shelved?|"
    r"changed my mind about|backed out of)",
    "felloff": r"(?:got cancelled|was cancelled|was canceled|got canceled|fell through|is off|"
    r"is cancelled)",
    # "am not planning to", "no longer training for"
    "notgoing": r"(?:<am>|we're|we are) (?:no longer|not) (?:going|planning|thinking|hoping|"
    r"training|"
    r"saving|studying|applying) (?:to|on|for|of|about)",
    # --- limits -----------------------------------------------------------------------------------
    # a quantity, a time or a kind of food, of which there is "only" that
    "amount": r"(?:[^.!?;]*\d|[^.!?;]*(?:minutes|hours?|days?|weeks?|<day>s?|weekends?|mornings?|"
    r"evenings?|afternoons?|halal|kosher|vegan|vegetarian|organic|cash|nights?|a half)\b|one )",
    # what a requirement is of: "it", "the report", "all replies"
    "required": r"(?:it|everything|the \w+(?: \w+)?|this|all \w+(?: \w+)?|any \w+(?: \w+)?|"
    r"my \w+(?: \w+)?|our \w+(?: \w+)?)",
    "oughtto": r"(?:must|has to|have to|needs to|need to)",
    # "be under 5 MB", "run on", "cost"
    "overrun": r"(?:exceed|cost|contain|include|weigh|use more|be (?:over|above|more|longer|larger|bigger))",
    "conform": r"(?:be <property>|run|fit|support|use|stay|cost|comply|contain|include|exceed|"
    r"remain|"
    r"weigh|work (?:on|with|without|offline|in)|follow|pass|handle)",
    "property": r"(?:under|below|within|less|at most|no more|compatible|accessible|offline|open|"
    r"free of|"
    r"ready|finished|done|vegan|vegetarian|halal|kosher|gluten|wheelchair|in (?:python|english|"
    r"german|"
    r"french|java|rust|spanish|pdf|json|metric)|short|delivered|backwards?|able|usable|signed|"
    r"encrypted|stored|kept|written)",
    # "avoid salt", "stick to"
    "restrain": r"(?:avoid|stay (?:under|within|below|away|off)|keep (?:it|everything|costs?|my|"
    r"the|our) |"
    r"limit|stick to|watch my|use (?:only|python|java|windows|linux)|work (?:with|within)|support)",
    # an order about how to answer or what to leave out, after "please"
    "politeorder": r"(?:never|always|avoid|stick to|stop|don't (?:ever|give|book|email|<donot>)|"
    r"do not <donot>|keep (?:your |all |the |my )?(?:<answers>|it|things|messages|everything|code|"
    r"examples)|(?:answer|reply|respond|write|speak) (?:to me )?(?:only )?in)",
    "donot": r"(?:use|call|send|include|suggest|recommend|mention|add|put|write|reply|answer|"
    r"schedule)",
    "fromnow": r"(?:from now on|going forward|in (?:the )?future)",
    "keepreplies": r"keep (?:your |all |the |my )?(?:<answers>|messages|summaries)",
    # "always answer", "never call"
    "everorder": r"(?:never|always) (?:use|answer|reply|respond|write|call|send|include|give me|"
    r"suggest|"
    r"recommend|book|schedule|add|mention|share|contact|speak|keep|explain|start|end|format|ask|"
    r"show|"
    r"cite)(?! (?:it|this|that)\b)",
    # "don't suggest"
    "dontorder": r"(?:don't|do not) (?:use|include|suggest|recommend|schedule|book|call me|"
    r"contact me|"
    r"send me|mention|email me|message me|give me|serve|add)"
    r"(?! (?:anything|anyone|it|this|that|these|those|them|any)\b)",
    # --- decisions --------------------------------------------------------------------------------
    # "decided to", "settled on", "made up my mind"
    "decide": r"(?:decided (?!to ask you)(?:to |on |that |against |in favou?r of |we'll |i'll )?|"
    r"chosen (?:to )?|chose (?:to )?|settled on |opted (?:for |to )|<mymind>|concluded that |"
    r"picked (?!up)|agreed (?:to|on|that) |gone with )",
    "mymind": r"made up my mind(?: to| that|:|,)? (?:i'm |i'll |i am |we're )?",
    "letme": r"(?:let's|we'll|i'll|we will|i will|(?:we're|i'm|i am|we are) going to)",
    # "go with", "stay with" something that has a name
    "gowith": r"(?:go|stick|stay|move forward|proceed|move ahead) with (?!that|this|it\b|you\b|"
    r"the (?:first|second|third|last|one)|these|those|your|them)",
    "notchoice": r"(?!that|this|it\b|these|my|two|three|\d|people|friends|him|her|them|a friend|"
    r"the (?:first|second))",
    # "use", "switch to", "postpone"
    "adopt": r"(?:use|settle on|switch to|adopt|drop|keep (?!looking|going|searching|in|it|on)|"
    r"ship|target|"
    r"migrate to|build on|standardi[sz]e on|host|deploy|name it|call it|store|write it in|skip|"
    r"postpone|cancel)",
    # --- tasks ------------------------------------------------------------------------------------
    # "remind me tomorrow to", "don't let me forget to"
    "remind": r"(?:remind me (?:<remindwhen>,? )?(?:that i (?:need|have) )?(?:to|about)|"
    r"don't let me forget (?:to|about)|(?:i|we) (?:need to|must|have to|should|"
    r"want to) remember to|"
    r"(?:i|we) (?:can't|mustn't|must not|shouldn't|cannot) forget (?:to|about)|note to self:?)",
    "remindwhen": r"(?:tomorrow|tonight|later|on <day>|next week|at [\w: ]+?|in [\w ]+?|"
    r"in the [\w ]+?|"
    r"this [\w]+)",
    "haveto": r"(?:'ve got to| still need to| still have to| need to| have to| must|'m supposed to|"
    r" am supposed to| also need to| also have to| really need to| really have to| should| gotta)",
    # what has to be done is an errand, not a thought, a trip or a meal
    "errandly": r"(?!<noerrand>)(?!(?:the|an?|my|our|not|just)\b|get\b|schedule\b|urge\b|enjoy\b|buy \d|head\b|\w+ (?:it|this|"
    r"that)\b|"
    r"pick (?:it|up the car|the car)|do\b)",
    "finishing": r"(?: (?:writing|reading|doing|making|preparing|fixing|cleaning|painting|editing|"
    r"packing|setting up|working on))?",
    "theone": r"(?:(?:the|my|our|that|all|all the|all my|a|an) )?",
    "lastly": r"(?: (?:already|today|yesterday|this (?:morning|afternoon|evening|week)|"
    r"last (?:night|week)|an hour ago))*",
    "hoursago": r"(?:this (?:morning|afternoon|evening)|today|yesterday|last night|"
    r"(?:an hour|two hours|a few \w+|two days) ago)",
    # "just" before an errand, or "already", "finally"
    "justnow": r"(?:(?:<we> )?(?:(?:just|now) )+(?=<errandjust>)|(?:<we> )?(?:(?:already|finally|"
    r"also) )+)",
    "crossoff": r"(?:cross|tick|check) (?:off (?:the |my )?(?P<value><any>)|"
    r"(?:the |my )?(?P<value><any>) off(?: (?:my|the) .+)?)",
}  # fmt: skip
