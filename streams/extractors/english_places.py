"""English: places by name, for users who write them without a capital ("I live in berlin"). With
one, any name is a place (`english_slots.py`). Names have commas between them.
"""

# ruff: noqa: E501 - a list of words is one line, however long

import re

from streams.extractors.patterns import either

_CITIES = (
    "aachen, aarhus, aberdeen, abu dhabi, abuja, accra, addis ababa, adelaide, alexandria, algiers, almaty, amman, "
    "amsterdam, ankara, antwerp, arnhem, asheville, athens, atlanta, auckland, augsburg, austin, baghdad, baku, baltimore, "
    "bangalore, bangkok, barcelona, basel, bath, beijing, beirut, belfast, belgrade, bergen, berlin, bern, bilbao, birmingham, "
    "bochum, bogota, boise, bologna, bonn, bordeaux, boston, boulder, bournemouth, bradford, brasilia, bratislava, bremen, "
    "brighton, brisbane, bristol, brooklyn, bruges, brussels, bucharest, budapest, buenos aires, buffalo, busan, cairo, "
    "calgary, cambridge, canberra, cape town, caracas, cardiff, casablanca, chandigarh, charlotte, chengdu, chennai, chicago, "
    "christchurch, cincinnati, cleveland, cologne, colombo, columbus, copenhagen, cork, coventry, dakar, dallas, damascus, "
    "dar es salaam, darmstadt, darwin, delft, delhi, denver, detroit, dhaka, dortmund, dresden, dubai, dublin, dundee, durban, "
    "durham, dusseldorf, düsseldorf, edinburgh, edmonton, eindhoven, erfurt, essen, exeter, florence, frankfurt, freiburg, "
    "fukuoka, galway, gdansk, geneva, genoa, ghent, glasgow, gothenburg, granada, graz, grenoble, groningen, guadalajara, "
    "guangzhou, hague, haifa, halifax, hamburg, hanoi, hannover, hanover, harare, havana, heidelberg, helsinki, hiroshima, "
    "ho chi minh city, hobart, hong kong, honolulu, houston, hyderabad, indianapolis, innsbruck, istanbul, izmir, jakarta, "
    "jeddah, jerusalem, johannesburg, kampala, kansas city, karachi, karlsruhe, kassel, kathmandu, kiel, kigali, kobe, kolkata, "
    "krakow, kuala lumpur, kyiv, kiev, kyoto, la paz, lagos, lahore, las vegas, lausanne, leeds, leicester, leiden, leipzig, "
    "leuven, liege, lille, lima, limerick, linz, lisbon, liverpool, ljubljana, london, los angeles, louisville, lucerne, "
    "luxembourg, lviv, lyon, maastricht, madison, madrid, malaga, malmo, malmö, manchester, manhattan, manila, mannheim, "
    "marseille, medellin, melbourne, memphis, mexico city, miami, milan, milwaukee, minneapolis, minsk, montevideo, montpellier, "
    "montreal, moscow, mumbai, munich, münchen, munster, münster, nagoya, nairobi, nantes, naples, nashville, new delhi, "
    "new orleans, new york, new york city, newcastle, nijmegen, norwich, nottingham, nuremberg, nyc, oakland, odense, odessa, "
    "oklahoma city, omaha, orlando, osaka, oslo, ottawa, oxford, palermo, panama city, paris, perth, philadelphia, phoenix, "
    "pittsburgh, plymouth, porto, portland, potsdam, poznan, prague, pretoria, pune, quebec, queens, quito, raleigh, "
    "regensburg, reims, rennes, reykjavik, richmond, riga, rio, rio de janeiro, riyadh, rome, rostock, rotterdam, sacramento, "
    "saigon, salt lake city, salzburg, san antonio, san diego, san francisco, san jose, santiago, sao paulo, sapporo, sarajevo, "
    "savannah, seattle, seoul, seville, shanghai, sheffield, shenzhen, singapore, skopje, sofia, southampton, st gallen, "
    "st louis, stockholm, strasbourg, stuttgart, surrey, sydney, taipei, tallinn, tampa, tampere, tashkent, tbilisi, tehran, "
    "tel aviv, thessaloniki, tirana, tokyo, toronto, toulouse, trieste, trondheim, tucson, tulsa, tunis, turin, turku, uppsala, "
    "utrecht, valencia, vancouver, venice, verona, vienna, vilnius, warsaw, washington, washington dc, wellington, wiesbaden, "
    "winnipeg, wroclaw, wuppertal, würzburg, yokohama, york, zagreb, zaragoza, zurich, zürich"
)
_LANDS = (
    "afghanistan, albania, algeria, argentina, armenia, australia, austria, azerbaijan, bangladesh, bavaria, belarus, belgium, "
    "bolivia, bosnia, botswana, brazil, britain, bulgaria, california, cambodia, cameroon, canada, catalonia, chile, china, "
    "colombia, colorado, connecticut, costa rica, croatia, cuba, cyprus, czechia, delaware, denmark, ecuador, egypt, england, "
    "estonia, ethiopia, finland, flanders, florida, france, georgia, germany, ghana, greece, guatemala, hawaii, honduras, "
    "hungary, iceland, idaho, illinois, india, indiana, indonesia, iowa, iran, iraq, ireland, israel, italy, jamaica, japan, "
    "jordan, kansas, kazakhstan, kentucky, kenya, korea, kosovo, kuwait, laos, latvia, lebanon, libya, lithuania, louisiana, "
    "madagascar, maine, malaysia, malta, maryland, massachusetts, mexico, michigan, minnesota, mississippi, missouri, moldova, "
    "mongolia, montana, montenegro, morocco, mozambique, myanmar, namibia, nebraska, nepal, nevada, new england, "
    "new hampshire, new jersey, new mexico, new zealand, nicaragua, nigeria, north carolina, north dakota, "
    "northern ireland, norway, ohio, oklahoma, oman, ontario, oregon, pakistan, panama, paraguay, pennsylvania, peru, poland, "
    "portugal, qatar, queensland, rhode island, romania, russia, rwanda, saudi arabia, saxony, scotland, senegal, serbia, "
    "sicily, slovakia, slovenia, somalia, south africa, south carolina, south dakota, south korea, spain, sri lanka, sudan, "
    "sweden, switzerland, syria, taiwan, tanzania, tasmania, tennessee, texas, thailand, tibet, tunisia, turkey, tuscany, "
    "uganda, ukraine, uruguay, utah, uzbekistan, venezuela, vermont, vietnam, virginia, wales, west virginia, wisconsin, "
    "wyoming, yemen, zambia, zimbabwe"
)

PLACE = either([*_CITIES.split(", "), *_LANDS.split(", ")]) + r"(?![\w-])"
"""A pattern of any of them."""
KNOWN = re.compile(
    r"(?:(?:north|south|east|west|central|downtown|northern|southern|eastern|western|upstate) )?"
    rf"{PLACE}(?:,? (?:in|near|with|for|by|since|and|on|at|as|right|just)\b.*|, .+)?",
    re.IGNORECASE,
)
"""Such a place, and what may be said of it: "perth in australia", not "turkey sandwiches"."""
