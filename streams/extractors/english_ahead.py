"""English rules: what somebody works towards, has coming up and has achieved; with named parts. Many
of these are said in passing, by a user who asks for something else. One line each
(docs/extractors.md).
"""

# ruff: noqa: E501 - a rule is one line, however long

from streams.extractors.rule import Rule

PARTS = {
    # a change that takes months, not a step of a task
    "striving": r"(?:lose (?:some )?(?:weight|\d|the|my|belly|a few)|gain (?:weight|muscle)|quit|stop (?:smok|drink|bit|vap|eat|procrast|wast)|learn (?!how (?:this|it)\b)|"
    r"eat (?:less|more|health|better|clean|vegan|vegetarian)|save (?:up|money|for)|get (?:pregnant|in shape|back in shape|fit|fitter|healthier|better at|"
    r"out of debt|into (?!the\b|my\b|this\b|it\b))|cut (?:down|back|out)|reduce my|improve my|<strivinglong>)",
    "strivinglong": r"(?:become|build (?:muscle|a (?:business|house|habit))|"
    r"start (?:a|my own) (?:business|family|podcast|blog|garden|company)|conceive|find a (?:new )?job|switch careers|change careers|"
    r"(?:sell|buy) (?:my|our|a|an) (?:\w+ )?(?:house|car|flat|home|apartment|boat|farm|business)|move to|be more|drink (?:less|more)|sleep (?:more|better)|"
    r"spend (?:less|more) time|read more|run a)",
    # a date that is more than a day ahead
    "ahead": r"(?:(?:at the (?:end|beginning|start) of |early |late |sometime )?(?:next|this) (?:week|weekend|month|year|semester|term|<season>|<month>|<day>)|"
    r"(?:early |late |at the (?:end|beginning|start) of )?in (?:early |late |mid-? ?)?(?:<month>|\d{4}|the (?:<season>|new year))|on (?:<d>|the \d|<month> \d|\d{1,2}(?:st|nd|rd|th)? (?:of )?<month>).*|"
    r"<aheadin>)",
    "aheadin": r"(?:in (?:a few|a couple of|two|three|four|five|six|\d+|an?) (?:<units>)|(?:at|over|for) (?:christmas|easter|thanksgiving|new year.*|the holidays|the summer)|soon|"
    r"after (?:graduation|college|high school|university|the (?:summer|holidays)))",
    "coming": r"(?:moving (?!on|forward|ahead|away from)|flying (?:to|home|back)|travell?ing to|driving to|going (?:to|on|back to) (?!bed|sleep|the (?:shop|store|gym|bank|doctor|office|loo|bathroom))|visiting|getting (?:married|divorced|a (?:\w+ )?(?:dog|puppy|cat|kitten|baby|new))|having (?:a baby|twins|surgery|an? (?:\w+ )?operation|our|my|a)|"
    r"<comingtoo>)",
    "comingtoo": r"(?:starting (?:a|an|my|our|at|as|school|college|university|work at)|graduating|retiring|running (?:a|my|the)|opening|launching|adopting|hosting|leaving for|heading (?:to|back to)|emigrating|relocating|turning|expecting|"
    r"defending my|performing|competing|publishing|renovating|taking (?:a|my|the|our) (?:\w+ )?(?:exam|test|trip|sabbatical|course|class|bar)|celebrating|throwing|attending|enrolling|joining|welcoming|becoming|buying a (?:\w+ )?(?:house|home|flat|car)|selling (?:my|our))",
    "attained": r"(?:got my (?:[\w'-]+ ){0,2}?<papers>|got into (?=[\w ]*(?:university|college|school|program))|got an? (?:[\w-]+ )?<gain>|got the job|"
    r"earned (?:my|an?) [\w'-]+|ran (?:my first|a|my) (?:[\w-]+ )?(?:marathon|half|10k|5k|ultra)|passed my [\w'-]+)",
    "stay": r"(?:trip|flights?|tickets?|airbnb|hotel|cruise|holiday|vacation|cabin|villa|place|cottage|campsite|honeymoon)",
    "lifegoal": r"(?:lose (?:about |around |at least )?(?:<number>|\d+) ?(?:kg|kilos?|pounds|lbs?|stone)\b|lose (?:some )?weight|gain (?:weight|muscle)|quit (?:smoking|drinking|vaping|sugar|caffeine)|"
    r"stop (?:smoking|drinking|vaping|procrastinating)|get (?:in shape|back in shape|fit|fitter|healthier)|"
    r"(?:pass|retake) (?:the|my|an?) (?:[\w-]+ ){0,3}?(?:exam(?! (?:results?|questions?|paper|file|object|data)\b)|certification|ielts|toefl|jlpt|driving test)|run (?:an?|my first|the) (?:[\w-]+ ){0,2}?(?:marathon|half(?! of)|10k|5k|ultra))(?!.* (?:game|function|suite|tests|script)\b)",
    "papers": r"(?:licen[cs]e|degree|diploma|certificate|certification|citizenship|green card|visa|phd|master's|black belt|<gain>)",
    "upcoming": r"(?:[\w'-]+ ){0,3}?<occasions>",
    "weare": r"(?:<am>|(?:we|i|<withme>)(?:'re| are))",
}  # fmt: skip
PARTS["ahead"] = PARTS["ahead"].replace("<d>", "<day>")

_WE_ARE = "i'm |i am |im |we're |we are |i are "
_HAVE = "have a |have an |have my |have our |got a |got an |got my |got our "
_UPCOMING = (
    "exam|finals|test|quiz|midterm|interview|surgery|operation|wedding|birthday|anniversary|graduation|presentation|recital|marathon|tournament|competition|due date|scan|hearing|"
    "court date|audition|defense|defence|reunion|exhibition|baby shower|retreat|conference|driving test|vacation|holiday"
)

