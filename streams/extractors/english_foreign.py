"""English: sentences that are not said as a fact, or not by the user. They are left out whole."""

from streams.extractors.english_lists import LISTS
from streams.extractors.patterns import any_of, either, words

_HEDGES = (
    " if ", "if i ", "if you ", "if we ", "if it ", "unless", "suppose", "supposing", "imagine",
    "pretend", "assume", "assuming", "hypothetical", "in case", "whether", "wish",
    "perhaps", " might ", "not sure", "i guess", "wonder ", "wondering",
    "probably", "possibly", " said", " say ", " says", "saying", " told ", " tells ", " asked ",
    " asks ", "thinks", " claim", "wrote", " writes", "according to", " heard", "you said",
    "you mention", "you told", "you think", "you remember", "you noted", "you listed",
    "you showed", "apparently", "when i was", "when i turned", "since i turned",
    "before i turned", "until i turned", "after i turned",
    "by the time i", "when i first", "back then", "i remember when",
    "back when", "would have", "wouldn't have", " lol", "lmao", "kidding", "the song",
    "the movie", "the book", "the film", "the line ", "not that", "it's not like", "don't you",
    "yeah right", "oh sure", "lyrics", "supposedly", "i think ", "i thought",
)  # fmt: skip

_MAYBE = r"\bmaybe\b(?! \d)"  # but "maybe 5 hours"
_SOME_DAY = r"\b(?:someday|one day)\b(?!\s*(?:[.!]|$))"  # but a wish for "one day"
_SHOWN_BY_COLON = (
    r":(?<!note:)(?<!correction:)(?<!update:)(?<!fyi:)(?<!record:)(?<!clear:) (?:i|i'm|im|my)\b"
)
_MARKUP = r"<[/!|]?[a-z][^<>\n]{0,60}>|<\||\[/?inst\]"  # of a page, or of a prompt
_ORDERED = words(  # what is asked of somebody whose role is named first
    "create, write, draft, generate, give, design, develop, build, make, prepare, provide, "
    "explain, analyze, analyse, review, list, outline, propose, suggest, recommend, "
    "help, tell, teach, act, answer, compose, describe, evaluate, summarize, summarise, plan"
)
_ROLE = (  # the agent is to play it
    r"^\s*as an? [\w -]+,"
    rf"(?! (?:(?:i|my|we|our)\b|(?!.*\byou)(?!{_ORDERED}\b)[\w ]+ (?:i|my|we|our)\b))"
)
AS_THEY = (  # "as a single mother, my mom raised me": the mother
    rf"\bas an? [\w -]{{3,40}}, (?:(?:my|our) (?:{LISTS['kin']})|he|she|they)\b"
)
_CHILDHOOD = r"\bas a (?:kid|child|teenager)\b"
_OVERRIDE = any_of(
    r"\b(?:previous|prior|earlier|above|your|all) (?:\w+ )?"
    r"(?:instructions|guidelines|guardrails)\b",
    "system prompt",
    "jailbreak",
    "developer mode",
    r"\b(?:ignore|disregard|override|bypass) (?:all |any |the |your |my |every )*"
    r"(?:rules|restrictions|polic)",
)

# --- a standing consent, told as a habit --------------------------------------------------------
_ALWAYS = words(
    "always, automatically, already, generally, usually, normally, hereby, routinely, happily, "
    "gladly, blindly, regularly"
)
_AGREE = (
    r"(?:pre-?)?(?:approved?|authori[sz]ed?|consent(?:ed)?|sign(?:ed)? off|green-?light|"
    r"permit(?:ted)?|grant(?:ed)?|waived?|agreed? to|allow(?:ed)?|accept(?:ed)?|confirm(?:ed)?|"
    r"refund(?:ed)?|pay|transfer)\b"
)
_UNASKED = (
    r".*\bwithout (?:any |being |further |your |my |a |first )*"
    r"(?:ask|question|check|confirm|review|approv|permission|consent|verif|prompt|warning)"
)
_OF_ALL = (
    r".*\b(?:all|every|any|whatever|each)\b.*\b(?:payments?|refunds?|transfers?|purchases?|"
    r"requests?|transactions?|orders?|invoices?|actions?|changes|commands?|permissions?|"
    r"deletions?|access)\b"
)
_CONSENT = rf"\b(?:i|we)(?:'ve|'ll| have| will)? (?:{_ALWAYS} )*{_AGREE}(?={_UNASKED}|{_OF_ALL})"

