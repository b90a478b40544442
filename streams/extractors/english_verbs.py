"""Lists of English verbs and of what they go with: what happened, is usual and is busied with.

Words have commas between them; the lists are part of those of `english_lists.py`.
"""

VERBS = {
    # --- verbs of what happened -------------------------------------------------------------------
    "irregular": "went, took, met, got, bought, made, won, lost, ran, began, built, gave, taught, "
    "wrote, read, sold, drove, flew, swam, rode, ate, baked, found, held, led, spent, caught, "
    "sang, drew, broke, became, came, hit, set up, put up, hurt, chose, grew, spoke, beat, "
    "threw, put together, fell, quit",
    "nodeed": "want, need, talk, ask, notic, realiz, realis, miss, chatt, lov, lik, enjoy, hop, "
    "wonder, "
    "mention, us, tri, check, look, seem, happen, end, turn, agre, stopp, remember, reach, hear, "
    "decid, believ, expect, suppos, plann, call, guess, manag, thank, appreciat, laugh, smil, cri, "
    "rememb, click, press, typ, logg, updat, download, upload, install, restart, refresh, "
    "select, scroll, tapp, renam, delet, paste, copi, wait, stay, learn, show, shar, discuss, "
    "feel, watch, imagin, scar, excit, amaz, tir, "
    "struggl",
    "nohabit": "think, feel, want, need, know, try, make sure, say, wonder, end up, get, love, "
    "like, "
    "forget, remember, hear, see, have, be, believe, find, tell, mean, look, hope, wish, "
    "appreciate, expect, send, text, assume, hate, overthink, worry, cry, blame, compare, regret, "
    "come, seem, ask, keep in, knew, guess, wait, admire, enjoy, hit, bring, sit, just",
    "nodoing": "thinking, feeling, trying, wanting, meaning, looking, hoping, having, getting, "
    "seeing, hearing, going, dying, waiting, missing, struggling, "
    "doing (?:great|well|good|ok|alright|pretty), being, dealing, wondering, keeping, coming, "
    "making, finding, asking, staring, exploring options, chasing, focusing, laying, lying, "
    "crying, sleeping, eating (?:so|all|too)",
    "pursuing": "researching, restoring, rebuilding, exploring, carrying on, "
    "playing(?! (?:with|around|it)), "
    "composing, recording, producing, launching, expecting, adopting, investigating, "
    "cultivating, breeding, "
    "brewing, campaigning for, fundraising for, teaching, curating, illustrating, founding, "
    "running(?= (?:an?|my|our) (?:[a-z]+ )?<venture>), serving (?:as|on), "
    "doing(?= (?:<exercise>|<training>)), "
    "sewing, knitting, carving, foraging for, homeschooling, undergoing, recovering from, raising, "
    "looking after, taking on, starting an?, mastering, photographing, documenting, converting",
    "venture": "business, shop, store, company, club, group, campaign, farm, blog, podcast, "
    "charity, "
    "workshop, cafe, bakery, restaurant, studio, channel, household",
    "training": "an? (?:[a-z]+ )?(?:apprenticeship|internship|degree|course|master|phd|residency|"
    "training|workshop|class|challenge), some (?:volunteer|research)",
    "screen": "errors?, messages?, typos?, captchas?, code, lists?, files?, functions?, bugs?, "
    "steps?, "
    "buttons?, links?, pages?, tabs?, servers?, passwords?, accounts?, apps?, quer(?:y|ies), "
    "tables?, "
    "scripts?, e-?mails?, forms?, tickets?, versions?, browsers?, manual, docs, settings, phone, "
    "screen, "
    "printer, cable, router, wifi, connection, account, order, refund, invoice, payment, texts?, "
    "parcels?, packages?, box, calls?, receipts?, card, seat, ticket, cart",
    "praise": "fun, blast, ball, chance, talk, chat, idea, feeling, setback, lot, time, look, "
    "go, hard time",
    "vagueevent": "experience, moment, battle, issue, problem, win, loss, day, night, evening, "
    "weekend, week, incident, scare, journey, ride, milestone, turnout, conversation",
    "occasion": "picnic, barbecue, bbq, party, get-together, reunion, surgery, operation, "
    "interview, "
    "gig, concert, exhibition, wedding, baby, photo ?shoot, workshop, sleepover, game night, "
    "movie night, miscarriage, stroke, accident, heart attack",
    "body": "arm, leg, ankle, knee, wrist, back, shoulder, hip, foot, toe, finger, hand, nose, "
    "rib, ribs, "
    "collarbone, elbow, neck, tooth, muscle, hamstring, calf, jaw",
    "tour": "trip, vacation, holiday, class, course, tour, cruise, hike, workshop, lessons?, "
    "exam, test, "
    "retreat, sabbatical, gap year",
    "project": "photo ?shoot, show, workshop, campaign, presentation, internship, course, "
    "marathon, "
    "fundraiser, performance, gig",
    "speech": "speech, talks?, presentation, lectures?, concert, performance, workshop, class, "
    "tour",
    "gain": r"job, promotion, raise, scholarship, puppy, kitten, dog, cat, tattoo, offer, degree, "
    "certificate, award, medal, apartment, house, car, endorsement, deal",
    "tongue": "spanish, french, german, italian, portuguese, dutch, swedish, norwegian, danish, "
    "finnish, polish, czech, russian, ukrainian, romanian, hungarian, greek, turkish, arabic, "
    "hebrew, persian, farsi, hindi, urdu, bengali, tamil, mandarin, cantonese, chinese, japanese, "
    "korean, vietnamese, thai, tagalog, swahili, welsh, irish, gaelic, breton, catalan, basque, "
    "latin, esperanto, english, sign language",
    "enthusiast": "fan, buff, lover, nerd, geek, enthusiast, fanatic, addict, junkie, "
    "(?:(?<=cat )|(?<=dog )|(?<=tea )|(?<=coffee )|(?<=beach )|(?<=outdoors ))person",
}  # fmt: skip
