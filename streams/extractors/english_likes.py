"""English rules: likes, dislikes and favourites. One line each (docs/extractors.md)."""

# ruff: noqa: E501 - a rule is one line, however long

from streams.extractors.rule import Rule

_LIKES = "Likes {value}."
_DISLIKES = "Does not like {value}."

_LOVE = (
    "we love|we enjoy|we all love|we both love|we really|we like|i like|i love|i enjoy|i adore|"
    "so like|so love|still like|still love|always love|always like|just love|just like|do like|"
    "do love|do enjoy|also enjoy|both love|both like|still enjoy|i really|i absolutely|i usually|"
    "i generally|i truly|i totally|i personally|i genuinely|i definitely|i especially|i honestly|"
    "i actually|i particularly|i mostly|i typically"
)

RULES = (
    Rule("preference", "favo", r"my (?P<least>least )favou?rite (?P<topic>[\w ]+?) <is> <value>", "My least favourite vegetable is celery.", "celery", "Least favourite {topic} is {value}.", "disliked {topic}", "dislike", family="favourite"),
    Rule("preference", "favo", r"my (?:all-time |absolute |current |new )?favou?rite (?P<topic>(?!one\b|thing\b|part\b|way\b|ones\b)[\w ]+?) (?:<is>|has to be|would be) (?:<ly>)<value>", "My favourite colour is dark green.", "dark green", "Favourite {topic} is {value}.", "favourite {topic}", "like", family="favourite"),
    Rule("preference", "favo", r"<value> (?:is|are) (?:<ly>)my (?:all-time |absolute )?favou?rite(?: (?P<topic>[\w ]+?))?(?: ever| of all(?: time)?)?", "Jazz is my favourite.", "Jazz", _LIKES, polarity="like", family="like"),
    Rule("preference", _LOVE, r"(?:i|we(?: all)?|<withme>) (?:<ly>)(?:love|like|enjoy|adore) (?:also |too )?<likable><value>(?: best| more)?", "I really enjoy long train rides.", "long train rides", _LIKES, polarity="like", family="like"),
    Rule("preference", "love to |like to |enjoy to ", r"(?:i|we) (?:<ly>)(?:love|like) to (?P<value><pastime>(?! (?:it|this|that|them|with|to|and|about|at all|more|too|but)\b) <any>)", "I love to paint old barns.", "paint old barns", "Likes to {value}.", polarity="like", family="like"),
    Rule("preference", "of my fav", r"(?:one|two|some|a few) of my (?:all-time |absolute )?fav(?:ou?rite|e)s?(?: (?P<topic>[\w ]+?))? (?:is|are) (?!(?:when|how|what|that|the time|it|this|seeing)\b)(?!.*-)<value>", "One of my favourite films is Amélie.", "Amélie", _LIKES, polarity="like", family="like"),
    Rule("preference", "fan of both|both ", r"<am> (?:<ly>)(?:a )?(?:big |huge )?fan of both <value>", "I'm a fan of both jazz and folk.", "jazz and folk", _LIKES, polarity="like", family="like"),
    Rule("preference", "always loved|always liked|always enjoyed|always adored", r"i(?:'ve| have)? always (?:loved|liked|enjoyed|adored) (?!(?:it|that|this|the|how|you|your)\b)<value>", "I've always loved trains.", "trains", _LIKES, polarity="like", family="like"),
    Rule("preference", "i prefer|i much prefer|always prefer|usually prefer|generally prefer|really prefer|still prefer", r"i (?:<ly>)prefer (?!(?:it|that|this|these|those|them|the|you|\d|if|not)\b)<value>(?: (?:to|over|rather than|instead of|more than) (?P<than><any>))?", "I prefer aisle seats to window seats.", "aisle seats", "Prefers {value}.", polarity="like", family="like", passing=True, takes="preferred"),
    Rule("preference", "favo|fave|my fav ", r"my (?:all-time |absolute |current |new |personal )?fav(?:ou?rite|e)?(?: (?:one|thing))? (?:is|are|has to be) (?!(?:when|how|what|that|the time|it|this|seeing|you|to|still|not|missing|gone|out|sold|back|there|on|at|in)\b)<value>", "My favorite is the lamb tagine.", "the lamb tagine", _LIKES, polarity="like", family="like"),
    Rule("preference", "love |enjoy ", r"(?:really |absolutely |just |also )*(?:love|enjoy) (?P<value><clear>(?!(?:hearing|seeing|being|having|knowing|getting|talking|chatting)\b)[a-z]+ing <object><any>)", "Love repairing old clocks.", "repairing old clocks", _LIKES, polarity="like", family="like", opens=True),
    Rule("preference", "loved |enjoyed ", r"(?:i|we) (?:<ly>)(?:loved|enjoyed (?:reading|watching)) (?=\ua66e)<value>", 'I loved "The Leopard" by Lampedusa.', '"The Leopard" by Lampedusa', _LIKES, polarity="like", family="like"),
    Rule("preference", " fan| buff| lover| nerd| geek| enthusiast| fanatic| addict| junkie| person", r"(?:(?:<am>|we're) (?:<ly>)|as )an? (?:total |huge |big |real |massive |complete |avid |such a )*(?P<value>(?!(?:big|huge|real|total|bit)\b)[a-z][\w' -]{1,28}?) <enthusiast>", "I'm a total train nerd.", "train", _LIKES, polarity="like", family="like"),
    Rule("preference", "my preference", r"my preference is (?:for |to )?<value>", "My preference is for short answers.", "short answers", "Prefers {value}.", polarity="like", family="like"),
    Rule("preference", "hooked on|fan of|into |fond of|crazy about|obsessed with|keen on|partial to|sucker for|passionate about|addicted to", r"(?:(?:<am>|we're|we are|i've been|i have been|i've gotten|i got (?!into <admitted>)) (?:<ly>|all )|(?=(?:big|huge|massive) fan))<keenon> (?:this (?:[\w-]+ ){1,3}?called )?<value>", "I'm a big fan of old maps.", "old maps", _LIKES, polarity="like", family="like"),
    Rule("preference", "get enough of|soft spot for|sweet tooth|nothing beats", r"(?:i (?:can't|can never|cannot) get enough of|i have a soft spot for|nothing beats) <value>(?: for me)?", "I can't get enough of mango.", "mango", _LIKES, polarity="like", family="like"),
    Rule("preference", "hate|detest|loathe|despise|dislike|stand|bear|abhor", r"(?:i (?:<ly>)|(?:really |absolutely |honestly )?(?=can\'t|cannot|hate|despise|loathe))<hating> (?:it (?=when (?:people|my|the|others|some|an?)\b))?<hateful><value>", "I can't stand loud music.", "loud music", _DISLIKES, polarity="dislike", family="dislike"),
    Rule("preference", "don't|do not|never|no longer|didn't", r"i (?:<ly>)(?:don't|do not|never|no longer|have never|'ve never|never really)(?: (?:really|particularly|much|actually|even))* (?:like|liked|enjoy|enjoyed|love|care for|cared for) <dislikable><value><anymore>", "I don't like cilantro.", "cilantro", _DISLIKES, polarity="dislike", family="dislike"),
    Rule("preference", "fan of|into|fond of|keen on|no longer", r"(?:<am> (?:<ly>)|(?=not a))(?:not|no longer|never)(?: (?:really|much|exactly|particularly|such|too|very))* (?:a )?(?:big |huge |great )?(?:of a )?(?:fan of|into|fond of|keen on) <value><anymore>", "I'm not a fan of spicy food.", "spicy food", _DISLIKES, polarity="dislike", family="dislike"),
    Rule("preference", "turns me off|drives me crazy|not my thing|isn't my thing|not for me|disgusts me|not my cup of tea|isn't my cup of tea|drives me nuts|gets on my nerves|aren't my thing|isn't for me", r"<value> (?:(?:really )?(?:turns me off|drives me (?:crazy|nuts)|disgusts me|gets on my nerves)|(?:is|are)(?: really| just|n't| not)* (?:my thing|for me|my cup of tea))", "Golf is really not my thing.", "Golf", _DISLIKES, polarity="dislike", family="dislike"),
)  # fmt: skip
