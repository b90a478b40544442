"""English rules: what happened, what is usual, what is planned. One line each (docs/extractors.md)."""

# ruff: noqa: E501 - a rule is one line, however long

from streams.extractors.rule import Rule

_THEN = (
    "yesterday|today|tonight|last n|last w|last m|last y|last s|last f|last a|last t|last j|last o|last d|this m|this a|"
    "this e|this w|this y|this s|this p|the other d|the other n|the other w|recently| ago|"
    "over the w|in january|in february|in march|in april|in may|in june|in july|in august|"
    "in september|in october|in november|in december|on mon|on tue|on wed|on thu|on fri|on sat|on sun"
)
_DEED = (
    "started|joined|adopted|bought|won|graduated|launched|published|released|hosted|organi|"
    "participated|took|attended|volunteered|enrolled|signed|applied|got |founded|opened|became|"
    "sprained|injured|tore|recovered|picked|created|painted|wrote|completed|visited|traveled|"
    "travelled|moved|received|passed|hiked|raised|finished|made|built|set up|donated|was |been |"
    "were |celebrated|explored|performed|tried my|helped|gave |did |had |baked|knitted|sewed|drew|carved|composed|planted|repaired|"
    "restored|rebuilt|renovated|worked|streamed|broke|hurt|twisted|fractured|strained|"
    "pulled|burned|dislocated|went|cut back|cut down|lost |inherited|repainted|redecorated|remodel|harvested|eloped|interned|transferred|enlisted|proposed|fell in|came out|"
    "converted|competed|backpacked|toured|raced|skied|surfed|climbed|biked|cycled|sailed|camped|fostered|rescued|mentored|coached|taught|learned|learnt|served|switched|changed|"
    "sold my|rented|flew to|drove |stayed |tested pos|caught |underwent|grew |met "
)
_PLAN = (
    "planning|determined|committed|hoping|thinking|considering|looking into|looking forward|getting ready|preparing|"
    "aiming|excited to|going to|off to|heading to"
)

