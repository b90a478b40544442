"""Lists of English words, by the kind of thing they name: `<pet>` in a pattern stands for any word
of the list `pet`. Words have commas between them; one may be a small pattern (`dogs?`). Where a
list is repeated, a longer word stands before its own beginning.
"""

# ruff: noqa: E501 - a list of words is one line, however long

from streams.extractors.english_verbs import VERBS

_WORDS = {
    # --- time -----------------------------------------------------------------------------------
    "month": "january, february, march, april, may, june, july, august, september, october, "
    "november, december",
    "season": "spring, summer, autumn, fall, winter",
    "units": "days?, weeks?, months?, years?",
    "partofday": "morning, afternoon, evening, week, weekend, month, year, summer, winter, "
    "spring, fall",
    # --- people ---------------------------------------------------------------------------------
    "partner": "girlfriend, boyfriend, partner, wife, husband, fianc[eé]e?",
    "kinmod": r"(?:eld|old|young)(?:er|est), eldest, little, big, middle, teenage, late, baby, elderly, adult, "
    r"twin, step, (?:\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)[- ](?:year|month)[- ]old",
    "kin": r"mother-in-law, father-in-law, sister-in-law, brother-in-law, in-laws, stepson, stepdaughter, stepmother, stepfather, "
    r"stepmom, stepdad, granddaughter, grandson, grandchildren, godson, goddaughter, granny, nan, nana, spouse, ex-husband, ex-wife, "
    r"(?:\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)[- ](?:year|month)[- ]old, kids?, children, twins, toddler, newborn, wife, husband, partner, girlfriend, boyfriend, fianc[eé]e?, son, daughter, mother, "
    r"mom, mum, father, dad, brother, sister, grandma, grandpa, grandmother, grandfather, "
    r"parents, siblings, grandparents, aunt, auntie, uncle, cousin, niece, nephew, "
    "baby, dog, cat, puppy, kitten, parrot, hamster, rabbit, pet, room-?mate, flatmate, housemate, best friend",
    "colleagues": "friend, best friend, colleague, coworker, boss, neighbou?r, teammate, coach, "
    "teacher, mentor, family, fam, team",
    "kids": "kids, children, boys, girls, pets, dogs, cats, twins",
    "household": r"kids?, child(?:ren)?, sons?, daughters?, dogs?, cats?, twins?, brothers?, "
    r"sisters?, siblings?, pets?, rabbits?, parrots?, toddlers?, bab(?:y|ies), horses?, chickens?, "
    r"hamsters?, boys?, girls?, grand\w+, retriever, puppy, kitten, (?:\d+|two|three|four|five|six|seven|eight|nine|ten)[- ](?:year|month)[- ]olds?, <breed>",
    "profession": "nurse, teacher, student, developer, engineer, programmer, designer, writer, "
    "manager, lawyer, doctor, dentist, vet, chef, cook, baker, driver, pilot, farmer, accountant, "
    "architect, analyst, artist, author, editor, journalist, musician, photographer, translator, "
    "consultant, researcher, scientist, professor, lecturer, tutor, freelancer, entrepreneur, "
    "founder, owner, carpenter, electrician, plumber, mechanic, technician, librarian, paramedic, "
    "firefighter, policeman, officer, soldier, intern, resident, postdoc, admin, administrator, "
    "secretary, receptionist, bartender, waiter, waitress, barista, cashier, clerk, retiree, "
    "widow, widower, parent, mother, father, mom, dad, grandmother, grandfather, beekeeper, "
    "gardener, coach, trainer, therapist, counsell?or, psychologist, pharmacist, surgeon, "
    "midwife, economist, biologist, chemist, physicist, mathematician, historian, statistician, "
    "contractor, builder, welder, tailor, hairdresser, sailor, immigrant, expat, native speaker, "
    "veteran, nanny, actor, actress, dancer, singer, violinist, pianist, guitarist, drummer, "
    "potter, painter, sculptor, only child, twin, introvert, extrovert, planner, recruiter, "
    "salesperson, salesman, realtor, broker, trader, banker, auditor, paralegal, judge, "
    "producer, director, supervisor, operator, worker, specialist, lead, major, graduate, "
    "sophomore, freshman, junior, senior, homemaker, housewife, caregiver, volunteer, pastor, "
    "priest, monk, geologist, botanist, zoologist, ecologist, neurologist, cardiologist, "
    "radiologist, optician, tester, sysadmin, dba, novelist, poet, illustrator, animator, "
    "copywriter, marketer, blogger, dev, devops, sre, swe, plasterer, roofer, mason, locksmith, glazier, "
    "bricklayer, machinist, dispatcher, courier, janitor, caretaker, social worker, bookkeeper, "
    "actuary, stylist, makeup artist, masseuse, dietitian, nutritionist, radiographer, anesthetist, "
    "orthodontist, hygienist, florist, butcher, fisherman, sommelier, headteacher",
    # --- things that people have ----------------------------------------------------------------
    "animal": "<breed>, dogs?, cats?, pupp(?:y|ies), kittens?, parrots?, turtles?, snakes?, fish, rabbits?, "
    "guinea pigs?, hamsters?, lizards?",
    "breed": "collies?, labradors?, labs?, poodles?, terriers?, spaniels?, beagles?, husky, huskies, dachshunds?, bulldogs?, pugs?, chihuahuas?, corgis?, "
    "greyhounds?, mastiffs?, rottweilers?, dalmatians?, schnauzers?, whippets?, german shepherds?, goldendoodles?, tabby, ragdoll, budgies?, canary, canaries, "
    "cockatiels?, ferrets?, geckos?, tortoises?, hens, goats?, sheep, donkeys?, pony, ponies, cows?, beehives?, goldfish, gerbils?",
    "vehicle": "cars?, bikes?, bicycles?, motorbikes?, motorcycles?, boat, van, camper, rv, "
    "truck, tractor, e-bike, scooter, "
    "skateboard, surfboard, kayak, canoe, sailboat",
    "instrument": "guitars?, pianos?, violins?, drums?, instruments?, saxophone, ukulele, cello, "
    "harp, banjo",
    "building": "house, apartment, flat, condo, townhouse, villa, loft, caravan, orchard, vineyard, greenhouse, backyard, cabin, cottage, garden, allotment, farm, ranch, "
    "greenhouse, workshop, studio, "
    "library, bakery, shop, store, company, restaurant",
    "gear": "camera, telescope, drone, tablet, smartwatch, sewing machine, treadmill, tent, "
    "loom, kiln, 3d printer, "
    "aquarium, headset, keyboard, laptop, pc, console, record player",
    "treasure": "tattoos?, necklaces?, bracelets?, paintings?, bowls?, figurines?, posters?, "
    "quilts?, jersey, trophy, trophies, vinyl, collections?",
    "amenity": r"car, oven, microwave, kitchen, license, licence, driver's .+, access .+, "
    r"passport, "
    r"visa, credit card, admin .+, root .+, gpu, internet .+, freezer, dishwasher, printer, "
    r"smartphone, permission .+, budget .+, sudo .+, blender, stove, washing machine, balcony, "
    "garden",
    # --- bodies and food ------------------------------------------------------------------------
    "diet": r"vegan, vegetarian, pescatarian, celiac, coeliac, lactose[- ]intolerant, "
    r"gluten[- ](?:free|intolerant), diabetic, kosher, halal, teetotal, "
    r"(?:color|colour)[- ]?blind, "
    r"pregnant, dyslexic, hard of hearing, deaf, blind, keto, sober, asthmatic, claustrophobic, "
    "on a .+ diet",
    "ailment": r"eczema, psoriasis, ibs, pcos, gout, sciatica, scoliosis, an(?:a)?emia, hypothyroidism, hyperthyroidism, fibromyalgia, (?:acid )?reflux, gerd, ptsd, ocd, "
    r"bipolar(?: disorder)?, sleep apno?ea, long covid, a slipped disc, tennis elbow, plantar fasciitis, carpal tunnel, high cholesterol, low iron, "
    r"an iron deficiency, a sensitive stomach, an ulcer, kidney stones, heartburn, rosacea, acne, panic attacks, social anxiety, a nut allergy, food allergies, "
    r"colitis, narcolepsy, shingles, hepatitis, hiv, a hernia, lactose intolerance, tendonitis, low blood pressure, thyroid \w+, cataracts, adhd, asthma, diabetes, insomnia, migraines?, chronic [\w ]+, co?eliac disease, "
    r"high blood pressure, arthritis, dyslexia, epilepsy, tinnitus, anxiety, a bad (?:back|knee), "
    r"bad knees, crohn\S+, a heart condition, vertigo, hay fever, glaucoma, autism, back pain, "
    r"hypertension, dementia, alzheimer's(?: disease)?, parkinson's(?: disease)?, "
    r"multiple sclerosis, copd, lupus, (?:[a-z]+ )?cancer, depression, osteoporosis, "
    "endometriosis",
    "implant": r"a pacemaker, an insulin pump, (?:a )?hearing aids?, "
    r"an? (?:artificial|prosthetic) \w+, "
    "a stoma, a stent, one kidney",
    "medicine": r"insulin, blood thinners, antidepressants?, antihistamines?, beta[- ]?blockers?, "
    r"statins?, warfarin, aspirin, ibuprofen, lithium, cortisone, an inhaler, "
    r"(?:blood pressure |heart |thyroid |my )?(?:medicine|medication|meds|pills) "
    r"(?:for|against) .+, "
    r"\w+(?:formin|pril|olol|statin|prazole|sartan|oxetine|azepam|oxaban|cillin|dipine|"
    r"triptyline|thyroxine|traline)",
    "selfnoun": "mother, father, mom, mum, dad, parent, grandmother, grandfather, twin, "
    "only child, introvert, extrovert, widow, widower, immigrant, expat, native speaker",
    # --- what people do -------------------------------------------------------------------------
    "pastime": "read, cook, bake, paint, draw, write, swim, hike, run, dance, sing, garden, camp, "
    "fish, ski, surf, climb, knit, sew, play, ride, cycle, collect, practi[cs]e, volunteer, "
    "explore, sketch, jog, meditate, relax(?= by), unwind(?= by), exercise, travel(?= by| in| alone), learn about, go(?= [a-z]+ing), wear, hang out, listen to, spend time",
    "quittable": "smoke, drink, drive, run, cook, paint, swim, dance, sing, commute, meditate, "
    "travel, hike, jog, cycle, fish, hunt, garden, knit, gamble, write, eat out",
    "endable": r"do, play, eat, drink, use, smoke, practi[cs]e, take, read, watch, run, ride, "
    r"drive, "
    "go to, attend, study, learn, teach, train for, train, collect, volunteer at, "
    "volunteer with, volunteer, write, cook, bake, paint, want, want to, plan to, plan on, "
    "intend to, need to, need, have to, speak, follow, support, believe in, keep, wear, "
    "listen to, commute to, commute by, commute, lead, coach, manage, meet, see",
    "exercise": r"kickboxing, boxing, aerobics, yoga, pilates, karate, judo, tai chi, crossfit, "
    r"ballet, gymnastics, weight, "
    "photography, pottery, ceramics, improv, martial, volunteer, stand-up, standup",
    "field": r"music, art, nature, yoga, therapy, exercise, dance, pottery, poetry, chess, "
    r"sports?, "
    "photography, theatre, theater",
    "barred": "eat, drink, have, use, work, afford, spend, travel, drive, fly, attend, install, "
    "lift, run, take, pay, do, join, meet, stay, sit, stand for, climb, swim, tolerate, handle, "
    "digest, walk, share, send, store, upload, deploy, change, modify, make, commit, touch, "
    "accept, exceed, go over, go above, be",
    # --- what agents are asked for --------------------------------------------------------------
    "answers": "answers?, replies, responses?, explanations?",
    "unwanted": "meetings, calls, emails, pork, beef, meat, dairy, nuts, gluten, sugar, alcohol, "
    "seafood, fish, emojis?, jargon, flights, layovers, stairs, pets, smoking, spoilers, swearing, "
    "external, third-party, new, cloud, javascript, messages, notifications, caffeine, "
    "frameworks, dependencies, slang, comments, semicolons, docstrings, markdown, bullet points, "
    "bullets, libraries, tables, small talk, classes, ads, fluff, chicken, mushrooms, onions, eggs",
    "movable": "date, meeting, time, deadline, appointment, flight, booking, event, party, call, "
    "database, stack, team, office, wedding, plan, bank, doctor, gym, diet, job, provider",
    # --- errands ----------------------------------------------------------------------------------
    "errand": "sent, bought, did, wrote, made, called, emailed, booked, fixed, cleaned, returned, "
    "picked up, dropped off, signed, filed, uploaded, deployed, merged, shipped, scheduled, "
    "ordered, packed, registered, replaced, repaired, updated, set up, washed, mowed, posted, "
    "published, watered, printed, read, took out, painted, reserved, cancelled, canceled, closed, "
    r"reviewed, backed up, installed, assembled, sold, got around to \w+ing, done, taken care of, "
    r"changed, baked, migrated, tested, sorted(?: out)?, renewed, paid, applied for",
    "errandjust": "sent, booked, bought, signed, filed, shipped, ordered, picked up, dropped off, "
    "registered, washed, mowed, watered, cleaned, mailed",
    "erranddated": "booked, bought, sent, called, paid, picked up, dropped off, mailed, ordered, "
    "fixed, signed, returned, cleaned, emailed, filed, wrote, cancelled, watered, submitted, "
    "renewed",
    "finished": r"finished, completed, submitted, handed in, turned in, wrapped up, sent off, "
    r"mailed, "
    r"delivered, renewed, paid(?: off)?(?= the| my| our| all), crossed off, checked off, "
    "got done with, finalized, finalised",
    "isdone": r"done, finished, completed, complete, submitted, paid, taken care of, sent, fixed, "
    r"ready to ship, booked, delivered, over and done with, renewed, signed, merged, deployed, "
    r"shipped, cleaned, filed, cancelled, canceled, repaired, submitted, ordered, uploaded, "
    r"published, scheduled, out of the way, off my (?:list|plate), written, sorted, in the mail, "
    "packed",
    "noerrand": r"find, book a, get a, know, see, search, look, reserve, make, go, leave, "
    r"travel, fly, "
    r"be , check, take a, rent, transfer, use, keep, avoid, catch, find, stay, depart, arrive, "
    r"return (?:on|by|to|home), eat, have, change, observe, watch, purchase, plan, view, "
    r"schedule a (?:ride|cab|taxi), listen, hear, visit, move, attend, spend, "
    r"buy (?:a |\\d |two |three )?(?:bus |train )?tickets?, get(?: a| to| there), set up an app, "
    "open, play, come, do, work, start, choose, decide, figure, think, ask, talk, say",
    # --- what somebody is like, and has before them ----------------------------------------------
    "trait": r"height, weight, blood type, blood group, shoe size, ring size, dress size, "
    r"star sign, zodiac sign, nationality, religion, faith, pronouns, eye colou?r, "
    r"hair colou?r, skin type, salary, income, rent, mortgage, hometown, home town, commute, "
    r"maiden name, surname, last name, nickname, hobby, hobbies, ethnicity, star",
    "nation": r"american, british, english, scottish, welsh, irish, french, german, dutch, "
    r"belgian, swiss, austrian, italian, spanish, portuguese, greek, turkish, polish, czech, "
    r"slovak, hungarian, romanian, bulgarian, serbian, croatian, ukrainian, russian, finnish, "
    r"swedish, norwegian, danish, icelandic, estonian, latvian, lithuanian, chinese, japanese, "
    r"korean, vietnamese, thai, indian, pakistani, indonesian, malaysian, filipino, filipina, "
    r"australian, canadian, mexican, brazilian, argentinian, chilean, colombian, peruvian, "
    r"cuban, egyptian, moroccan, nigerian, kenyan, ethiopian, ghanaian, israeli, iranian, "
    r"iraqi, syrian, lebanese, muslim, catholic, jewish, hindu, buddhist, sikh, protestant, "
    r"atheist, mormon, quaker",
    "dread": r"heights, flying, spiders, snakes, dogs, needles, the dark, public speaking, "
    r"driving, water, the water, deep water, blood, clowns, crowds, elevators, lifts, "
    r"enclosed spaces, the dentist, dentists, thunder, storms, horses, bees, wasps, moths, "
    r"dying, death, being alone, open water, hospitals, mice, rats, birds, fire",
    "occasions": r"exams?, finals, test, interview, surgery, operation, wedding, birthday, "
    r"anniversary, graduation, presentation, concert, recital, performance, race, marathon, "
    r"tournament, competition, trip, holiday, vacation, due date, check-?up, scan, hearing, "
    r"court date, audition, defen[cs]e, deadline, move, reunion, exhibition, show, gig, "
    r"surgery, appointment, quiz, midterms?, baby shower, retreat, conference",
}  # fmt: skip

LISTS = {name: f"(?:{'|'.join(words.split(', '))})" for name, words in {**_WORDS, **VERBS}.items()}