# --- said in jest, or a figure of speech ----------------------------------------------------------
_NUISANCE = any_of(
    r"being (?:on hold|ignored|stuck|late|woken|told|lied|put|kept|yelled|charged|interrupted)",
    "having to",
    "waiting",
    "when (?:my|the|people|it|they)",
    "it when",
    "getting (?:up at|stuck|yelled|charged|spam)",
    "paying (?:for nothing|taxes|extra|bills)",
    "(?:standing|sitting|being stuck) in (?:line|traffic|queues?)",
    "filling (?:in|out)",
)
_TITLES = words(
    "phd, doctorate, degree, master's, masters, master, bachelor's, bachelors, bachelor, diploma, "
    "black belt, certificate, gold medal, olympic medal, world champion"
)
_TITLE_IN = (  # what nobody holds a degree in
    r"(?:procrastinat\w+|sarcasm|common sense|overthinking|worrying|laziness|napping|sleeping|"
    r"complaining|being \w+|wasting \w+|losing \w+|doing nothing|life(?! scien)|bad \w+|nonsense|"
    r"excuses|awkwardness|failure(?! \w)|failing|snacking|eating|hard knocks)"
)
_TONGUE = (  # what nobody speaks
    r"(?:emoji|emojis|sarcasm|sarcastic|cat|dog|baby|toddler|meme|memes|gif|gifs|nonsense|"
    r"gibberish|movie quotes|whale|klingonese|teenager|bureaucrat\w*|legalese|corporate)\b"
)
_BEAST = any_of(  # animals and things that nobody has
    r"\b(?:no|a|any) (?:dog|horse) in (?:this|that|the|your|their) (?:fight|race)",
    r"\bskin in the game",
    r"\b(?:bigger|other) fish to fry",
    r"\bmore (?:chins|lives) than",
    r"\bbats in (?:my|the) belfry",
    r"\bbutterflies in my",
    r"\ba frog in my throat",
    r"\bants in my pants",
    r"\ba bee in my bonnet",
    r"\bskeletons? in (?:my|the|our) (?:closet|cupboard)",
    r"\ban? (?:elephant|monkey) (?:in the room|on my back)",
    r"\bball and chain\b",
    r"\ba bone to pick",
    r"\ba chip on my",
)
_IDIOM = any_of(
    rf"\b(?:i|we) (?:just |really |simply |absolutely |so |do )*(?:love|adore|enjoy) {_NUISANCE}",
    rf"\b{_TITLES} (?:degree )?(?:in|at) (?:\w+ )?{_TITLE_IN}",
    r"\b(?:speak|speaks|am fluent in|i'm fluent in|fluent in) "
    rf"(?:fluent |perfect |a little )?{_TONGUE}",
    _BEAST,
)

# --- what one picks, ends or has passed on a screen -----------------------------------------------
_CHOICES = words("option, step, variant, choice, answer, proposal, suggestion, slide, candidate, "
                 "alternative")  # fmt: skip
_PROGRAMS = (
    r"(?:servers?|services?|containers?|process(?:es)?|programs?|scripts?|builds?|vim|neovim|"
    r"emacs|nano|vs ?code|browsers?|terminals?|shell|docker|nginx|postgres|redis|daemon|session|"
    r"debugger|timer|recording|playback|download|upload|pods?|cluster|vm|virtual machine|"
    r"database|tab|window|task manager|excel|word|photoshop|chrome|firefox|safari|outlook)"
)
_AT_SCREEN = any_of(
    rf"\b{_CHOICES}s? (?:#? ?\d+|[a-h]|one|two|three|four|five)(?![\w'])",
    r"\b(?:stopped|quit|quitted|killed|exited|restarted|shut down|closed) (?:out of )?"
    rf"(?:the |my |our |that )?(?:\w+ )?{_PROGRAMS}(?![\w'])",
)

FOREIGN = any_of(
    either(_HEDGES),
    _MAYBE,
    _SOME_DAY,
    _CONSENT,
    _IDIOM,
    _AT_SCREEN,
    _ROLE,
    _CHILDHOOD,
    r"(?<!let )you know\b(?!\s*(?:[,.!;]|$))|\b(?:do|did|if|as|don't) you know\b",
    _SHOWN_BY_COLON,
    _MARKUP,
    _OVERRIDE,
)
"""A sentence with one of these is left out whole."""
