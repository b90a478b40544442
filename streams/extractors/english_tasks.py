"""English rules: decisions, tasks and tasks done. One line each (docs/extractors.md)."""

# ruff: noqa: E501 - a rule is one line, however long

from streams.extractors.rule import Rule

_DECIDED = "Decided: {value}."
_TASK = "Has to {value}."
_DONE = "Finished: {value}."

_ISDONE = (
    " done| finished| complete|taken care of| submitted| paid| sent| fixed|ready to ship| booked|"
    " delivered|over and done| renewed| signed| merged| deployed| shipped| cleaned| filed|"
    " cancel| repaired| ordered| uploaded| published| scheduled|out of the way|off my| written|"
    " sorted|in the mail| packed"
)

RULES = (
    Rule("decision", "decided:|decided,|decision:", r"(?:it's |that's )?deci(?:ded|sion)(?::|,) (?:we |i )?<value><why>", "Decided: we move to Postgres.", "move to Postgres", _DECIDED, family="decision", takes="stated"),
    Rule("decision", "decided on|chosen|chose|settled|opted for|picked|gone with", r"(?:so,? )?<we> (?:<adverb>|all )*(?:decided on|chosen|chose|settled on|opted for|picked(?! up| out)|gone with) (?!to\b|not\b)<value><why>", "I settled on a red kitchen because it warms the room.", "a red kitchen", "Chose {value}.", family="decision"),
    Rule("decision", "decided|chosen|chose|settled|opted|made up|concluded|picked|agreed|gone with", r"(?:so,? )?<we> (?:<adverb>|all )*<decide><value><why>", "We've decided to use Postgres because it handles JSON well.", "use Postgres", _DECIDED, family="decision"),
    Rule("decision", "let's|we'll|i'll|we will|i will|we're going|i'm going|i am going|we are going", r"(?:(?:so|then|alright|all right|ok|okay),? )*<letme> (?:<adverb>|definitely )*(?P<value><gowith><any>)<why>", "Let's go with the blue logo because it reads better.", "go with the blue logo", _DECIDED, family="decision", passing=True),
    Rule("decision", "going with|sticking with|switching to", r"(?:we're|i'm|i am|we are) (?:<ly>)(?:going with|sticking with|switching to) <notchoice><value><why>", "We're going with the smaller venue because it has a garden.", "the smaller venue", _DECIDED, family="decision", passing=True),
    Rule("decision", "let's|we'll|we will", r"(?:(?:so|then|alright|ok|okay),? )*(?:let's|we'll|we will) (?P<value><adopt> (?!it\b|that\b|this\b|these\b)<any>)<why>", "Let's use SQLite because it needs no server.", "use SQLite", _DECIDED, family="decision", passing=True),
    Rule("decision", "decision", r"(?:my|our|the)? ?(?:final )?decision(?: is(?: to| that|:)?|:| -| made[:,.]?) (?:(?:we|i)(?:'ll| will| are going to)? )?<value><why>", "Final decision: a garden for everyone.", "a garden for everyone", _DECIDED, family="decision", takes="stated"),
    Rule("decision", "it's settled|it's decided|that settles it|final answer", r"(?:it's settled|it's decided|that settles it|final answer)[:,;.]? (?:we|i)(?:'ll|'re| will| are|'m)? (?:going (?:to|with) )?<value><why>", "It's settled, we'll paint the hall yellow.", "paint the hall yellow", _DECIDED, family="decision", takes="stated"),
    # --- tasks --------------------------------------------------------------------------------
    Rule("task", "remind me|forget to|remember to", r"(?:please |can you |could you )?<remind> <value>", "Remind me to call the plumber tomorrow.", "call the plumber tomorrow", _TASK, family="task"),
    Rule("task", "note to self", r"note to self[:,]? <value>", "Note to self: buy a charger.", "buy a charger", _TASK, family="task"),
    Rule("task", "to-do|todo|to do:|task:|task for|next task", r"(?:my )?(?:to-?do|to do|(?:next )?task)(?: for \w+)?(?: is(?: to)?| -|:) <value>", "To-do: book the vet.", "book the vet", _TASK, family="task"),
    Rule("task", "to-do|todo|to do list|task list|shopping list|my list", r"(?:please |can you )?(?:(?:add|put) <value> (?:to|on|onto) (?:my|the|our) (?:[\w-]+ ){0,2}(?:list|to-?dos?|tasks)|on my (?:to-?do list|list)(?: is(?: to)?|:) (?P<value3><any>))", "Add book the vet to my to-do list.", "book the vet", "Has on the to-do list: {value}.", family="task"),
    Rule("task", "need to|have to|must|got to|gotta|should|supposed to", r"(?:i|we(?! should))<haveto> <errandly>(?P<value>\w+ (?:<any>)?<when>)", "I need to submit the grant report by Friday.", "submit the grant report by Friday", _TASK, family="task", takes="duty"),
    Rule("task", "still need to|still have to|haven't|promised", r"(?:i|we) (?:(?:still )(?:need|have) to|promised(?: \w+){0,3} to|have yet to) (?!find|book a|get|know|see|go|be|think|decide|figure)<value>", "I still need to renew my passport.", "renew my passport", _TASK, family="task", takes="duty"),
    Rule("task", "due", r"(?:my|our|the) (?P<value>[\w' -]+? (?:is|are) due(?! to\b) ?(?:by|on|in|next|this|tomorrow|at)? ?(?:<any>)?)", "My tax return is due on 15 April.", "tax return is due on 15 April", "{value}.", family="task", takes="duty"),
    # --- tasks done ---------------------------------------------------------------------------
    Rule("task_done", "finished|completed|submitted|handed in|turned in|wrapped up|sent off|mailed|delivered|cancelled|canceled|renewed|paid", r"(?:(?:<we>|i|we) |(?=(?:finished|submitted|completed|paid|renewed|handed in) (?:the|my|our|all)\b))(?!.*\b(?:lunch|dinner|breakfast)\b)(?:<adverb>|just )*<finished><finishing> <theone><value><lastly>", "I finished the quarterly report.", "quarterly report", _DONE, family="task"),
    Rule("task_done", "this morning|today|yesterday|last night|ago|this afternoon|this evening", r"(?:<we>|i|we) (?:<ly>)<erranddated> (?:(?:the|my|our|all the|a|an) )?(?!you\b|him\b|her\b|it\b|them\b)<value> <hoursago>", "I booked the flights this morning.", "flights", _DONE, family="task"),
    Rule("task_done", "already|finally|just ", r"<justnow><errand> (?:(?:the|my|our|that|all the|all my|a|an) )?(?!up\b|with\b)<value>", "I already called the plumber.", "plumber", _DONE, family="task"),
    Rule("task_done", _ISDONE, r"(?:(?:the|my|our|all the|both) <value>|(?P<value>[\w-]+(?: [\w-]+){0,3}?)(?= (?:is|are) (?:(?:now|all|finally) )*(?:done|finished))) (?:is|are|has been|have been|'s|was) (?:(?:now|all|finally|already|completely) )*<isdone>", "The tax return is finally done.", "tax return", _DONE, family="task"),
    Rule("task_done", "done with|finished with|cross |as done|as complete|as finished|tick |check off", r"(?:(?:(?:<am>|we're|we are) )?(?:<adverb>|all |finally )*(?:done|finished) with (?:the |my |our )?<value>|(?:you can )?(?:please )?<crossoff>|(?:you can )?(?:please )?mark (?:the |my )?(?P<value3><any>) as (?:done|complete|completed|finished))", "Mark the dentist appointment as done.", "dentist appointment", _DONE, family="task"),
)  # fmt: skip
