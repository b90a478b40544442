"""What the reading commands print for people."""

from typing import Any

from schemas.memory_kinds import REVISED
from schemas.time import parse_time
from streams.output import say


def session(document: dict[str, Any]) -> None:
    """A session in a screenful."""
    reason = f" ({document['closed_reason']})" if document["closed_reason"] else ""
    user = f" of {document['user_id']}" if document["user_id"] else ""
    say(f"session {document['session_id']}{user}: {document['status']}{reason}")
    say(f"  {document['created_at']} to {document['updated_at']}")
    for name in ("subject", "object"):
        claim = document[name]
        if claim:
            say(f"  {name}: {claim['content']} ({claim['source']}, {claim['confidence']})")
    context = document["context"]
    if context:
        say(f"  topic: {context['current_topic'] or 'none'}")
        say(f"  recent intents: {', '.join(context['recent_intents']) or 'none'}")
    if document["session_memory"]:
        say("  memory:")
        for item in document["session_memory"]:
            text = item.get("decision") or item["content"]
            say(f"    {item['type']} ({item['confidence']:.2f}): {text}  [{item['id']}]")
    say(f"  conversations: {document['conversation_count']}")
    for one in document["conversations"]:
        say(f"    {one['task_index']}. {short(one['user_input'])}")
        answer = short(one["agent_answer"]) or f"[{one['status']}]"
        say(f"       {answer}" + (f"  ({one['error']})" if one["error"] else ""))


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")


def about_of(start: Any, end: Any) -> str:
    """The date that something is about, ` (about 2023-05)`; nothing where that is no date."""
    if start is None:
        return ""
    from streams.dates.period import format_period  # few things have a date

    try:
        return f" (about {format_period(parse_time(start), parse_time(end))})"
    except ValueError:
        return ""


def short(text: str, length: int = 100) -> str:
    """One line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def task(document: dict[str, Any]) -> None:
    """A task: its machine, plan and steps."""
    machine, context = document["global"], document["context"]
    flags = " ".join(name for name in ("forced", "stalled") if machine[name])
    say(
        f"task {machine['task_id']}: {machine['status']} {flags}".rstrip()
        + f", {machine['iteration']} of {machine['max_iteration']} iterations"
        + (f", {machine['error']}" if machine["error"] else "")
    )
    if context["objective"]:
        say(f"  objective: {short(context['objective'])}")
    for step in context["plan"]:
        say(f"  [{step['status']}] {step['step_id']}: {step['description']}")
        _steps(step["recursion_history"], "      ")
    _steps(document["recursion_history"], "  ")


def _steps(history: list[dict[str, Any]], indent: str) -> None:
    for one in history:
        action = one["action"]
        thought = short(one.get("thought", ""), 70)
        say(f"{indent}{one['iteration_index']}. {action['action_type']}: {thought}")
        for call in action["output"].get("tool_calls") or ():
            if isinstance(call, dict) and "success" in call:
                mark = "ok" if call["success"] else "failed"
                say(f"{indent}   {mark}: {short(call['result'], 70)}")


def user(found: dict[str, Any]) -> None:
    """A user: what is known, liked, felt and learnt."""
    say(f"user {found['user_id']}")
    for one in found["states"]:
        about = _about_state(one)
        say(f"  {one['kind']} ({one['status']}): {one['body_text']}{about}  [{one['state_id']}]")
    for kind in REVISED:
        if kind.listed:
            for document in found[kind.listed.name]:
                say(f"  {kind.listed.line.format_map(document)}  [{document[kind.id]}]")
    mood = found["mood"]
    if mood:
        numbers = "  ".join(f"{name} {value:+.2f}" for name, value in mood["vad"].items())
        say(f"  mood: {mood['text']}  ({numbers})")
    profile = found["profile"]
    if profile:
        history = profile["history"]
        for topic, level in profile["mastery"].items():
            score, expected = profile["mastery_score"][topic], profile.get("expected_correct", {})
            likely = f", next answer right: {expected[topic]:.0%}" if topic in expected else ""
            say(f"  mastery: {topic}: {level} ({score:.2f}){likely}")
        say(f"  quizzes: {history['quiz_sessions']}, homework: {history['homework_help_count']}")
        say(f"  topics: {', '.join(history['topics_visited'][-10:]) or 'none'}")


def _about_state(one: dict[str, Any]) -> str:
    payload = one.get("payload") or {}
    return about_of(payload.get("about_start"), payload.get("about_end"))


def states(found: list[dict[str, Any]]) -> None:
    """States by owner."""
    owner = None
    for one in found:
        if one["owner_id"] != owner:
            owner = one["owner_id"]
            say(owner)
        until = f" until {_minute(one['valid_to'])}" if one["valid_to"] else ""
        say(f"  {one['kind']} ({one['status']}): {one['body_text']}{_about_state(one)}")
        say(f"      since {_minute(one['valid_from'])}{until}  [{one['state_id']}]")


def why(found: list[dict[str, Any]]) -> None:
    """Revisions in order, each with what it was made from."""
    last = None
    for row in found:
        if row["revision_id"] != last:
            last = row["revision_id"]
            by = " ".join(filter(None, (row["extractor_name"], row["extractor_version"])))
            by = f"  (by {by})" if by else ""
            say(f"{_minute(row['occurred_at'])}  {row['op']}: {row['reason']}{by}")
            say(f"    before: {_value(row['before'])}")
            say(f"    after:  {_value(row['after'])}")
        if row.get("user_input") or row.get("agent_answer"):
            said, answered = short(row["user_input"] or ""), short(row["agent_answer"] or "")
            say(f"    because: “{said}” → “{answered}”  [{row['evidence_event_id']}]")


def _value(value: Any) -> str:
    if not isinstance(value, dict):
        return "nothing" if value is None else str(value)
    if "polarity" in value:
        return f"{value['polarity']} ({value['status']}): {value['subject']}"
    for name in ("body_text", "decision", "content", "subject", "to_event_id"):
        if value.get(name):
            until = f" until {value['valid_to']}" if value.get("valid_to") else ""
            since = f" (from {value['valid_from']}{until})" if value.get("valid_from") else ""
            return f"{value[name]}{since}"
    return ", ".join(f"{name} {one}" for name, one in value.items() if one is not None)


def timeline(found: list[dict[str, Any]]) -> None:
    """Turns in order."""
    for row in found:
        who = row["user_id"] or "user"
        felt = (
            "" if row["v"] is None else f"  (v {row['v']:+.1f} a {row['a']:+.1f} d {row['d']:+.1f})"
        )
        about = about_of(row["about_start"], row["about_end"])
        say(f"{_minute(row['occurred_at'])}  {row['session_id']}  {row['event_id']}{about}{felt}")
        if row["user_input"]:
            say(f"    {who}: {short(row['user_input'])}")
        if row["agent_answer"]:
            say(f"    agent: {short(row['agent_answer'])}")
        if row["error"]:
            say(f"    error: {row['error']}")