RULES = (
    # --- what somebody works towards ------------------------------------------------------------
    Rule("background", "trying to ", r"(?:<weare>|(?:i|we)(?:'ve| have) been) (?:<ly>)(?P<value>trying to (?=<striving>)<clear><any>)", "I'm trying to lose weight before my wedding.", "trying to lose weight before my wedding", "Is {value}.", family="goal"),
    Rule("background", "going through", r"(?:<weare>|(?:i|we)(?:'ve| have) been) (?:<ly>)(?P<value>going through (?:an?|my|our|the|ivf|chemo\w*|menopause|perimenopause) ?(?:[\w-]+ )?(?:divorce|breakup|break-up|separation|chemo\w*|treatment|bankruptcy|menopause|custody \w+|miscarriage|ivf|immigration \w+|burnout)?(?: <any>)?)", "I'm going through a messy divorce.", "going through a messy divorce", "Is {value}.", family="value"),
    Rule("background", "follow a|follow an|on a|low-carb|low carb|low-fodmap|intermittent", r"(?:i (?:<ly>)(?:follow|eat|keep|do)|<am> (?:<ly>)(?:on|following|doing)) (?:an? )?(?P<value>(?:(?:strict|mostly) )?(?:[\w-]+ ){0,2}?diet|low[- ](?:carb|fodmap|salt|sodium|fat)|intermittent fasting)(?: .+)?", "I follow a low-fodmap diet.", "low-fodmap diet", "Follows {a} {value}.", family="diet"),
    Rule("background", "want to |wanna |need to |trying to ", r"i <keen>(?:want to|wanna|need to) (?P<value>(?=<lifegoal>)<clear><any>)", "I want to lose ten kilos.", "lose ten kilos", "Wants to {value}.", family="goal", confidence=0.85),
    Rule("background", "someday|one day|eventually|again|before i ", r"i(?:'d| would)? <keen>(?:want to|wanna|love to|like to|hope to) (?:visit|go (?:back )?to|live in|move to|travel (?:to|around)|see) <value> (?:someday|some day|one day|eventually|again|before i (?:die|turn \d+))", "I'd love to go to Iceland someday.", "Iceland", "Wants to go to {value}.", family="plan", confidence=0.85, takes="visited"),
    Rule("background", "would rather |'d rather ", r"i(?:'d| would) (?:always |much )?rather (?P<value>(?!(?:be|have|not|see|know|it|that|go with|do|just|you|we|get|pay|leave|stay|book|use|write|return|call|make|keep|put|send|wait|talk|die|take the \d)\b)[a-z]+ <clear><any>) than (?!(?:the|this|that|it)\b)<any>", "I'd rather cycle to work than drive.", "cycle to work", "Would rather {value}.", family="identity", confidence=0.85, passing=True),
    Rule("background", "booked ", r"(?:i|we)(?:'ve| have)? <lately>(?P<value>booked (?:our|my|an?|the|some|us an?|us) (?:[\w-]+ ){0,2}?<stay> (?:to|in|on|near|at) <clear><any>)", "We booked a cabin in Norway for August.", "booked a cabin in Norway for August", "{value}.", family="plan", confidence=0.85, passing=True),
    # --- what is coming -------------------------------------------------------------------------
    Rule("background", _WE_ARE, r"<weare> (?:<adverb>|officially |all |both )*(?P<value>(?=<coming>)<clear><coming> ?(?:<any>)?<ahead>(?: (?:with|for|and|to|in|at|from|because) <any>)?)", "We're moving to Malmo in October.", "moving to Malmo in October", "Is {value}.", family="plan", confidence=0.85, passing=True),
    Rule("background", _HAVE, r"(?:i|we)(?:'ve got| have)(?: got)? (?:<ly>)(?P<value>(?:an?|my|our) <upcoming>(?: (?:in|for|at|with|of|to) <any>)?(?: coming up(?: <any>)?| <ahead>))", "I have my driving test next Thursday.", "my driving test next Thursday", "Has {value}.", family="plan", confidence=0.85, passing=True),
    Rule("background", _UPCOMING, r"(?P<value>(?:my|our) <upcoming>(?: (?:in|for|at|with|of|to) <any>)? (?:is|are) (?:coming up(?: <any>)?|<ahead>))", "My wedding is in September.", "My wedding is in September", "{value}.", family="plan", confidence=0.85, passing=True),
    Rule("background", "was in |were in |been in ", r"<then>? ?(?:i|we)(?: was| were|'ve been| have been) in <value>(?: (?:<then>|for (?:an?|two|three|\d+|the) (?:<units>|weekend|conference|wedding)))?", "I was in Lisbon last week.", "Lisbon", "Was in {value}.", family="event", confidence=0.85, takes="visited", passing=True),
    # --- what somebody has done -----------------------------------------------------------------
    Rule("background", "got my|got into|earned|ran my|ran a|passed my|came first|came second|came third|got the job|got a job|got a promotion|got my dream", r"<who> <lately>(?P<value><clear><attained>(?: <any>)?)", "I finally got my dream job.", "got my dream job", "{value}.", family="event", confidence=0.85),
    Rule("background", "spent a|spent two|spent three|spent four|spent six|spent the|spent my|spent last|spent our|spent five", r"<who> <lately>(?P<value><clear>spent (?:an?|two|three|four|five|six|the|last|my|our|\d+) (?:[\w-]+ )?(?:days?|weeks?|months?|years?|summers?|semester|winter|childhood|honeymoon|holidays?|vacation|gap year) (?:in|at|on) <any>)", "We spent our honeymoon in Iceland.", "spent our honeymoon in Iceland", "{value}.", family="event", confidence=0.85),
)  # fmt: skip
