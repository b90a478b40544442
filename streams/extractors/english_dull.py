"""English: words that say nothing by themselves months later, by what they are about."""

DULL = {
    # --- words that say how something was, not what
    "praise": "adorable, amazing, awesome, awful, bad, beautiful, best, big, brilliant, busy, "
    "calm, chill, cool, cosy, cozy, crazy, cute, delicious, different, easy, emotional, "
    "enjoyable, epic, exciting, exhausting, fancy, fantastic, favorite, favourite, fine, fun, "
    "funny, good, gorgeous, great, happy, hard, hectic, hilarious, huge, incredible, insane, "
    "inspiring, interesting, intense, kind, little, local, long, lovely, lucky, magical, major, "
    "massive, memorable, neat, new, nice, old, peaceful, perfect, popular, pretty, quick, quiet, "
    "random, real, refreshing, relaxing, rewarding, rough, scary, short, sick, small, special, "
    "stunning, super, sweet, tasty, terrible, thrilling, tiny, tough, unforgettable, unique, "
    "weird, wild, wonderful, worst, yummy, recent, certain, own, positive, whole, few, other, "
    "similar, important, successful",
    # --- words that hold others together
    "small": "a, an, the, some, any, my, our, i, we, me, us, his, her, their, its, it, this, "
    "that, these, those, all, both, more, most, much, many, several, another, first, next, last, "
    "in, on, at, of, for, to, with, and, or, but, from, by, about, into, out, off, up, down, "
    "over, around, through, along, away, back, so, very, really, quite, just, also, too, again, "
    "then, as, like, than, not, there, here, together, away, outside, inside, now, later, soon, "
    "today, yesterday, tonight, morning, afternoon, evening, night, day, days, week, weeks, "
    "weekend, weekends, month, months, year, years, time, times, ago, before, after, during, "
    "while, when, once, twice, lately, recently, one, two, three, four, five, six, seven, eight, "
    "nine, ten, couple, lot, lots, bunch, bit, ton, tons, load, kind, kinds, sort, type, types, "
    "piece, pieces, pair, set, monday, tuesday, wednesday, thursday, friday, saturday, sunday, "
    "who, which, where, what, is, are, was, were, be, been, being, can, could, would, will, "
    "should, myself, ourselves, can't, don't, finally, every, each, ever, never, else, even, so, "
    "spring, summer, autumn, fall, winter, season, long-awaited, possible, enough, far, near, "
    "close, way, sure",
    # --- verbs and nouns of any deed
    "light": "go, going, gone, went, get, getting, got, gotten, have, having, had, has, do, "
    "doing, did, done, make, making, made, take, taking, took, taken, give, giving, gave, keep, "
    "keeping, kept, find, finding, found, try, trying, tried, see, seeing, saw, seen, look, "
    "looking, use, using, used, work, working, worked, play, playing, played, start, starting, "
    "started, finish, finishing, finished, complete, completed, create, creating, created, "
    "bring, brought, become, became, hope, hoping, plan, planning, planned, excited, ready, "
    "determined, committed, consider, considering, think, thinking, want, wanting, wanted, "
    "enjoy, enjoying, enjoyed, explore, exploring, explored, experience, experiencing, attend, "
    "attended, watch, watching, watched, watches, read, reading, reads, checking, check, "
    "checked, spend, spending, spent, share, sharing, shared, show, showing, showed, meet, "
    "meeting, met, visit, visiting, visited, discover, discovering, discovered, end, ended, hit, "
    "reach, reached, achieve, achieved, achieving, focus, focusing, improve, improving, "
    "improved, continue, continuing, celebrate, celebrating, celebrated, buy, buying, bought, "
    "receive, received, won, win, winning, learn, learning, learned, hear, hearing, feel, "
    "feeling, talk, talking, hang, hanging, hung, chat, chatting, join, joining, joined, "
    "organize, organized, organised, host, hosted, hold, held, put, come, came, coming, set, "
    "turn, run, push, pushing, live, living, deal, dealing, step, stepped, stay, staying, "
    "stayed, help, helping, helped, build, built, built, know, knowing, catch, catching, caught, "
    "hope, add, added, change, changing, changed, event, events, experience, experiences, "
    "moment, moments, milestone, issue, issues, problem, problems, thing, things, stuff, place, "
    "places, spot, idea, ideas, impact, difference, progress, balance, opportunity, "
    "opportunities, chance, chances, challenge, challenges, goal, goals, plans, dream, dreams, "
    "situation, thoughts, thought, life, world, future, ways, people, person, someone, everyone, "
    "something, anything, everything, nothing, part, result, results, success, memories, memory, "
    "fun, blast, adventure, adventures, journey, journeys, project, projects, activity, "
    "activities, session, sessions, break, breaks, surprise, news, update, story, stories, view, "
    "views, scene, vibe, vibes, atmosphere, energy, feeling, feelings, mood, others, folks, "
    "friends, friend, group, team, community, skill, skills, technique, techniques, passion, "
    "passions, level, motivation, inspiration, conversation, conversations, discussion, "
    "discussions, connection, connections, support, attention",
    # --- what anything may do for anybody
    "boon": "helps, help, keeps, keep, makes, make, gives, give, brings, bring, reminds, drives, "
    "pushes, motivates, inspires, breaks, rest, recharge, motivated, going, positive, happier, "
    "better, stronger, sane, calm, calmer, grounded, focused, relax, relaxed, grow, unwind, "
    "de-stress, feel, silver, linings, challenges, mindset, attitude, forward, alive, inspired, "
    "balanced, sharp, productive, clear, mind, head, moving, smile, joy, boost, confident, "
    "confidence, perspective, true",
    # --- outings
    "company": "teammates, workmates, colleagues, coworkers, buddies, buddy, pals, pal, mates, "
    "guys, classmates, neighbours, neighbors, trophy, medal, prize",
    "outing": "trip, trips, roadtrip, road, tour, walk, walks, stroll, hike, hikes, hiking, "
    "camping, ride, drive, vacation, holiday, getaway, outing, picnic, swim, run, jog, jogging, "
    "walking, shopping, bowling, dancing, party, parties, get-together, gathering, sightseeing, "
    "exploring, family, bbq, barbecue, spree, beach, park, lake, pool, mall, store, shop, "
    "supermarket, gym, office, restaurant, restaurants, cafe, café, bar, pub, cinema, movies, "
    "theater, theatre, town, city, downtown, home, house, street, nature, outdoors, woods, "
    "concert, concerts, festival, exhibit, exhibition, museum, show, gig, game, match, hotel, "
    "airport, station, doctor, dentist, bank, hairdresser, meal, sunset, sunrise, landscape, "
    "scenery",
    # --- meals
    "meal": "breakfast, lunch, dinner, brunch, supper, snack, snacks, dessert, dish, dishes, "
    "recipe, recipes, food, foods, soup, salad, stew, curry, pasta, pizza, rice, noodles, sushi, "
    "sandwich, sandwiches, burger, burgers, steak, chicken, fish, beef, pork, lamb, roast, cake, "
    "cakes, cupcakes, pie, pies, cookies, cookie, brownies, muffins, pancakes, waffles, "
    "omelette, eggs, bread, toast, ice cream, chocolate, smoothie, smoothies, coffee, tea, "
    "drinks, drink, beer, wine, cocktail, cocktails, treats, treat, sauce, veggies, vegetables, "
    "apple, banana, cheese, tacos, ramen, lasagna, lasagne, casserole, stir-fry, sorbet, "
    "pudding, tart, parfait, barbecue, bbq, grilled, baked, roasted, fried, homemade, vegan, "
    "spicy, made, bake, baking, cook, cooked, cooking, ate, eat, eating, grill, whip, whipped, "
    "prepared, dough, batch",
    # --- what is read, watched and played
    "media": "book, books, novel, novels, series, movie, movies, film, films, show, shows, game, "
    "games, video, videos, song, songs, album, podcast, episode, article, articles, playlist, "
    "documentary, comic, magazine, post, blog, music",
    # --- small purchases
    "wares": "shoes, shirt, shirts, t-shirt, jeans, trousers, socks, jacket, coat, dress, hat, "
    "clothes, outfit, groceries, flowers, candles, candle, mug, bag, gift, gifts, present, "
    "presents, souvenirs, souvenir, stuff, cable, charger, battery, batteries, case, "
    "decorations, decoration, snacks, pen, pens, notebook, toothbrush, shampoo, size, color, "
    "colour, item, items",
    # --- at a screen
    "screen": "error, errors, typo, bug, bugs, message, messages, download, upload, update, "
    "file, files, folder, link, links, tab, tabs, log, logs, cable, password, script, command, "
    "server, email, e-mail, emails, attachment, screenshot, prompt, question, questions, answer, "
    "answers, query, column, columns, row, rows, ticket, order, refund, parcel, package, "
    "delivery, installation, computer, laptop, phone, browser, settings, app, form, document, "
    "spreadsheet, code, function, version, picture, pictures, photo, photos, pic, pics, reply, "
    "response, call, reservation, booking",
}  # fmt: skip
