"""English: turns about a text, a role or a joke. What stands in such a text is not the user's."""

from streams.extractors.patterns import any_of, either, words

_TEXTS = (  # what an agent may be asked to write
    r"(?:story|poem|monolog|dialog|song|scene|essay|letter|e-?mail|tweet|script|character|speech|"
    r"joke|haiku|limerick|post|bio|message|review|caption|sentence|play|chapter|reply|ad\b|slogan|"
    r"conversation|lyrics|toast|sketch|novel|diary|quote)"
)
_OWN_TEXTS = r"(?!cover letter|cv\b|resume|résumé|bio\b|motivation)"  # what is about the user
_WRITE = words("write, compose, draft, create, make up, tell, finish, continue, generate")
_LABOURS = (  # what an agent may be asked to do with a text, or to play
    "translate", "translating", "translation", "proofread", "proof-read", "rewrite", "rephrase",
    "paraphras", "summarise", "summarize", "role-play", "roleplay", "role play", "pretend",
    "act as a", "act as my", "act as if", "act like", "grammar", "how do you say", "how do i say",
    "in character", "example sentence", "the sentence", "the phrase", "following text",
    "following sentence", "following paragraph", "following email", "following message",
    "play the role", "play the part", "you are a ", "you are an ", "you are now", "you're my ",
    "you're a ", "you're an ", "be my ", "from the perspective", "subtitle", "in this scenario",
    "my character", "the quote", "you are one of the", "your job is to", "your role is",
    "your task is to", "want you to act", "want you to be", "act as the", "take on the role",
    "i will act as",
)  # fmt: skip

# --- a text is shown, named by what stands before it or what is asked behind it -----------------
_START = r"(?:^|[.!?\n]\s*)"
_PIECES = (  # what may be shown
    r"(?:texts?|drafts?|poems?|ads?|advert\w*|copy|abstract|stor(?:y|ies)|essay|letter|speech|"
    r"song|lyrics|script|monologue|dialogue|paragraph|passage|post|tweet|blurb|excerpt|transcript|"
    r"article|scene|caption|slogan|joke|haiku|toast|sketch|testimonial|example|sample|template)\b"
)
_ANNOUNCED = (
    r"\b(?:here(?:'s| is| are| comes?)|this is|below is|below are|check out|see) "
    rf"(?:my|our|the|a|an|some|his|her|their|this) (?:[\w-]+ ){{0,3}}?{_PIECES}"
)
_WORKED_ON = (
    r"\b(?:check|correct|fix|review|improve|edit|grade|rate|look at|critique|score|polish) "
    rf"(?:my|this|the|our|his|her) (?:[\w-]+ ){{0,2}}?{_PIECES}[^.!?\n:]{{0,30}}:"
)
_LETTER = (
    rf"{_START}dear (?:sirs?|madam|mr|mrs|ms|dr|prof\w*|hiring|editor|customer|team|all|"
    r"colleagues?|neighbou?rs?|landlord|diary|santa)\b"
)
_SPEAKERS = words(
    "patient, customer, client, student, interviewer, interviewee, candidate, speaker, example, "
    "sample, testimonial, review, reviewer, bot, human, narrator, persona, applicant, caller, "
    "host, guest, doctor, witness, employee, agent, assistant, teacher, nurse"
)
_LABELLED = (
    r"(?:^|\n)[ \t]*(?:(?:user|success|sample|short) story|"
    r"(?:sample|model|example|suggested) (?:answer|response)|"
    rf"(?:[a-z]+ )?{_SPEAKERS}s?(?: \w)?)[ \t]*:"
)
_MAKE_IT = (
    r"make (?:it|this|that) (?:a (?:bit|little) |much |sound )?(?:\w+er|more|less|better|rhyme|"
    r"formal|concise|punchy|funny|catchy|natural|professional)\b"
)
_REWORD = words("shorten, condense, polish, proofread, improve, tighten, simplify, reword, "
                "spellcheck, spell-check")  # fmt: skip
_IT = r"(?:it|this|that|them|the (?:text|above|draft|poem|letter|wording|spelling|style|tone))"
_REWORD_IT = r"(?:edit|revise|rework|expand|fix|correct|format|shorten|improve|polish) " + _IT
_JUDGE_IT = rf"(?:critique|rate)|(?:grade|score|review|evaluate|rate|critique|check) {_IT}"
_KINDLY = r"(?:(?:please|now|can you|could you|and|then|so|thanks),? )*"
_ENDING = r"(?: (?:please|for me|from 1 to 10|out of ten))*\s*(?:[.!?]|$)"
_REWORDING = rf"{_KINDLY}(?:{_MAKE_IT}|(?:{_REWORD}|{_REWORD_IT}){_ENDING})"
_JUDGING = rf"{_KINDLY}(?:{_JUDGE_IT}){_ENDING}"
_ITS_TASK = any_of(  # "Make it shorter."; of several sentences "Can you review it?"
    rf"{_START}{_REWORDING}",
    rf"[.!?\n]\s*[^.!?\n]+[.!?\n]\s*{_JUDGING}",
    rf"^\s*{_JUDGING}",
)
_ANTECEDENT = (  # it is something that is named: "I wrote a cover letter. Can you review it?"
    r"\b(?:wrote|have|made|finished|drafted|attached|writing|prepared|built|updated) "
    r"(?:an?|my|the|our) (?:[\w-]+ ){0,2}"
    r"(?:cv|resume|résumé|report|code|pr|design|logo|presentation|spreadsheet|plan|app|website|"
    rf"proposal|bio|{_PIECES})[^.!?\n]*[.!?\n]\s*(?:{_REWORDING}|{_JUDGING})"
)

# --- a task that points back at nothing: what stands before it is the user's own ------------------
_POINTS_BACK = r"[^.!?\n]*\b(?:it|this|that|these|those|above|them|following|below|same)\b"
_NAMED_TEXT = (
    r"(?:the|an?|my) (?:[\w-]+ ){0,2}(?:article|report|book|chapter|paper|document|pdf|file|link|"
    r"cv|resume|cover letter|e-?mail|contract|page|website)\b"
)
_OWN_TASK = any_of(
    rf"{_WRITE} (?:me |us |him |her |them )?(?:an?|some|two|three|\d+) (?:[\w-]+ ){{0,3}}?{_TEXTS}",
    rf"(?:translate|summari[sz]e|proofread|rewrite|rephrase|paraphrase) (?:\ua66e|{_NAMED_TEXT})",
)
_ROLE = r"(?:you are (?:an?|now) |act as |pretend |role-?play|play the (?:role|part))"
_NO_POINTER = rf"[.!?\n]\s*{_KINDLY}(?!{_POINTS_BACK})(?:{_OWN_TASK}|{_ROLE})"

SHOWN = any_of(_ANNOUNCED, _WORKED_ON, _LETTER, _LABELLED, _ANTECEDENT, _NO_POINTER)
"""From here on stands a text, or what is to be written: what stands before it is the user's own."""

REQUEST = any_of(
    _ITS_TASK,
    rf"\b(?:{either(_LABOURS)}|what does .{{1,80}} mean|{_WRITE} (?:me )?"
    rf"(?:an?|the|some|this|my|our|two|three|\d+) {_OWN_TEXTS}(?:\w+ ){{0,3}}?{_TEXTS})",
    r"_{3,}|(?:\\_){2,}",  # an exercise, with blanks to be filled
    r"🙄|🙃| /s\b",
)
"""What stands before and behind it is a text, a role or a joke."""
