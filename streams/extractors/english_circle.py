"""English rules: pets by the name that the next sentence gives, the body, papers and what is celebrated.

One line each (docs/extractors.md).
"""

# ruff: noqa: E501 - a rule is one line, however long

from streams.extractors.rule import Rule

PARTS = {
    "gotpet": r"(?:i|we)(?:'ve got|'ve| have| own| just)?(?: (?:also|just|recently|finally))*(?: (?:got|have|adopted|bought|rescued|own|foster))?",
    "onepet": r"(?:(?:an?|two|three|four|another|one|our first|my first|my own) (?:[\w-]+ ){0,3}?(?:<animal>|pup))",
    "stop": r"(?: (?!in the (?:picture|photo|game|file|story|drawing))[\w' ]{1,30}?)??\s*[.,!;:)(🐶🐱-]*\s*(?:and |so )?",
    "callsit": r"(?:(?:his|her|its|their) names?(?:'s|'re| is| are)|(?:he|she|it|they)(?:'s|'re| is| are) (?:named|called)|(?:i|we)(?:'ve)? (?:named|call|called) (?:him|her|it|them))",
    "petname": r"(?P<name>(?!(?:on|in|at|it|that|so|very|the|a|not|also|just|really|still)\b)[\w'’.-]+(?:,? (?:and|&) [\w'’.-]+)?)",
    "queasy": r"(?:(?:really|very|so|super|quite) )?(?:car|sea|air|motion|travel) ?sick",
    "aid": r"(?:(?:an? |my )?(?:screen reader|screen magnifier|braille display|hearing aids?|insulin pump|cpap(?: machine)?|stairlift|voice control|speech[- ]to[- ]text|prosthetic \w+|mobility scooter|walking frame|oxygen tank))",
    "paper": r"(?:passport|visa|lease|tenancy|contract|licen[cs]e|driving licen[cs]e|insurance|warranty|green card|work permit|membership|subscription|season ticket)",
    "card": r"(?:(?:tsa )?pre-?check|global entry|(?:an? )?(?:[\w-]+ ){0,3}?(?:membership|season ticket|gold card|silver card|gold status|platinum status|loyalty card|rail ?card|rail ?pass|travel card|bus pass|disabled badge|blue badge|student card|library card|driver's licen[cs]e|pilot's licen[cs]e))",
    "feast": r"(?:honeymoon|(?:\w+ )?(?:wedding )?anniversary|\d+(?:st|nd|rd|th) birthday|(?:my |our )?(?:son|daughter|mum|mom|dad|wife|husband|sister|brother)'s (?:\d\w+ )?(?:birthday|graduation|wedding)|graduation|retirement)",
    "lossof": r"(?:deaf|blind) in (?:one|my (?:left|right)|the (?:left|right)) (?:ear|eye)",
    "pronouns": r"(?:she|he|they|ze|xe|any|it)/\w+(?:/\w+)?",
    "nextone": r"(?:i|we)(?:'ve| have)? (?:<ly>)(?:changed|switched|moved)",
    "studied": r"(?:(?:my |the )?(?:major|minor|degree|course|subject|field|program(?:me)?|majors|degrees|courses|studies)|(?:what i study))",
}  # fmt: skip

