"""Two tenants of the same ids and different content, and ways to reach from one to the other."""

import json
from typing import Any

MARK = "zqmarkedqz"
HIDDEN, PRYING = "hidden", "prying"
SHARED, THEIRS, NOWHERE = "shared-1", "theirs-1", "nowhere-1"
AIMED = "aimed-1"
"""As THEIRS, of `hidden` alone; what `prying` writes aims at it, and may make its own of that id:
whoever reads THEIRS finds nothing, whatever was written before."""
AT = "2026-03-01T09:30:00Z"

TRICKS = [
    f"{HIDDEN}/{SHARED}", f"{HIDDEN}\0{SHARED}", f"\0{HIDDEN}\0{SHARED}", f"{SHARED}\0",
    f"../{HIDDEN}/{SHARED}", f"../../v1/dead-letters?tenant={HIDDEN}", f"{HIDDEN}%2F{SHARED}",
    f"{HIDDEN}\x1f{SHARED}", f"{HIDDEN}／{SHARED}", f"\u202e{SHARED}",
    f"{SHARED}' OR tenant = '{HIDDEN}' OR 'a' = 'b",
    f"'); ATTACH '/etc/passwd' AS x; FROM events WHERE ('{MARK}' = '",
    f"x' UNION ALL SELECT * FROM events WHERE tenant = '{HIDDEN}' --",
    f'{MARK}" OR tenant:{HIDDEN} NEAR(* *)', "%", "_", "*", ".", "..", "\ud7ff\U0010ffff",
]  # fmt: skip
TIMES = [AT, "2099-01-01", f"2026-01-01' OR tenant = '{HIDDEN}", "9999-12-31T23:59:59.999999Z"]
HEADERS = [
    {"Turnfold-Tenant": HIDDEN},
    {"X-Tenant": HIDDEN, "Tenant": HIDDEN, "X-Scope-OrgID": HIDDEN},
    {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "localhost", "Forwarded": "for=127.0.0.1"},
    {"X-Original-URL": f"/v1/sessions/{THEIRS}", "X-Rewrite-URL": f"/v1/sessions/{THEIRS}"},
]


def turn(event_id: str, session: str, user: str, text: str, **more: Any) -> dict[str, Any]:
    """A turn in which the text is everywhere."""
    said = {"type": "turn", "event_id": event_id, "session_id": session, "user_id": user}
    told = {"user_input": f"{text} asks", "agent_answer": f"{text} answers", "topic": text}
    return said | told | {"occurred_at": AT, "intent": text} | more


def kept(signal_id: str, session: str, text: str) -> dict[str, Any]:
    """A message of a session that is kept word for word."""
    signal = {"type": "signal", "scope": "session", "signal_id": signal_id, "session_id": session}
    return signal | {"occurred_at": AT, "message": json.dumps({"role": "user", "content": text})}


def records(text: str, session: str, user: str, number: str) -> list[dict[str, Any]]:
    """What makes each kind of document of a tenant, all of it with the text."""
    step = {"session_id": session, "task_id": f"task-{number}", "trace_id": f"trace-{number}"}
    return [
        turn(
            f"event-{number}",
            session,
            user,
            text,
            summary={"content": text, "key_findings": [text]},
            subject={"content": text, "source": "user", "confidence": 0.9},
            observations=[{"type": "preference", "content": text, "explicit": True}],
            task_id=f"task-{number}",
            affect={"text": text, "labels": [text], "vad": {"v": 0.5, "a": 0.2, "d": 0.1}},
        ),
        step
        | {"type": "recursion", "iteration_index": 0, "occurred_at": AT, "objective": text}
        | {"thought": text, "action": {"action_type": "ANSWER", "output": {"text": text}}},
        {
            "type": "write_plan",
            "plan_id": f"plan-{number}",
            "user_id": user,
            "event_id": f"event-{number}",
            "occurred_at": AT,
            "extractor": {"name": "test", "version": "1"},
            "state_updates": [
                {
                    "kind": "fact",
                    "state_id": f"state-{number}",
                    "body_text": f"{text} is so",
                    "confidence": 0.9,
                    "evidence_event_ids": [f"event-{number}"],
                    "reason": text,
                }
            ],
            "preference_updates": [
                {
                    "op": "confirm",
                    "domain": text,
                    "polarity": "like",
                    "subject": text,
                    "confidence": 0.9,
                    "evidence_event_ids": [f"event-{number}"],
                }
            ],
        },
        # of the same id, with other content: a dead letter
        turn(f"event-{number}", session, user, f"{text} otherwise"),
    ]