RULES = (
    # --- dated events -------------------------------------------------------------------------
    Rule("background", _THEN, r"<then>,? <who> <lately>(?P<value><clear><past> <object><any>)", "Last week, I went to a pottery workshop.", "went to a pottery workshop", "{value}.", family="event", confidence=0.8),
    Rule("background", _THEN, r"(?:<then> )?<who> <lately>(?P<value><clear><past> <object><any>)", "I won my first tournament yesterday.", "won my first tournament yesterday", "{value}.", family="event", confidence=0.8),
    Rule("background", _DEED, r"<who> <lately>(?P<value><clear>(?:<deed> <object><any>|<whole>))", "We adopted a puppy from the shelter.", "adopted a puppy from the shelter", "{value}.", family="event", confidence=0.8),
    Rule("background", "just |recently |finally ", r"(?:just|recently|finally) (?P<value><clear><deed> <object><any>)", "Just joined a climbing gym.", "joined a climbing gym", "{value}.", family="event", confidence=0.8),
    Rule("background", _DEED, r"(?P<value>(?!received |got )<offscreen><clear><bare> (?:an?|my|our|some|two|three) <any>)", "Joined a rowing club.", "Joined a rowing club", "{value}.", family="event", confidence=0.8, opens=True),
    Rule("background", "just |recently |finally ", r"<who> (?:also )?(?:just|recently|finally) (?:also )?(?P<value><offscreen><clear><news> (?=(?:an?|my|our|some|two|three|this|another|\ua66e)\b)<object><any>)", "I just contacted a notary about my will.", "contacted a notary about my will", "{value}.", family="event", confidence=0.8),
    Rule("background", "i've|we've|i have|we have", r"(?:i|we)(?:'ve| have) (?:also |already |even |actually )*(?P<value><offscreen><clear>(?!\w+ the )<ever> ?<any>)", "I've been to Madagascar.", "been to Madagascar", "Has {value}.", family="habit", confidence=0.85),
    Rule("background", "promoted me|hired me|offered me|taught me|gave me|invited me|introduced me|inspired me|encouraged me|convinced me", r"(?:my|our) (?P<value><clear>(?P<whose><kin>|<colleagues>)(?: (?!who)[a-z]+)? (?:promoted|hired|offered|taught|gave|invited|introduced|inspired|encouraged|convinced) me (?!in\b|over\b|an? (?:deadline|call|hand|task|lift|ride|look|hard time)\b)<object><any>)", "My uncle taught me welding.", "uncle taught me welding", "{value}.", family="people", confidence=0.8),
    Rule("background", _THEN, r"(?:<then>,? )?(?:my|our) (?P<value><clear>(?P<whose><kin>)s? (?:and (?:my )?\w+ )?<lately>(?!came\b)<past> <object><any>)", "Last month, my sister opened a bakery.", "sister opened a bakery", "{value}.", family="people", confidence=0.8),
    Rule("background", _DEED, r"(?:my|our) (?P<value><clear>(?P<whose><kin>)s? (?:and (?:my )?\w+ )?<lately><deed> <object><any>)", "My sister adopted a greyhound.", "sister adopted a greyhound", "{value}.", family="people", confidence=0.8),
    # --- what is usual ------------------------------------------------------------------------
    Rule("background", "every |each |daily|weekly|on |once |twice |times |in my ", r"(?:i|we) (?:also |still |usually |always |normally |typically )*(?P<value><notdaily>(?!(?!need|feed|weed|breed|shed|embed)\w+ed\b)(?!(?:go|do|come|meet|talk|work) <often>)<clear>[a-z]+ (?:<any> )?<often>(?: (?:to|with|for) <any>)?)", "I swim twice a week.", "swim twice a week", "{does}.", family="habit", confidence=0.85),
    Rule("background", "usually|often|regularly|always", r"(?:i|we) (?:usually|often|regularly|always) (?P<value><notdaily><clear>(?:(?:wake|get|stay) up|work out|eat out|[a-z]+ <object>)<any>)", "I usually swim before work.", "swim before work", "{does}.", family="habit", confidence=0.85),
    Rule("background", "been ", r"(?:i|we)(?:'ve| have)? been <lately>(?:really )?(?P<value><clear>(?!<nodoing>\b|\w+ing (?:hard|as usual|non-?stop|well|for (?!a )))[a-z]+ing (?:<any>))", "I've been rebuilding an old radio.", "rebuilding an old radio", "Has been {value}.", family="habit", confidence=0.85),
    Rule("background", "been ", r"been <lately>(?:really )?(?P<value><clear>(?!<nodoing>\b|\w+ing (?:hard|as usual|non-?stop|well|for (?!a )))[a-z]+ing (?:<any>))", "Been rebuilding an old radio.", "rebuilding an old radio", "Has been {value}.", family="habit", confidence=0.8, opens=True),
    Rule("background", "i'm |i am |we're |we are |i are ", r"<weare> (?:currently |now |also |still |actually |busy |always |officially |proudly )*(?P<value><clear><engaged> <any>)", "I'm taking a dance class.", "taking a dance class", "Is {value}.", family="habit", confidence=0.85),
    Rule("background", "i'm |i am |we're |we are |i are ", r"<weare> (?:currently |now |also |still |actually |definitely )*(?P<value><offscreen><clear><busywith> <object><any>)", "I'm researching pension rules for farmers.", "researching pension rules for farmers", "Is {value}.", family="habit", confidence=0.8, passing=True),
    Rule("background", "i use ", r"i (?:also |often |mostly )?(?P<value><offscreen><clear>use (?:my )?(?!(?:the|an?)\b)[\w-]+(?: [\w-]+){0,3}? to (?!open|log|access|pay|book|get|go)<any>)", "I use my trailer to deliver bread.", "use my trailer to deliver bread", "{does}.", family="habit", confidence=0.8),
    Rule("background", "been ", r"(?:i|we)(?:'ve| have) (?:also |recently |just )*(?P<value><clear>been (?:involved (?:in|with)|part of|a member of|a fan of) <any>)", "I've been involved in a food drive.", "been involved in a food drive", "Has {value}.", family="habit", confidence=0.85),
    Rule("background", "for |since ", r"(?:i|we)(?:'ve| have) (?:also |actually |now )*(?P<value><clear><lasted> ?<any> <since>)", "I've known my neighbours for four years.", "known my neighbours for four years", "Has {value}.", family="habit", confidence=0.85),
    Rule("background", "always ", r"i(?:'ve| have) always (?P<value><clear><everso>)", "I've always been fascinated by lighthouses.", "been fascinated by lighthouses", "Has always {value}.", family="value", confidence=0.85),
    # --- plans and wishes ---------------------------------------------------------------------
    Rule("background", _PLAN, r"(?:i've been|we've been|<weare>) (?:really |so |also |now |currently |actually |still )*(?P<value><clear><planning><any>)", "I'm planning to open a studio.", "planning to open a studio", "Is {value}.", family="plan", confidence=0.8, passing=True),
    Rule("background", "planning ", r"(?P<value><clear>planning (?:an?|(?:my|our) (?:wedding|trip|vacation|holiday|move|retirement)|to (?!see\b|hear\b|be\b)\w+) <any>)", "Planning a cycling holiday in Slovenia.", "Planning a cycling holiday in Slovenia", "Is {value}.", family="plan", confidence=0.8, passing=True, opens=True),
    Rule("background", "have a|'ve got a|having a", r"(?:next (?:week|month|year|<season>|<day>)|tomorrow),? (?:i|we)(?:'ve got| have|'m having| am having|'re having| are having) (?P<value><clear>an? (?!question|problem|few|lot|slot|window|gap|plan|call|flight|meeting with you)<any>)", "Next week I have a hearing at the county court.", "a hearing at the county court", "Is going to have {value}.", family="plan", confidence=0.8, passing=True),
    Rule("background", "gonna |going to ", r"<weare> (?:also |now |actually |definitely |finally )*(?:gonna|going to) (?P<value><clear><going> ?<any>)", "I'm going to adopt a greyhound.", "adopt a greyhound", "Is going to {value}.", family="plan", confidence=0.8, passing=True),
    Rule("background", "gonna ", r"(?:also |now |actually |definitely |finally )*gonna (?P<value><clear><going> ?<any>)", "Gonna adopt a greyhound.", "adopt a greyhound", "Is going to {value}.", family="plan", confidence=0.8, passing=True, opens=True),
    Rule("background", "plan to|plan on|hope to|intend to|dream of|aim to", r"(?:i|we) (?:really |also |still |do )?(?P<value><clear>(?:(?:plan|hope|intend|aim) to (?!see\b|hear\b|be\b|catch\b)\w+|plan on|dream of) <any>)", "I plan to climb Mont Blanc.", "plan to climb Mont Blanc", "{does}.", family="plan", confidence=0.8, passing=True),
    Rule("background", "want to|love to|like to|dream to|wanna", r"i(?:(?:'d| would) <keen>(?:love to|like to) (?=(?:also |someday |eventually )*<lifewish>)|(?:'d| would)? <keen>(?:want to|wanna) )(?:also |someday |eventually )*(?P<value><clear><wish> ?<any>)", "I want to learn Portuguese.", "learn Portuguese", "Wants to {value}.", family="plan", confidence=0.8, passing=True),
    Rule("background", "can't wait", r"i can't wait to (?P<value><clear>(?!see\b|hear\b|be\b)(?:<wish>|\w+ (?:my|our)) ?<any>)", "I can't wait to start my course.", "start my course", "Cannot wait to {value}.", family="plan", confidence=0.8),
    # --- what matters to somebody -------------------------------------------------------------
    Rule("background", "love |loves |enjoy|play|prefer", r"(?:my|our) (?P<value>(?P<whose><kin>|<kids>)s? (?:really |both |also |all |absolutely )*(?:loves?|enjoys?|plays?|prefers?) (?!(?:it|that|this|you|them|when|how|what)\b)<any>)", "My kids love dinosaurs.", "kids love dinosaurs", "{value}.", family="people", confidence=0.85),
    # --- things and pets ----------------------------------------------------------------------
    Rule("background", "have |'ve got|own |got ", r"(?:i|we)(?:'ve got| have| also have| have got| own| got)(?: (?:got|also))? (?P<value>(?:an?|my own|two|three|four|some|\d+) (?:[\w-]+ ){0,3}?(?:<animal>|<vehicle>|<instrument>|<building>|<gear>|<treasure>)(?: (?:of|in|with|at|on|for|named|called) <any>)?)(?: (?:who|that) .+)?", "I have a red motorbike.", "a red motorbike", "Has {value}.", family="possession"),
)  # fmt: skip