RULES = (
    # --- pets ---------------------------------------------------------------------------------
    Rule("background", "name|call", r"<gotpet> (?P<value><onepet>)<stop><callsit> <petname>(?: .*)?", "I have a cat. Her name is Luna.", "a cat called Luna", "Has {value}.", family="pet", takes="pet"),
    # --- a study, job or diet for another --------------------------------------------------------
    Rule("background", "changed|switched|moved", r"<nextone> <studied> from <old> to <value>(?: (?:last|this) \w+| (?:back )?in \w+)?", "I changed my major from biology to economics.", "economics", "Studies {value}.", family="study", ends="study"),
    Rule("background", "changed|switched|moved", r"<nextone> (?:my )?(?:jobs?|careers?|professions?|occupations?|lines? of work) from (?:being )?(?:an? )?<old> to (?:being )?(?:an? )?<value>(?: (?:last|this) \w+| (?:back )?in \w+)?", "I switched careers from teaching to nursing.", "nursing", "Works in {value}.", "job", family="work", ends="work|job|employer", takes="occupation"),
    Rule("constraint", "changed|switched|went|gone|moved", r"(?:i|we)(?:'ve| have)? (?:<ly>)(?:changed|switched|went|gone|moved)(?: my diet)? from (?:being )?(?P<old><diet>) to (?:being )?(?P<value><diet>)(?: (?:last|this) \w+)?", "I went from vegetarian to vegan.", "vegan", "Is {value}.", "diet", family="diet", ends="diet"),
    Rule("correction", "changed|switched|moved", r"<nextone> (?:my|our) (?P<topic>(?!(?:mind|tune|clothes|shirt|password|settings?|view|status|tone|answers?|seats?|order|name|email|font|picture|money|major|diet|job|career)\b)[\w-]+(?: [\w-]+)?) from <old> to <value>", "We switched our supplier from Hart to Bauer.", "Bauer", "{topic} is {value}, no longer {old}.", "my {topic}"),
    # --- the body, and what helps it ---------------------------------------------------------------
    Rule("background", "car sick|carsick|sea sick|seasick|air sick|airsick|motion sick|travel sick", r"i (?:<adverb>|often |sometimes )*get (?P<value><queasy>)(?: .+)?", "I get seasick on small boats.", "seasick", "Gets {value}.", family="health"),
    Rule("background", "type one|type two|type 1|type 2", r"i(?:'ve got|'ve| have) (?P<value>type (?:two|1|2|one diabetes)(?: diabetes)?)", "I've got type two.", "type two", "Has {value}.", family="health"),
    Rule("background", "reader|magnifier|braille|hearing aid|pump|cpap|stairlift|voice control|speech|prosthetic|scooter|walking frame|oxygen", r"i (?:<ly>)(?:use|rely on|work with|need|wear|have) (?P<value><aid>)(?: .+)?", "I use a screen magnifier.", "a screen magnifier", "Relies on {value}.", family="health"),
    Rule("background", "deaf in|blind in", r"<am> (?:<ly>)(?P<value><lossof>)(?: .+)?", "I'm deaf in one ear.", "deaf in one ear", "Is {value}.", family="health"),
    Rule("background", "pronoun|go by|/", r"(?:(?:i|we) (?:go by|use) (?P<value><pronouns>)(?: pronouns)?|my pronouns are (?P<value2><pronouns>))", "I go by they/them.", "they/them", "Pronouns: {value}.", "pronouns", family="identity"),
    # --- where, with whom, on which papers -----------------------------------------------------------
    Rule("background", "runs out|expires|ends in|ends on|is up in|is up on|is up for renewal|expire", r"(?:my|our) (?P<value><paper> (?:runs out|expires|ends|is up|is up for renewal) (?:(?:at the end of|early|late|mid) )?(?:in |on )?(?:<month>|<day>|next|this|\d|the \d).*)", "My visa runs out in March.", "visa runs out in March", "Their {value}.", family="plan", confidence=0.85),
    Rule("background", "check|entry|membership|season ticket|gold|silver|platinum|loyalty|rail|travel card|pass|badge|student card|library card|licen", r"(?:i|we)(?:'ve got|'ve| have) (?P<value>(?!no\b|the\b|an? (?:\w+ )?(?:question|problem|issue|few)\b)<card>(?: (?:with|and|for|at) <any>)?)", "I have a gold card with Lufthansa.", "a gold card with Lufthansa", "Has {value}.", family="possession", confidence=0.85),
    Rule("background", "honeymoon|anniversary|birthday|graduation|retirement|wedding", r"(?:it's|it is|this is|<weare> (?:<ly>)celebrating) (?P<value>(?:(?:my|our) )?<feast>(?: (?:in|on|next|this) <any>)?)", "It's our honeymoon.", "our honeymoon", "Is celebrating {value}.", family="event", confidence=0.85),
    Rule("background", "getting divorced|moving in with|moving out|moving back", r"<weare> (?:<adverb>|both )*(?P<value>getting divorced|moving (?:in with (?:my|a) [\w ]+|out of (?:my|our) [\w' ]+|back in with my [\w ]+))(?: (?:next|this|in|on|soon) ?.*)?", "I'm moving in with my girlfriend.", "moving in with my girlfriend", "Is {value}.", family="plan", confidence=0.85),
    Rule("background", "failed|flunked|retook|sat my|took my", r"i(?:'ve| have)? (?:<ly>)(?P<value>(?:failed|flunked|retook|sat|took) (?:my|the) (?:[\w-]+ ){0,3}?(?:tests?|exams?|finals?|midterm|mocks?|bar|interview|audition|gcses?|a[- ]levels?)(?: (?:in|on|again|twice) ?<any>)?)", "I failed my driving test.", "failed my driving test", "{value}.", family="event", confidence=0.8),
    Rule("background", "got into|get into", r"<who> <lately>(?P<value>got into (?:med school|medical school|law school|grad school|college|uni|university|drama school|art school|the (?:university|academy|conservatory|team|squad)|oxford|cambridge|harvard|stanford|mit|yale|princeton|berkeley)(?: .+)?)", "I got into law school.", "got into law school", "{value}.", family="event", confidence=0.85),
)  # fmt: skip
