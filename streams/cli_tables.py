"""Text output of the reading commands."""

from typing import Any

from schemas.memory_kinds import REVISED
from schemas.time import parse_time
from streams.output import say


def session(document: dict[str, Any]) -> None:
    """Prints a session."""
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
    for turn in document["conversations"]:
        say(f"    {turn['task_index']}. {short(turn['user_input'])}")
        answer = short(turn["agent_answer"]) or f"[{turn['status']}]"
        say(f"       {answer}" + (f"  ({turn['error']})" if turn["error"] else ""))


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")


def about_of(start: Any, end: Any) -> str:
    """The period of a fact as ` (about 2023-05)`; empty without one."""
    if start is None:
        return ""
    from streams.dates.period import format_period  # few things have a date

    try:
        return f" (about {format_period(parse_time(start), parse_time(end))})"
    except ValueError:
        return ""


def short(text: str, length: int = 100) -> str:
    """A text in one line of at most `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def task(document: dict[str, Any]) -> None:
    """Prints a task: its state machine, plan and steps."""
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
    for recursion in history:
        action = recursion["action"]
        thought = short(recursion.get("thought", ""), 70)
        say(f"{indent}{recursion['iteration_index']}. {action['action_type']}: {thought}")
        for call in action["output"].get("tool_calls") or ():
            if isinstance(call, dict) and "success" in call:
                mark = "ok" if call["success"] else "failed"
                say(f"{indent}   {mark}: {short(call['result'], 70)}")


def user(document: dict[str, Any]) -> None:
    """Prints a user: states, preferences and other lists, mood, profile."""
    say(f"user {document['user_id']}")
    for state in document["states"]:
        about = _about_state(state)
        say(
            f"  {state['kind']} ({state['status']}): {state['body_text']}{about}"
            f"  [{state['state_id']}]"
        )
    for kind in REVISED:
        if kind.listed:
            for entry in document[kind.listed.name]:
                say(f"  {kind.listed.line.format_map(entry)}  [{entry[kind.id]}]")
    mood = document["mood"]
    if mood:
        numbers = "  ".join(f"{name} {value:+.2f}" for name, value in mood["vad"].items())
        say(f"  mood: {mood['text']}  ({numbers})")
    profile = document["profile"]
    if profile:
        history = profile["history"]
        for topic, level in profile["mastery"].items():
            score, expected = profile["mastery_score"][topic], profile.get("expected_correct", {})
            likely = f", next answer right: {expected[topic]:.0%}" if topic in expected else ""
            say(f"  mastery: {topic}: {level} ({score:.2f}){likely}")
        say(f"  quizzes: {history['quiz_sessions']}, homework: {history['homework_help_count']}")
        say(f"  topics: {', '.join(history['topics_visited'][-10:]) or 'none'}")


def _about_state(state: dict[str, Any]) -> str:
    payload = state.get("payload") or {}
    return about_of(payload.get("about_start"), payload.get("about_end"))


def states(rows: list[dict[str, Any]]) -> None:
    """Prints states by owner."""
    owner = None
    for state in rows:
        if state["owner_id"] != owner:
            owner = state["owner_id"]
            say(owner)
        until = f" until {_minute(state['valid_to'])}" if state["valid_to"] else ""
        say(f"  {state['kind']} ({state['status']}): {state['body_text']}{_about_state(state)}")
        say(f"      since {_minute(state['valid_from'])}{until}  [{state['state_id']}]")


def why(rows: list[dict[str, Any]]) -> None:
    """Prints revisions in order, each with its evidence."""
    last = None
    for row in rows:
        if row["revision_id"] != last:
            last = row["revision_id"]
            extractor = " ".join(filter(None, (row["extractor_name"], row["extractor_version"])))
            extractor = f"  (by {extractor})" if extractor else ""
            say(f"{_minute(row['occurred_at'])}  {row['op']}: {row['reason']}{extractor}")
            say(f"    before: {_value(row['before'])}")
            say(f"    after:  {_value(row['after'])}")
        if row.get("user_input") or row.get("agent_answer"):
            question, answer = short(row["user_input"] or ""), short(row["agent_answer"] or "")
            say(f"    because: “{question}” → “{answer}”  [{row['evidence_event_id']}]")


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
    return ", ".join(f"{name} {field}" for name, field in value.items() if field is not None)


def timeline(rows: list[dict[str, Any]]) -> None:
    """Prints turns in order."""
    for row in rows:
        speaker = row["user_id"] or "user"
        affect = (
            "" if row["v"] is None else f"  (v {row['v']:+.1f} a {row['a']:+.1f} d {row['d']:+.1f})"
        )
        about = about_of(row["about_start"], row["about_end"])
        say(f"{_minute(row['occurred_at'])}  {row['session_id']}  {row['event_id']}{about}{affect}")
        if row["user_input"]:
            say(f"    {speaker}: {short(row['user_input'])}")
        if row["agent_answer"]:
            say(f"    agent: {short(row['agent_answer'])}")
        if row["error"]:
            say(f"    error: {row['error']}")
