"""`GET /v1/users/{id}/export`: what the command `export` writes, by an admin's key."""

import json
from pathlib import Path

from tests.command import turn, turnfold
from tests.serving.serving import serving
from tests.serving.test_mcp import key_of
from tests.waiting import until


def test_an_admin_gets_what_the_command_writes(tmp_path: Path) -> None:
    file, history = tmp_path / "keys.json", tmp_path / "history"
    keys = {role: key_of(file, role) for role in ("read", "write", "admin")}
    other = key_of(file, "admin", "other")
    with serving("--history", history, "--keys", file, "--extractor", "rules") as server:

        def by(key: str) -> dict[str, str]:
            return {"Authorization": f"Bearer {key}"}

        client = server.client
        said = [turn(f"e{number}", user_input=f"I live in town {number}.") for number in range(40)]
        assert server.post(said, **by(keys["write"])).status_code == 200
        reply = until(
            lambda: client.get("/v1/users/u/export", headers=by(keys["admin"])),
            lambda one: all(
                one.text.count(f'"type":"{kind}"') == 40 for kind in ("turn", "write_plan")
            ),
        )
        assert reply.headers["content-type"] == "application/x-ndjson"
        command = turnfold("export", "u", "--tenant", "acme", "--history", history)
        ours, theirs = (text.splitlines() for text in (reply.text, command.out))
        assert ours[1:] == theirs[1:]
        assert json.loads(ours[-1]) == {"kind": "end", "lines": len(ours)}
        head = client.head("/v1/users/u/export", headers=by(keys["admin"]))
        assert (head.status_code, head.content) == (200, b"")
        for role in ("read", "write"):
            refused = client.get("/v1/users/u/export", headers=by(keys[role]))
            assert refused.status_code == 403
            for path in ("export%0A", "%65xport%0A"):
                missing = client.get(f"/v1/users/u/{path}", headers=by(keys[role]))
                assert missing.status_code == 404, "a line feed at the end leads nobody past it"
        for key, user in ((other, "u"), (keys["admin"], "nobody")):
            unknown = client.get(f"/v1/users/{user}/export", headers=by(key))
            assert unknown.status_code == 404
        assert client.get("/v1/users/u/export").status_code == 401
