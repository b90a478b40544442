"""English rules: feelings; the slot is the label. One line each (docs/extractors.md)."""

# ruff: noqa: E501 - a rule is one line, however long

from streams.extractors.rule import Rule

RULES = (
    Rule("feeling", "happy|glad|thrilled|delighted|excited|overjoyed|joyful|over the moon|grateful|cheerful", r"(?:<am>|i feel|i'm feeling|i am feeling|i was) (?:<adverb>|so |super |incredibly |extremely |over )*(?:happy(?! with (?!my life|myself|him|her))|glad(?! (?:to (?:hear|help|meet|know|see|be of)|you|that))|thrilled|delighted|excited|overjoyed|joyful|over the moon|grateful(?! for your)|cheerful)\b<own>", "I'm so happy today!", "", slot="joy"),
    Rule("feeling", "proud|accomplished|did it|made it|nailed it", r"(?:(?:<am>|i feel|i'm feeling) (?:<adverb>|so |super |incredibly )*(?:proud|accomplished)\b<own>|i (?:finally (?:did|made)|nailed) it)", "I feel really proud of myself.", "", slot="achievement"),
    Rule("feeling", "anxious|nervous|worried|scared|afraid|stressed|overwhelmed|terrified|panicking", r"(?:<am>|i feel|i'm feeling|i am feeling|i've been) (?:<adverb>|so |super |incredibly |extremely |feeling )*(?:anxious|nervous|worried|scared|afraid<indeed>|stressed|overwhelmed|terrified|panicking)\b.*", "I'm really anxious about tomorrow.", "", slot="anxiety"),
    Rule("feeling", "sad|down|depressed|dejected|lonely|heartbroken|miserable|disappointed|upset|hopeless", r"(?:<am>|i feel|i'm feeling|i am feeling|i've been) (?:<adverb>|so |super |incredibly |extremely |feeling )*(?:sad|down(?! (?:with|for|to)\b)|depressed|dejected|lonely|heartbroken|miserable|disappointed|upset|hopeless)\b<own>", "I feel so down today.", "", slot="dejection"),
    Rule("feeling", "angry|furious|annoyed|frustrated|mad|irritated", r"(?:<am>|i feel|i'm feeling|i am feeling) (?:<adverb>|so |super |incredibly |extremely )*(?:angry|furious|annoyed|frustrated|mad|irritated)\b.*", "I'm furious about the delay.", "", slot="anger"),
    Rule("feeling", "tired|exhausted|drained|burnt out|burned out|worn out", r"(?:<am>|i feel|i'm feeling|i am feeling) (?:<adverb>|so |super |incredibly |extremely )*(?:tired|exhausted|drained|burn(?:t|ed) out|worn out)\b.*", "I'm completely exhausted.", "", slot="fatigue"),
)  # fmt: skip
