"""English synonyms and irregular forms with different stems: *went* and *go*, *favourite* and
*favorite*, *mum* and *mother*. Forms that are more often another word are left out: *rose*,
*bit*."""

VERBS = """
begin began begun; beat beaten; become became; bend bent; bite bitten; bleed bled; blow blew
blown; break broke broken; breed bred; bring brought; build built; burn burnt; buy bought; catch
caught; choose chose chosen; come came; creep crept; deal dealt; dig dug; draw drew drawn; dream
dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel
felt; fight fought; find found; flee fled; fly flew flown; forbid forbade forbidden; forget forgot
forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given; go went
gone; grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; kneel knelt;
know knew known; lead led; learn learnt; leave left; lend lent; lose lost; make made; mean meant;
meet met; pay paid; prove proven; ride rode ridden; ring rang rung; rise risen; run ran; say said;
see saw seen; seek sought; sell sold; send sent; sew sewn; shake shook shaken; shine shone; shoot
shot; show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept;
slide slid; speak spoke spoken; speed sped; spell spelt; spend spent; spill spilt; spin spun;
spring sprang sprung; stand stood; steal stole stolen; stick stuck; strike struck; swear swore
sworn; sweep swept; swell swollen; swim swam swum; swing swung; take took taken; teach taught;
tear tore torn; tell told; think thought; throw threw thrown; understand understood; undo undid
undone; wake woke woken; wear wore worn; weep wept; win won; withdraw withdrew withdrawn; write
wrote written
"""
NOUNS = """
man men; woman women; foot feet; tooth teeth; mouse mice; goose geese; wife wives; knife knives;
wolf wolves; shelf shelves; thief thieves; loaf loaves; half halves; scarf scarves
"""
SPELLINGS = """
favorite favourite; favor favour; color colour; honor honour; neighbor neighbour; neighborhood
neighbourhood; flavor flavour; humor humour; labor labour; behavior behaviour; harbor harbour;
rumor rumour; organize organise; realize realise; recognize recognise; apologize apologise;
specialize specialise; summarize summarise; prioritize prioritise; customize customise; socialize
socialise; memorize memorise; analyze analyse; center centre; theater theatre; liter litre; meter
metre; gray grey; program programme; pajamas pyjamas; mustache moustache; jewelry jewellery; cozy
cosy; practice practise; license licence; defense defence; airplane aeroplane; tire tyre
"""
EVERYDAY = """
mom mum mother; dad father; grandma grandmother; grandpa grandfather; child children kid; birthday
bday; photo photograph picture pic; tv television telly; movie film; phone telephone; bike
bicycle; car automobile; fridge refrigerator; sofa couch; math maths mathematics; exam
examination; ad advert advertisement; gym gymnasium; colleague coworker; doctor physician; lawyer
attorney; vet veterinarian
"""
SAME = {
    form: words[0]
    for line in "; ".join((VERBS, NOUNS, SPELLINGS, EVERYDAY)).split(";")
    for words in (line.split(),)
    for form in words[1:]
}
"""Form -> base word."""
