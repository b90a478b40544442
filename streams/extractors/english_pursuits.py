"""Named patterns of what people usually do, are in the middle of, plan and wish. A comment says what
each finds; `<name>` stands for the pattern or list of that name (`english_lists.py`).
"""

# ruff: noqa: E501 - a list of words is one line, however long

PARTS = {
    # --- habits -----------------------------------------------------------------------------------
    # how often: "every morning", "twice a week", "in my spare time"
    "often": r"(?:every (?:single )?(?:other )?(?:day|week|weekend|morning|night|evening|month|"
    r"year|"
    r"<season>|<day>|christmas|thanksgiving)|each (?:day|week|morning|night|year)|daily|weekly|"
    r"on (?:weekends|weekdays|<day>s|the weekends?)|<times> (?:an?|per|every) (?:day|week|month|"
    r"year)|"
    r"in my (?:free|spare) time)",
    "times": r"(?:once|twice|three times|four times|\d times|a few times|a couple of times|"
    r"a couple times)",
    # no verb of thinking or feeling next: it is no habit
    "notdaily": r"(?!<nohabit>\b)",
    # what somebody is in the middle of: "taking a class", "a member of a choir"
    "engaged": r"(?:<course>|<crafting>|<helping>|<intonew>|<chief>|<inband>|trying out(?! (?:some|one) of)|"
    r"part of(?! an? (?:group|party|team) of )|a member of|doing(?= (?:<exercise>|<training>)))",
    # "taking a class", "rehearsing", "learning"
    "course": r"(?:taking(?= (?:[\w'-]+ ){0,4}?(?:<tour>|classes|courses|leave|medication|pills|supplements|"
    r"vitamins|antibiotics|year off|time off)\b| up | over | on )|"
    r"reading|"
    r"practi[cs]ing|training|learning|rehearsing|interning|preparing for)",
    # "building a boat", "writing", not "writing to ask"
    "crafting": r"(?:working on|writing(?! to (?:ask|you|let|say|inform|complain|see|check|"
    r"follow)\b)|"
    r"building|developing|organi[sz]ing|renovating|remodel?ling|creating|designing|growing|"
    r"collecting|making an?(?! difference))",
    # "volunteering", "fostering"
    "helping": r"(?:volunteering|helping (?:my|our|out (?:at|with)|to)|coaching|mentoring|tutoring|"
    r"fostering|caring for|raising (?!the|awareness))",
    "inband": r"in an?(?! (?:meeting|call|chat|talk|rush|fight))(?= (?:[\w-]+ ){0,3}?(?:band|choir|club|league|team|orchestra|program|programme|musical|"
    r"book club|sorority|fraternity)\b)",
    "intonew": r"getting into(?! (?:trouble|bed|the|an? (?:car|argument|fight|mess))\b)",
    "chief": r"the (?:captain|head|president|leader|coach|owner|founder) of",
    # what has lasted: "known", "played", "been"
    "lasted": r"(?:known|owned|had|worn|kept|collected|played|done|practi[cs]ed|studied|followed|"
    r"supported|run|loved|worked|volunteered|danced|painted|been (?!\w+ing for\b|doing\b|"
    r"thinking\b|"
    r"wanting\b|trying\b|meaning\b|waiting\b))",
    # since when: "for over ten years", "since high school"
    "since": r"(?:for (?:over |about |almost |nearly |around |more than |at least |the past )?"
    r"(?:\w+|\d+)(?: and a half)? (?:years?|months?|decades?)|for (?:ages|years|decades)|<from>)",
    "from": r"since (?:\d{4}|i was (?:a kid|a child|little|young|\w+)|high school|college|"
    r"childhood|"
    r"university)",
    # what somebody has always been: "passionate about trains", "wanted to fly"
    "everso": r"(?:been (?:really |so |very |super )*(?:passionate about|drawn to|interested in|"
    r"fascinated (?:by|with)|into|afraid of|scared of|good at|curious about) <any>|"
    r"wanted to <wish> ?<any>|dreamed (?:of|about) <any>|"
    r"(?:had|felt) an? (?:\w+ )?(?:love|passion|thing|interest|fear|talent|respect|connection|"
    r"admiration|curiosity) (?:for|in|of|to|with) <any>)",
    # --- plans ------------------------------------------------------------------------------------
    "keen": r"(?:really |also |still |always |just |definitely )*",
    # a wish about one's life ("learn Welsh"), not about the next hour ("try the soup")
    "wish": r"(?:live (?:in|on|near|closer|more|abroad|by)|<wishplace>|<wishget>|try (?!an? |some |it|the |out the )|learn (?!more)|become|"
    r"start|"
    r"write|open|create|build|adopt|explore|improve|climb|hike|"
    r"help (?!you|out\b)|read|join|run|teach|"
    r"organi[sz]e|host|develop|volunteer|own|study|move to|perform|publish|launch|"
    r"work (?:in|with|as|at|on)|use my|give back|inspire|raise)",
    # what one wishes for one's life: "I'd like to ..." of anything else is a polite request
    "lifewish": r"(?:learn(?! (?:more|about|how this)\b)|become|study|adopt|own|teach|volunteer|move to|publish|"
    r"start (?:my|our|an? (?!new line|search|chat))|open (?:my|our|an? (?!file|tab|account|ticket))|write (?:my|an? (?:\w+ )?(?:book|novel|memoir|cookbook)s?)|"
    r"run (?:an?|my)|build (?:an?|my) (?!list|table|query)|work (?:in|with|as)|lose weight|find an? (?:new )?job|buy an? |climb|"
    r"get (?:stronger|healthier|fit|in shape|married|back into)|have (?:an? family|kids)|give back|go (?:skydiving|back to))",
    "wishplace": r"(?:visit the (?=[a-z]+ of )|visit (?!an? |some |the |on |next |later|this|today|"
    r"tomorrow|tonight|<day>|"
    r"in the |around )|go (?:hiking|camping|surfing|skiing|skydiving|"
    r"back to (?:school|college|university|work)))",
    "wishget": r"(?:make (?:an?|my)(?! (?:\w+ )?<booked>)|have (?:an?|my) (?:family|kids?|own)|"
    r"lose weight|spend more time|take up|find an? (?:new )?job|"
    r"buy an? (?:house|home|farm|boat|camper)|get (?:stronger|healthier|fit|in shape|married)|"
    r"get (?:an? (?!bus|cab|taxi|ride|car\b|table|room)|into (?!the\b)|better|back into))",
    "lessons": r"(?:[a-z]+ ){1,2}(?:class|classes|course|courses|lessons|training|school|college|"
    r"therapy)",
    # a deed that needs no subject at the beginning of a sentence: "Joined a rowing club."
    "bare": r"(?:<joining>|<became>|<gotnew>|<outing>|<beganto>|finished(?= (?:writing|reading|"
    r"my)\b)|bought)",
    "booked": r"(?:reservation|appointment|booking|payment|call|transfer|list|deposit)",
    # "planning to open", "looking forward to", "off to Rome next week"
    "planning": r"(?:(?:planning|determined|committed|hoping|aiming|preparing|getting ready|excited) to "
    r"(?!see\b|hear\b|catch\b|know\b|be\b)\w+ |planning (?!to\b)|thinking (?:of|about) \w+ing |"
    r"considering (?!how\b|it\b|.* like )|looking (?:into|forward to) (?!hear|see|it)|"
    r"getting ready for |"
    r"going to (?=.*\b(?:tomorrow|next|tonight|weekend|soon|in (?:\w+ )?(?:days|weeks|months))\b)|"
    r"(?:off|heading) to (?=.* (?:for|next|tomorrow|this)\b))",
    # what "going to" is a plan with
    "going": r"(?:visit (?!the (?:city|area|place|store|shop|restroom|bathroom|toilet|website|"
    r"page|bank|doctor|dentist)\b)|move to|adopt|apply (?:to|for)|"
    r"volunteer|learn|study|join|enroll|enrol|become|launch|travel to|sign up|marry|retire|run for|"
    r"start (?:an?|my|our|learning|taking|teaching|volunteering|working|<lessons>)|"
    r"open (?:an?|my|our)|explore|stay in|continue (?:my|our|with my|to)|"
    r"write (?:an?|my)|take (?:an?|up) (?!break|look|nap|rest|shower|walk))",
}  # fmt: skip
