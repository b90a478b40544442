"""Lists of English words by which a place, a workplace, a name or an allergen is recognised, or
told from what is none (`english_slots.py`). Words have commas between them.
"""

KINDS = {
    # --- places -----------------------------------------------------------------------------------
    "areas": "countryside, suburbs, mountains, outskirts, inner city, city centre, city center, "
    "north, south, east, west, north-east, north-west, south-east, south-west, northeast, "
    "northwest, southeast, southwest, coast, seaside, sea, lake, river, beach, forest, ocean, "
    "canal, harbour, valley, woods, desert, alps, islands, hills, bush, outback, highlands, "
    "lowlands, abroad, overseas",
    "lands": "netherlands, us, usa, united states, states, uk, united kingdom, philippines, "
    "hague, bronx, bay area, midwest, maldives, bahamas, balkans, emirates, czech republic, "
    "caribbean, middle east",
    "settlements": "rural area, remote area, "
    "town, village, city, suburb, hamlet, island, farm, commune, district, "
    "borough, houseboat, province, region, county, capital, neighbourhood, neighborhood",
    "dwellings": "flat, apartment, house, room, studio, cottage, cabin, place, condo, bungalow, "
    "townhouse, houseboat, dorm, home, loft, villa, building",
    "particles": "de, van, von, der, la, le, el, al, bin, da, di, du, den, del, san, st",
    "numbered": "plan, team, row, seat, chapter, room, floor, level, step, page, version, "
    "platform, gate, table, line, track, phase, stage, group, class, grade, option, section, "
    "slot, tab",
    # --- what one does not live in, nor part from as from a person --------------------------------
    "products": "slack, teams, zoom, linux, windows, mac, macos, ubuntu, debian, fedora, "
    "postgres, postgresql, mysql, sqlite, kubernetes, docker, github, gitlab, notion, signal, "
    "whatsapp, telegram, android, ios, iphone, aws, azure, gcp, python, rust, java, javascript, "
    "typescript, go, gmail, outlook, mastodon, firefox, chrome, safari, facebook, instagram, "
    "twitter, tiktok, reddit, netflix, spotify, amazon, google, apple, microsoft, excel, jira, "
    "vim, emacs, vscode, vs code, discord, uber, paypal, verizon, vodafone, duolingo, starbucks, "
    "mcdonald's, coffee, sugar, alcohol, carbs, caffeine, cigarettes, react, vue, angular, "
    "obsidian, trello, asana",
    # --- work -------------------------------------------------------------------------------------
    "workplaces": "bank, hospital, school, kindergarten, nursery, shop, store, supermarket, "
    "company, firm, university, college, clinic, restaurant, cafe, café, bakery, bar, pub, "
    "hotel, factory, plant, lab, laboratory, library, museum, gallery, agency, startup, "
    "start-up, studio, theatre, theater, zoo, farm, shelter, charity, ngo, nonprofit, "
    "non-profit, council, ministry, government, court, police, army, navy, military, airport, "
    "airline, station, warehouse, garage, workshop, pharmacy, practice, dentist, salon, gym, "
    "call centre, call center, help desk, post office, newspaper, magazine, publisher, "
    "institute, foundation, embassy, consultancy, brewery, winery, vineyard, mine, shipyard, "
    "port, prison, church, hospice, care home, nursing home, bookshop, bookstore, law office, "
    "utility, insurer, manufacturer, retailer, contractor, organisation, organization, "
    "department, authority, parliament, union, construction site, surgery, ward, unit, kitchen, "
    "nhs, eu, un, who, city, county, state, boutique, railway, railways, architects, lawyers, "
    "orchestra, opera, fire brigade, fire department, business, refinery",
    "fields": "finance, marketing, sales, it, tech, hr, human resources, healthcare, "
    "health care, education, retail, law, insurance, banking, hospitality, construction, "
    "logistics, consulting, advertising, publishing, media, journalism, research, science, "
    "biotech, pharma, engineering, software, design, fashion, film, tv, television, radio, "
    "music, theatre, theater, agriculture, farming, manufacturing, real estate, accounting, "
    "academia, government, politics, security, transport, transportation, tourism, catering, "
    "support, customer service, data, cybersecurity, nursing, childcare, social work, energy, "
    "aviation, automotive, telecoms, gaming, e-commerce, procurement, administration, admin, "
    "archives, r&d, gastronomy, forestry, mining, oil, public relations, pr, communications, "
    "medicine, pediatrics, paediatrics, food, operations, shipping, translation, development, "
    "quality assurance, qa, payroll, shifts, care",
    "jobs": "nurse, teacher, student, developer, engineer, programmer, designer, writer, "
    "manager, lawyer, doctor, dentist, vet, chef, cook, baker, driver, pilot, farmer, "
    "accountant, architect, analyst, artist, author, editor, journalist, musician, photographer, "
    "translator, consultant, researcher, scientist, professor, lecturer, tutor, freelancer, "
    "entrepreneur, founder, owner, carpenter, electrician, plumber, mechanic, technician, "
    "librarian, paramedic, firefighter, officer, soldier, intern, resident, postdoc, admin, "
    "administrator, secretary, receptionist, bartender, waiter, waitress, barista, cashier, "
    "clerk, retiree, beekeeper, gardener, coach, trainer, therapist, counsellor, counselor, "
    "psychologist, pharmacist, surgeon, midwife, economist, chemist, physicist, mathematician, "
    "historian, statistician, contractor, builder, welder, tailor, hairdresser, sailor, nanny, "
    "actor, actress, dancer, singer, violinist, pianist, guitarist, drummer, potter, painter, "
    "sculptor, recruiter, realtor, broker, trader, banker, auditor, paralegal, judge, producer, "
    "director, supervisor, operator, specialist, lead, major, graduate, sophomore, freshman, "
    "junior, senior, homemaker, housewife, caregiver, carer, volunteer, pastor, priest, monk, "
    "optician, tester, sysadmin, dba, novelist, poet, illustrator, animator, copywriter, "
    "marketer, blogger, biologist, planner, apprentice, assistant, barber, butcher, cleaner, "
    "courier, detective, executive, fisherman, florist, guide, inspector, instructor, "
    "interpreter, jeweller, maker, miner, model, physiotherapist, policeman, postman, principal, "
    "seller, shepherd, trucker, usher, warden, webmaster, ceo, cto, cfo, paediatrician, "
    "pediatrician, radiographer, dietitian",
    "restless": "getting, going, killing, becoming, starting, ending, driving, boring, tiring, "
    "exhausting, draining, being, eating, ruining, changing, making, taking, wearing, stressing, "
    "nothing, something, anything, everything, keeping, over, gone, done, safe",
    "moods": "hard, boring, uninteresting, tiring, exhausting, stressful, fun, great, good, bad, "
    "terrible, "
    "awful, nice, fine, ok, okay, easy, tough, secure, insecure, remote, demanding, interesting, "
    "rewarding, amazing, horrible, weird, crazy, busy, important, over, gone, done, safe, on, "
    "at, in, not",
    # --- names ------------------------------------------------------------------------------------
    "nonames": "a, an, the, my, our, your, this, that, back, later, soon, now, again, anytime, "
    "anything, whatever, whenever, when, if, at, on, in, by, to, for, from, with, before, after, "
    "up, out, over, off, about, around, between, inside, outside, not, no, never, always, only, "
    "just, really, also, still, very, so, too, crazy, mad, nuts, insane, weird, strange, odd, "
    "old-fashioned, old, paranoid, picky, spoiled, spoilt, naive, cynical, silly, stupid, dumb, "
    "lazy, boring, sentimental, superstitious, biased, selfish, cheap, cautious, curious, "
    "skeptical, sceptical, pessimistic, optimistic, romantic, sensitive, dramatic, basic, lucky, "
    "names, home, work, asap, collect, anyway, directly, first, once, twice, maybe, please, sir, "
    "ahead, instead, immediately, ready, tired, hungry, happy, sad, late, early, busy, free, "
    "new, good, bad, fine, here, there, chaos, fear, peace, pain, luxury, poverty, harmony, "
    "hell, heaven, denial, silence, sin, misery, bed, debt, exile, isolation, mud, important, "
    "common, rare, short, long, spelled, spelt, pronounced, written, wrong, right, correct, "
    "misspelled, missing, hard, easy, difficult, unusual, unique, known, listed, as, like, "
    "because, together, alone, closer, further, half, mine, yours, peanuts, fun, ease, times, "
    "town, myself, everyone, someone, him, her, them, you, me, it, us, i, full, part, less, more, "
    "most, money, exposure, food, nothing, lunch, dinner, noon, sorry, afraid, sure, glad, "
    "interested, looking, trying, thinking, wondering, having, using, overwhelmed, stuck, lost, "
    "confused, bored, sick, pregnant, single, married, retired, vegan, vegetarian, excited, "
    "nervous, worried, anxious, bilingual, unemployed, cold",
    "times": "monday, tuesday, wednesday, thursday, friday, saturday, sunday, mondays, tuesdays, "
    "wednesdays, thursdays, fridays, saturdays, sundays, tomorrow, today, tonight, yesterday, "
    "night, nights, morning, mornings, evening, evenings, afternoon, afternoons, weekend, "
    "weekends, midnight, noon",
    "months": "january, february, march, april, may, june, july, august, september, october, "
    "november, december",
    "moments": "week, month, year, quarter, day, days, weeks, months, spring, summer, autumn, "
    "fall, winter, christmas, easter, halloween, eve, valentine's, noon, eod, eow, one, two, "
    "three, first, second, third, fourth, fifth, hour, hours",
    "peoples": "american, british, english, scottish, welsh, irish, french, german, dutch, "
    "belgian, swiss, austrian, italian, spanish, portuguese, greek, turkish, polish, czech, "
    "slovak, hungarian, romanian, bulgarian, serbian, croatian, ukrainian, russian, finnish, "
    "swedish, norwegian, danish, icelandic, estonian, latvian, lithuanian, chinese, japanese, "
    "korean, vietnamese, thai, indian, pakistani, indonesian, malaysian, filipino, australian, "
    "canadian, mexican, brazilian, argentinian, chilean, colombian, peruvian, cuban, egyptian, "
    "moroccan, nigerian, kenyan, ethiopian, ghanaian, israeli, iranian, iraqi, syrian, lebanese, "
    "european, african, asian, latino, latina, muslim, christian, catholic, jewish, hindu, "
    "buddhist, sikh, protestant, atheist, virgo, libra, scorpio, sagittarius, capricorn, "
    "aquarius, pisces, aries, taurus, gemini, leo, ceo, cto, republican, democrat, bavarian, "
    "flemish, catalan, basque",
    # --- people, and what only sounds like them ---------------------------------------------------
    "kin": "brother, sister, mother, father, mum, mom, dad, son, daughter",
    "pronouns": "him, her, them, each other, someone, somebody",
    "relations": "wife, husband, partner, girlfriend, boyfriend, fiance, fiancé, fiancée, "
    "fiancee, ex, ex-husband, ex-wife, boss, colleague, coworker, neighbour, neighbor, son, "
    "daughter, mother, father, mum, mom, dad, brother, sister, uncle, aunt, cousin, in-law, "
    "mother-in-law, roommate, flatmate, friend, sweetheart, soulmate, love, bf, gf, man, woman, "
    "guy, girl, boy, doctor, teacher, nurse, classmate, teammate, family, kids, children, parents",
    "nuisances": "bullshit, bs, nonsense, crap, stupidity, stupid, fools, idiots, people, drama, "
    "work, job, meeting, commitment, exercise, effort, paperwork, tax, taxes, email, "
    "bureaucracy, politics, small talk, fun, hypocrisy, laziness, love, romance, responsibility, "
    "failure, success, school, homework, housework, chores, gym, sports, money, lies, liars, "
    "authority, change, feelings, hard work, sarcasm, negativity, deadlines, deadline, alarm, "
    "alarms, clocks, compliments, math, maths, code, spreadsheets, powerpoint, excel, "
    "javascript, java, jargon, buzzwords, adulting, losers, humans, crowds, winter, me, you, "
    "him, her, them, myself",
    "labours": "waiting, working, losing, cleaning, cooking, running, exercising, commuting, "
    "scheduling, planning, studying, ironing, tidying, queueing, queuing, adulting, paying, "
    "thinking, getting up, getting, hurrying, listening, sitting, being",
    # --- amounts ----------------------------------------------------------------------------------
    "amounts": "hundred, hundreds, thousand, thousands, million, millions, one, two, three, "
    "four, five, six, seven, eight, nine, ten, twenty, thirty, forty, fifty, sixty, seventy, "
    "eighty, ninety, twelve, fifteen, zero, a grand, grand",
}
"""`KINDS["areas"]`: words of what may be a home without a name."""
