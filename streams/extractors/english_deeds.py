"""Named patterns of what people did, do and plan, made of lists and of each other. A comment says
what each finds; `<name>` stands for the pattern or list of that name (`english_lists.py`).
"""

# ruff: noqa: E501 - a list of words is one line, however long

PARTS = {
    # a time in the past: "yesterday", "last May", "a few weeks ago", "in 2019"
    "then": r"(?:(?:just |only )?(?:yesterday|today|tonight|<lastspan>|<thisspan>|"
    r"the other (?:day|night|week)|recently|<fewago>|(?:on|over the|earlier this) \w+|"
    r"in (?:<month>|\d{4})))",
    "lastspan": r"last (?:night|week|weekend|month|year|season|<season>|<month>|<shortday>)",
    "shortday": r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?",
    "thisspan": r"this (?:morning|afternoon|evening|week|weekend|month|year|spring|summer|"
    r"past \w+)",
    "fewago": r"(?:a|one|two|three|four|five|six|\d+|a few|a couple of|several) (?:<units>|"
    r"weekends?) ago",
    # who did it, the user among them: "I", "my brother and I've"
    "who": r"(?:i|we|me and (?:my|the) [\w ]{2,25}?|<withme>)(?:'ve| have|'d| had)?",
    "withme": r"(?P<company>my [\w ]{2,25}?|[a-z]+(?:,? my [\w ]{2,15}?)?) and i",
    # words between the person and the deed
    "lately": r"(?:just |recently |finally |actually |also |even |already |then |ended up )*",
    # no word ahead that points elsewhere or says nothing ("you", "it", "stuff")
    "clear": r"(?!.*\b(?:you|your|you're|it|<shown>|these|those|there|here|them|"
    r"him|her|any|https?|wow|stuff|pics?|pictures?|photos?|(?:good|decent|huge|big) (?:amount|call)|"
    r"a ton|things?|somewhere|someone|a bit of|something|anything|everything|lots?|lol|haha|what|"
    r"how(?! to)|up to)\b)",
    # "this" and "that", but not of a thing one has made or reads ("baked this rye bread")
    "shown": r"(?:this(?! <partofday>| (?:<fine>|new|old|whole|one|little) \w)|"
    r"that(?! <partofday>| <tells>))"
    r"(?:(?<!made this)(?<!baked this)(?<!painted this)(?<!built this)(?<!drew this)(?<!sewed this)"
    r"(?<!reading this)(?<!finished this)(?<!adopted this)(?<!painted that)(?<!made that)"
    r"(?<!bought this)|(?= (?:after|for|in|on|with|because|when|at|to|from|by|as|before|during|"
    r"while|"
    r"and|yesterday|today|last)\b))",
    # "that" of a relative clause: "a club that helps", "a shop that my sister runs"
    "tells": r"(?:really |also )?(?:captivates|focuses|gives|shows|brings|keeps|involves|"
    r"includes|runs|takes|"
    r"sells|reminds|inspires|fits|serves|covers|explores|helps?|provides?|combines?|supports?|"
    r"works?|"
    r"makes?|teaches|offers?|lets?|needs?|i|we|my|can|has|have)\b",
    "fine": r"(?:cool|crazy|amazing|great|awesome|weird|nice|huge|inspiring|fantastic|cute|"
    r"beautiful|"
    r"wonderful|incredible|lovely|funny)",
    # the next word begins an object
    "object": r"(?!(?:him|her|them|you|one|ones|some(?! new\b)|so|all|because|when|off|out|over|"
    r"about|and|but|again|really|very|mostly|only|well|hard|up|down|together|back|away|home|"
    r"around|through|last|"
    r"hard|ago|(?:a few|a couple of|\w+) <units> ago)\b)",
    # --- past verbs -------------------------------------------------------------------------------
    # any verb in the past that says what somebody did; worth keeping with a time
    "past": r"(?:<irregular>|<hadpast>|<funat>|<regular>|tried(?! (?:to|my best|hard|"
    r"[a-z]+ing)\b))",
    # "had lunch", "had my surgery", not "had a great time"
    "hadpast": r"had(?= (?:an?|my|our|lunch|dinner|surgery|the|some)\b)"
    r"(?! (?:an?|the|some|my) (?:\w+ )?<praise>)"
    r"(?! (?:an?|the|some|my|our) (?:[\w-]+ ){0,3}?<vagueevent>s?\b)",
    # "had a great time at the fair"
    "funat": r"had (?:such )?an? (?:<fine> |really |super |fun |good |wild )*(?:fun|time|blast|"
    r"day|weekend|experience) "
    r"(?:at|in|on|hiking|visiting|exploring)(?! (?:it|that|this|work|home)\b)",
    # "-ed", but for nouns ("need") and what goes on in a head ("hoped")
    "regular": r"(?!(?:need|feed|speed|proceed|succeed|exceed|indeed|seed|shed|wed)\b)"
    r"(?!<nodeed>ed\b|indeed\b|bed\b|red\b)[a-z]{2,}ed",
    # a deed worth keeping without a time
    "deed": r"(?:<beganto>|<lifedeed>|<plaindeed>|<became>|<tried>|<gave>|<did>|<gotto>|<hosted>|<gotnew>|"
    r"finished(?= (?:(?:writing|reading|my|the|a|an|this|another)\b|\ua66e))|made (?:an?|"
    r"my first|this)|built|set up|donated)",
    # what changes a life or is told for years: "gave birth to", "served in", "learned to swim"
    "lifedeed": r"(?:inherited|repainted|redecorated|remodel?led|harvested|eloped|interned (?:at|with|for)|transferred to|enlisted|proposed to|"
    r"gave birth|fell in love|came out as|converted to|competed (?:in|at|against)|backpacked|toured|raced|skied|surfed|climbed|biked|cycled|sailed|camped (?:in|at|on|near|by)|"
    r"fostered|rescued|mentored|coached|taught (?:myself|my|an? (?!lesson))|<lifechange>)",
    # the same, of which nothing more need be said
    "whole": r"(?:graduated|got (?:married|engaged|promoted|accepted|hired|divorced|vaccinated)|gave birth|eloped|fell in love|"
    r"(?:changed|switched) (?:careers|jobs|majors|schools)|had (?:surgery|a miscarriage))",
    "lifechange": r"(?:learn(?:ed|t)(?: how)? to(?! (?:use|click|code this)\b)|served (?:in|as|on)|"
    r"sold my|rented (?:an?|my)|flew to|drove (?:to|across|through)|stayed (?:in|at|with) (?:an?|my|the)|tested positive for|got (?:vaccinated|hurt|injured|surgery|divorced|into(?! the\b))|caught (?:covid|the flu|pneumonia)|"
    r"had surgery|underwent|(?:was|got) (?:named|appointed|chosen|drafted|elected|selected|adopted|raised|baptized|baptised|laid|hospitali[sz]ed|rushed)|"
    r"lost (?:my|our) (?:job|house|home)|grew (?:my|our)|wrote (?:an?|my|our)|met (?:my|an? )(?=.* (?:at|in|through|on|from)\b))",
    # "started a course", not "started to rain"
    "beganto": r"(?:started(?= getting into)|started(?! (?:to|off|out|<nodoing>|introducing|with|"
    r"from)\b)(?= (?:an?|my|our|[a-z]+ing|a[a-z]+)\b))",
    "plaindeed": r"(?:<joining>|<making>|<seeing>)",
    # "joined", "signed up", "won"
    "joining": r"(?:joined|adopted|bought|won|graduated|hosted|organi[sz]ed|participated in|"
    r"took part in|"
    r"attended|volunteered|enrolled|signed up|signed (?:with|an?)|applied (?:to|for)|took up|"
    r"received|passed(?! (?:an?|the) \w+ (?:to|by))|worked (?:with|on|at) (?:an?|my)|sprained|"
    r"injured|tore|recovered from|"
    r"picked up (?:a |an )?(?:\w+ing|new hobby|instrument))",
    # "founded", "painted", "restored"
    "making": r"(?:launched|published|released|founded|opened (?:an?|my|our)|created|painted|wrote|"
    r"completed|raised|performed|streamed|baked|knitted|sewed|drew|carved|composed|planted|"
    r"repaired|"
    r"restored|rebuilt|renovated|celebrated(?= (?:my|our|the|an?|christmas|thanksgiving|easter|"
    r"[\w']+'s)\b))",
    # "visited", "moved to"
    "seeing": r"(?:<injured>|<outing>|cut (?:back|down) on|lost (?:some )?(?=weight|\d)|visited|"
    r"travell?ed (?:to|around|through)|moved (?:to|into|in)|hiked|explored)",
    # "broke my arm"
    "injured": r"(?:broke|hurt|twisted|fractured|strained|pulled|burned|dislocated)(?= (?:my|"
    r"an?) <body>\b)",
    # "went on a cruise", "took a welding course"
    "outing": r"(?:went(?= (?:on an?|(?:hik|camp|ski|surf|kayak|fish|snorkel|climb|danc|swim|bik|"
    r"sail|"
    r"skydiv|rid|bowl|cycl)[a-z]*ing)\b)|took(?= (?:an?|my|"
    r"the kids on an?) (?:[\w-]+ ){0,3}?<tour>\b))",
    # "got hired", "was offered", "became"
    "became": r"(?:got (?:married|engaged|promoted|accepted|hired|<backfrom>|"
    r"(?:an?|my) (?:[\w-]+ )?<gain>)|(?:was|were|been|got) (?:offered|accepted|hired|promoted|"
    r"selected|"
    r"invited to|diagnosed|nominated|awarded|elected)|became)",
    "backfrom": r"back from(?! (?:my |a |the )?(?:\w+ )?(?:walk|work|run|gym|store|shop|jog)\b)",
    # "got a new bike", not "got a new idea"
    "gotnew": r"got(?= (?:a|my|our|myself an?|ourselves an?|some) new "
    r"(?!(?:idea|perspective|friend|look|level|start|thing|phone)s?\b))",
    "tried": r"(?:tried my hand at|helped (?:to )?(?:renovate|organi[sz]e|build|plan|run|raise|"
    r"clean up|"
    r"set up|restore|paint))",
    "gave": r"gave(?= (?:an?|my|our|some|a few) (?:[\w-]+ )?<speech>\b)",
    "did": r"did(?= (?:an?|my|our) (?:[\w-]+ )?<project>\b)",
    "gotto": r"(?:got|had the (?:chance|opportunity)) to (?:volunteer|perform|speak|visit|attend|"
    r"work|"
    r"play|teach|travel|meet|go to)",
    "hosted": r"had(?= (?:an?|our|my) (?:[\w-]+ ){0,2}?<occasion>\b)",
    # nothing ahead that is on a screen or a bill: it is today's trouble, not a memory
    "offscreen": r"(?!.*\b<screen>\b)",
    # news of what somebody did a moment ago: "just repainted"
    "news": r"(?:<deed>|<regular>|wrote|built|sold|drove|flew|taught|led|broke|ran|made(?= an?)|"
    r"took(?= an? (?!look|break|nap|rest|shower|walk|pic|photo|screenshot|while|moment)))",
    # what somebody has ever done: "been to Peru", "gone diving"
    "ever": r"(?:been to (?!too\b|the\b|your\b|my\b)|"
    r"(?:become|gotten|grown) (?:interested in|into|fond of)|"
    r"tried (?=.* (?:a few times|once|twice|for the first time)))",
    # a pursuit of these days, not of this minute: "researching pensions", not "packing my suitcase"
    "busywith": r"(?:<pursuing>(?! the\b)|<busyphrase>)(?!.* (?:right now|today|tonight|soon|"
    r"tomorrow)\b)",
    "busyphrase": r"(?:putting together|getting together|teaming up with|running for(?! (?:it|"
    r"the (?:bus|train)|my)\b)|"
    r"trying(?! (?:to|out|my best|hard|not|again|for)\b)|signing up for|having an? (?:<occasion>|"
    r"show|art|sale))",
}  # fmt: skip
