"""English rules: what somebody builds with, keeps up and takes part in; what they learn and how.

One line each (docs/extractors.md).
"""

# ruff: noqa: E501 - a rule is one line, however long

from streams.extractors.rule import Rule

_TECH = (
    "python|java|javascript|typescript|kotlin|swift|golang|rust|ruby|php|perl|scala|elixir|haskell|clojure|fortran|cobol|matlab|c\\+\\+|c#|"
    "django|flask|fastapi|rails|laravel|spring|react|vue|angular|svelte|next\\.?js|node|deno|flutter|unity|godot|unreal|dotnet|\\.net|"
    "postgres|postgresql|mysql|mariadb|sqlite|mongodb|redis|neon|supabase|firebase|snowflake|bigquery|kafka|rabbitmq|elasticsearch|"
    "aws|azure|gcp|heroku|vercel|netlify|fly\\.io|hetzner|digitalocean|cloudflare|docker|kubernetes|terraform|ansible|jenkins|github|gitlab|"
    "npm|pnpm|yarn|poetry|conda|gradle|maven|bazel|webpack|vite|pytest|jest|cypress|tailwind|bootstrap|wordpress|shopify|excel|"
    "jira|trello|slack|notion|asana|figma|salesforce|hubspot|zendesk|teams|linear|confluence|quickbooks|stripe"
)

PARTS = {
    "tech": rf"(?:{_TECH})(?![\w-])",
    # what is made with it: "backend", "codebase"
    "codebase": r"(?:backend|front ?end|back end|codebase|code base|app|api|server|website|site|stack|database|db|project|repo|pipeline|infrastructure|infra|shop)",
    "builtwith": r"(?:all |mostly |still |currently |fully )*(?:(?:written|built|made|hosted|based|deployed|coded|running|implemented) )?(?:in|on|with|using)",
    "weuse": r"(?:(?:we|i)(?: (?:also|mostly|mainly|currently|only|still|now|always|do))* (?:use|run on|deploy (?:to|on|with)|host (?:\w+ )?(?:on|with)|build (?:\w+ )?with|code in|program in|develop in|work with|write)|"
    r"<weare> (?:<ly>)(?:using|deploying (?:to|on|with)|hosting (?:\w+ )?on|building (?:\w+ )?with|coding in|on)|(?:my|our) (?:team|company|firm|office|school|shop|department) (?:\w+ )?(?:uses|runs on|is on))",
    # a program or a periodical of one's own
    "opus": r"(?:library|package|parser|plugin|plug-in|extension|framework|crate|module|cli|compiler|game|mod|newsletter|podcast|blog|channel|wiki|forum|website|app|bot|discord server|font)(?! (?:function|file|folder|page|config))",
    "devising": r"(?:building|developing|making|writing|coding|designing|programming|creating|working on)",
    # a group that one is part of
    "outfit": r"(?:nonprofit|non-profit|charity|start-?up|company|agency|bakery|restaurant|law firm|clinic|family of \w+|team of \w+|band|family business|business|café|cafe|co-op|cooperative|church|choir|ngo|consultancy)",
    # what is taught at school
    "taught": r"(?:maths?|algebra|geometry|calculus|trigonometry|statistics|physics|chemistry|biology|bio|chem|history|geography|economics|latin|literature|english|spanish|french|german|grammar|spelling|essays?|essay writing|reading|writing|fractions|equations|"
    r"percentages|long division|times tables|derivatives|integrals|probability|logic games|word problems|reading comprehension|listening|pronunciation|conjugations?|tenses|programming|coding|organic chemistry|computer science|psychology|sociology|philosophy|art history|accounting|anatomy|genetics|the bar)",
    "schooling": r"(?:ap|ib|gcse|a[- ]level|honou?rs|advanced|intro(?:ductory)?) [\w' -]+?",
    "exams": r"(?:(?:a[- ]levels?|gcses?|the ib|ib|my (?:phd|masters?|master's|degree|bachelors?|thesis|dissertation|residency|apprenticeship)|an? (?:phd|masters?|master's|mba|apprenticeship|foundation course|diploma))|lsat|gmat|gre|sat|mcat|ielts|toefl)",
    "bringsto": r"(?:go(?:es)? (?:back )?to|attend) (?:(?:weekly |group |couples |physical )?therapy|church|mosque|synagogue|temple|aa(?: meetings)?|couples counselling|counselling|physio(?:therapy)?|rehab|night school|evening classes|dialysis)",
    "weekly": r"(?:on|every|each) <day>s?(?: (?:night|evening|morning|afternoon)s?)?",
    # what nobody may change
    "kept": r"(?:lock ?files?|migrations?|main(?: branch)?|master|schema|public api|production|prod|\.env|config|tests|ci|vendor folder|generated files?)",
    "shunned": r"(?:stay (?:in|at)|shop at|buy from|fly(?: with)?|travel (?:on|by|with)|order from|book with|eat at|bank with|wear|drive)",
}  # fmt: skip

_SUBJECT_CUES = (
    "struggle with|struggling with|trouble with|hard time with|failing|weak at|good at|bad at"
)
_OPUS_CUES = "i maintain|i co-maintain|i develop|i created|i run a|i run an|i host|i write a|contribute to|i mod |i moderate|i also maintain|i also run"

RULES = (
    # --- what is used -------------------------------------------------------------------------
    Rule("background", "backend|frontend|front end|back end|codebase|code base|app |api |server |website |site |stack |database |db |project |repo |pipeline |infra|shop ", r"(?:my|our|the) (?P<value><codebase> (?:is|are|'s|runs) <builtwith> (?=<tech>)<any>)", "Our backend is written in Kotlin.", "backend is written in Kotlin", "Their {value}.", family="possession", confidence=0.85),
    Rule("background", "use |uses |using |run on|runs on|deploy|host|build|code in|coding in|program in|develop in|work with|write |we're on|we are on|is on ", r"<weuse> (?P<value>(?=<tech>)<any>)(?: (?:here|in (?:this|the|our) (?:repo|project|codebase|team)))?(?:,? (?:not|never|instead of) .+)?", "Our team uses Trello for planning.", "Trello for planning", "Uses {value}.", family="possession", confidence=0.85),
    Rule("background", "been writing|been coding|been programming|been using|been doing|been working|been developing|been learning", r"i(?:'ve| have) been (?P<value>(?:writing|coding(?: in)?|programming(?: in)?|using|doing|working (?:with|in)|developing in|learning) <tech>(?: for <any>| since <any>)?)", "I've been writing Scala for about four years.", "writing Scala for about four years", "Has been {value}.", family="habit"),
    Rule("background", "new to me|don't know any|never used", r"(?:(?P<value><tech>) is (?:<ly>)(?:all )?new to me|i(?:'ve| have) never used (?P<value2><tech>)|i don't know any (?P<value3><tech>))", "Rust is new to me.", "Rust", "Is new to {value}.", family="study"),
    Rule("background", "back to", r"i(?:'m| am)? (?:<ly>)(?:went|switched|moved|going|am) back to (?P<value>(?=<tech>)<any>)", "I went back to Poetry.", "Poetry", "Uses {value}.", family="possession", confidence=0.85),
    # --- what is made and kept up --------------------------------------------------------------
    Rule("background", _OPUS_CUES, r"i (?:also |still )?(?P<value>(?:(?:co-?)?maintain|develop|run|host|write|mod|moderate) (?:an?|the|my) (?:[\w-]+ ){0,5}?<opus>s?(?: (?:called|named|for|about|in|that|with|on) <any>)?)", "I maintain a small open source parser called tinyrow.", "maintain a small open source parser called tinyrow", "{does}.", family="work", confidence=0.85),
    Rule("background", "i'm |i am |im |we're |we are ", r"<weare> (?:<ly>)(?P<value><devising> (?:an?|my own|our own) (?:[\w-]+ ){0,4}?<opus> (?:for|in|with|that|using|about|called) <clear><any>)", "I'm building a booking app for my brother's garage.", "building a booking app for my brother's garage", "Is {value}.", family="goal", confidence=0.85),
    Rule("background", "we're a|we are a|we run a|i run a", r"(?:(?:we're|we are) (?P<value>an? (?:[\w-]+ ){0,3}?<outfit>(?! that (?:you|can))(?: <any>)?)|(?:we|i) (?:also )?run (?P<value2>an? (?:[\w-]+ ){0,3}?<outfit>(?: <any>)?))", "We're a small charity in Hull.", "a small charity in Hull", "Runs or is part of {value}.", family="work", confidence=0.85),
    # --- school ---------------------------------------------------------------------------------
    Rule("background", "year |grade", r"<am> (?:<ly>)(?P<value>in (?:year (?:\d{1,2}|<number>)|(?:the )?(?:\d{1,2}(?:st|nd|rd|th)|[a-z]+(?:th|st|nd|rd)) form)(?: (?:of|at|in|studying) <any>)?)", "I'm in year 9.", "in year 9", "Is {value}.", family="study"),
    Rule("background", "taking |doing |retaking|resitting", r"<weare> (?:<ly>)(?P<value>(?:taking|doing|retaking|resitting) (?:<schooling>|<exams>)(?: (?:in|at|on|with) <any>)?)(?: (?:this|next) (?:year|term|semester|spring|fall|autumn|summer))?", "I'm taking AP Biology this year.", "taking AP Biology", "Is {value}.", family="study", confidence=0.85),
    Rule("background", _SUBJECT_CUES, r"(?:i (?:<ly>)(?:struggle|have (?:trouble|a hard time)) with|<am> (?:<ly>)(?:struggling with|weak at)|i (?:keep|am) failing) (?:the )?(?P<value><taught>(?: (?:section|part|and <any>))?)", "I struggle with fractions.", "fractions", "Struggles with {value}.", family="study", confidence=0.85),
    Rule("background", "isn't my first|is not my first|isn't my native|not my first|not my native|second language", r"(?:(?P<value><tongue>) (?:isn't|is not) my (?:first|native) language|(?P<value2><tongue>) is my second language)", "English isn't my first language.", "English", "Speaks {value} as a second language.", family="language"),
    Rule("background", "learn best|remember best|understand better|learn better|learn faster", r"i (?:<ly>)(?:learn|remember things|understand things) (?P<value>(?:best|better|faster) (?:with|by|from|when i|through) <any>)", "I learn best with pictures.", "best with pictures", "Learns {value}.", family="study", confidence=0.85),
    # --- what is usual, and what never happens ----------------------------------------------------
    Rule("background", "go to |attend", r"i (?:also |still |usually )*(?P<value><bringsto>(?: (?:on|every|each|once|twice|at|with) <any>)?)", "I go to therapy on Fridays.", "go to therapy on Fridays", "{does}.", family="habit"),
    Rule("background", "practice|training|rehearsal|class|lesson|choir|football|band|club|yoga|rugby|scouts", r"(?:i(?:'ve got|'ve| have)|we(?:'ve got| have)) (?P<value>(?:(?!the\b|no\b|to\b)[\w-]+ ){0,2}?(?:(?:practice|training|rehearsals?)(?: <weekly>)?|(?:class|lessons?|choir|football|band|club|yoga|rugby|scouts) <weekly>))", "I've got choir on Wednesdays.", "choir on Wednesdays", "Has {value}.", family="habit", confidence=0.85),
    Rule("constraint", "never ", r"(?:i|we) never (?:ever )?(?P<value><shunned> (?!(?:it|this|that|them|anything|something|my|the (?:app|site|website))\b)<any>)", "I never stay in hostels.", "stay in hostels", "Never: {value}.", family="limit", confidence=0.85),
    Rule("constraint", "don't work for me|doesn't work for me", r"(?P<value><day>s?(?: (?:nights?|evenings?|mornings?|afternoons?))?) (?:don't|do not|doesn't|never) work for me", "Mondays don't work for me.", "Mondays", "Is not available on {value}.", family="limit", confidence=0.85),
    Rule("constraint", "don't touch|do not touch|never touch|don't edit|never edit|don't modify|never modify|don't commit|never commit|don't push|never push|don't rename|never rename|don't change the|never change the", r"(?:and |please |so )?(?P<value>(?:don't|do not|never) (?:touch|edit|modify|rename|change|commit (?:to|directly to)|push (?:to|directly to)) (?:the |any |our )?(?:[\w.-]+ ){0,2}?<kept>)", "Don't touch the migrations.", "Don't touch the migrations", "Requires: {value}.", family="limit", confidence=0.85),
)  # fmt: skip
