"""Generations of a history in a bucket: which is live, whoever switches at the same time."""

import shutil
import time
from pathlib import Path
from threading import Barrier, Thread

import pytest

from sinks.digest import digest
from sinks.generation import DROPPED, FOLDER, Pointer, names, pointer, stamp, switch
from sinks.history_root import HistoryError
from sinks.object_store import ObjectPath
from streams.apps.compact_and_forget import forget
from streams.errors import ConfigurationError
from streams.generations import promotion
from tests.acceptance.test_guarantees import ALICE, alice_alone, company
from tests.command import environment, turn
from tests.kafka.test_generations import await_generation
from tests.kafka.working import one_worker
from tests.object_store.cli import refusal, turnfold
from tests.object_store.faulty_store import FaultyStore, often
from tests.object_store.s3_server import S3Server
from tests.object_store.sunk import Erased, Pieces, read, sink, traces
from tests.planned import CONVERSATIONS
from tests.serving.serving import serving

pytestmark = pytest.mark.nightly

UNSURE = ("500", "500 when done")
BOBS = turn("b9", session_id="bobs", user_id="bob", user_input="bob again")


@pytest.fixture(scope="module")
def fewer(tmp_path_factory: pytest.TempPathFactory) -> Pieces:
    """What a generation holds whose sink is behind."""
    return read([*alice_alone(), *company()][:3], tmp_path_factory.mktemp("fewer"))


def listed(root: ObjectPath) -> dict[str, str]:
    found = turnfold("generation", "list", "-o", "json", "--history", str(root))
    assert found.code == 0, found.err
    return {one["name"]: one["role"] for one in found.json()}


def test_a_generation_goes_live_and_back(two: ObjectPath, s3: S3Server) -> None:
    assert listed(two) == {"root": "live", "new": ""}
    assert stamp(two) == (0, 0)
    done = turnfold("generation", "promote", "new", "-o", "json", "--history", str(two))
    assert done.code == 0, done.err
    assert (done.json()["current"], done.json()["previous"]) == ("new", "root")
    assert listed(two) == {"root": "previous", "new": "live"}
    assert pointer(two) == Pointer("new", "root", number=1)
    sized = turnfold("generation", "list", "-o", "json", "--history", str(two)).json()
    assert all(one["own_bytes"] > 10_000 and one["shared_bytes"] == 0 for one in sized)
    back = turnfold("generation", "rollback", "-o", "json", "--history", str(two))
    assert back.json()["current"] == "root"
    assert pointer(two) == Pointer("root", "new", number=2)
    assert s3.objects(f"{two.key}/generation") == [
        f"{two.key}/generation/{number:08}.json" for number in (1, 2)
    ]


def test_readers_go_over(two: ObjectPath) -> None:
    sink(two / FOLDER / "new", {"events": []})
    forget(two, "default", ALICE)
    assert digest(two)["memory"] == digest(two / FOLDER / "new")["memory"]
    asked = ("sql", "-o", "json", "SELECT count(*) AS n FROM events", "--history", str(two))
    before = turnfold(*asked).json()
    promotion.promote(two, "new")
    assert turnfold(*asked).json() == before
    assert turnfold(*asked, "--generation", "root").json() == before


def test_one_that_is_behind_is_refused(sunk: ObjectPath, fewer: Pieces) -> None:
    root = sunk
    sink(root / FOLDER / "new", fewer)
    assert "is behind: it lacks" in refusal("generation", "promote", "new", "--history", str(root))
    assert pointer(root) == Pointer()
    assert turnfold("generation", "promote", "new", "--behind", "--history", str(root)).code == 0
    assert pointer(root) == Pointer("new", "root", behind=True, number=1)
    forward = turnfold("generation", "rollback", "--history", str(root))
    assert forward.code == 0, forward.err


def test_of_two_who_switch_at_once_one_is_refused(root: ObjectPath) -> None:
    at, barrier, refused = pointer(root), Barrier(4), list[str]()

    def go(name: str) -> None:
        barrier.wait()
        try:
            switch(root, Pointer(name, at.current, number=at.number))
        except HistoryError as error:
            refused.append(name)
            assert "promoted at the same time" in str(error)

    threads = [Thread(target=go, args=[f"g{number}"]) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(refused) == 3
    assert pointer(root).current not in refused


def test_a_switch_over_a_store_that_fails(
    two: ObjectPath, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultyStore(s3.port, often(1 / 2, faults=UNSURE)) as store, monkeypatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL_S3", s3.environ(store.port)["AWS_ENDPOINT_URL_S3"])
        root = ObjectPath(str(two))
        for number in range(1, 11):
            name = ("root", "new")[number % 2]
            switch(root, Pointer(name, None, number=number - 1))
    assert sum(store.counts.values()) - store.counts["none"] > 2
    assert pointer(two) == Pointer("root", None, number=10)


def test_what_cannot_go_live_says_why(two: ObjectPath, s3: S3Server) -> None:
    for asked, word in (
        (("generation", "promote", "none-such"), "no generation 'none-such'"),
        (("generation", "rollback"), "no generation was live before"),
        (("generation", "drop", "--yes", "root", "--keep-topics"), "cannot be dropped"),
        (("kafka", "sink", "--generation", "live", "--bootstrap", "127.0.0.1:1"), "reserved"),
    ):
        refused = turnfold(*asked, "--history", str(two))
        assert refused.code in (2, 3) and word in refused.err, refused.err
    promotion.promote(two, "new")
    refused = turnfold("generation", "drop", "--yes", "new", "--keep-topics", "--history", str(two))
    assert (refused.code, "is live" in refused.err) == (3, True)
    assert not (two / FOLDER / "new" / DROPPED).exists()
    assert listed(two)["new"] == "live"


def test_who_promotes_what_is_being_dropped_is_refused(
    two: ObjectPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drop comes after the last look, and before the note."""
    check = promotion._check_fresh

    def late(*given: object) -> None:
        check(*given)  # type: ignore[arg-type]
        promotion.mark_dropped(two / FOLDER / "new")

    monkeypatch.setattr(promotion, "_check_fresh", late)
    with pytest.raises(HistoryError, match="promoted at the same time"):
        promotion.promote(two, "new")
    monkeypatch.undo()
    with pytest.raises(ConfigurationError, match="is being dropped"):
        promotion.promote(two, "new")
    with pytest.raises(HistoryError, match="is being dropped"):
        sink(two / FOLDER / "new", {"events": []})
    assert pointer(two).current == "root"


def test_who_drops_what_goes_live_meanwhile_is_refused(
    two: ObjectPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The switch comes after the drop's look, and before its mark."""
    with pytest.raises(ConfigurationError, match="is live"), promotion.dropping(two, "new"):
        promotion.promote(two, "new")
    assert digest(two)["memory"]
    assert not (two / FOLDER / "new" / DROPPED).exists()


def test_guarantee_8_who_is_forgotten_is_in_no_generation(
    two: ObjectPath, s3: S3Server, written: str, erased: Erased
) -> None:
    """Also of one that was being dropped, and of one that somebody wrote into after that."""
    for name in ("half", "gone"):
        s3.copy(written, f"{two.key}/{FOLDER}/{name}")
    promotion.promote(two, "new")
    promotion.mark_dropped(two / FOLDER / "half")
    for marker in ("turnfold.json", "_sink.json"):
        (two / FOLDER / "gone" / marker).unlink()
    receipt = forget(two, "default", ALICE)
    assert traces(s3, two) == []
    assert receipt["generations"].keys() == {"root", "half"}
    assert names(two) == ["root", "new"]
    assert digest(two)["memory"] == digest(erased.folder)["memory"]


def test_a_server_goes_over_by_itself(sunk: ObjectPath, pieces: Pieces, tmp_path: Path) -> None:
    root = sunk
    more = {name: [*some, *read([BOBS], tmp_path).get(name, [])] for name, some in pieces.items()}
    sink(root / FOLDER / "new", {name: some for name, some in more.items() if some})
    env = environment(XDG_CACHE_HOME=str(tmp_path / "cache"))
    with serving("--history", str(root), env=env) as served:
        here = served.client.get("/v1/sessions")
        assert here.headers["Turnfold-Generation"] == "root"
        assert turnfold("generation", "promote", "new", "--history", str(root)).code == 0
        deadline = time.monotonic() + 60
        while served.client.get("/healthz").json()["generation"] != "new":
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert served.client.get("/v1/sessions").headers["Turnfold-Generation"] == "new"
        assert served.client.get("/generations").status_code == 200


def test_a_copy_in_a_folder_has_the_same_live_generation(
    two: ObjectPath, s3: S3Server, tmp_path: Path
) -> None:
    """As `aws s3 sync` makes it."""
    promotion.promote(two, "new")
    shutil.copytree(s3.lies_at(two.key), tmp_path / "h")
    assert pointer(tmp_path / "h") == pointer(two)
    before = stamp(tmp_path / "h")
    promotion.rollback(tmp_path / "h")
    assert pointer(tmp_path / "h").current == "root"
    assert stamp(tmp_path / "h") != before


def test_beside_kafka_the_present_is_the_workers_and_the_past_the_buckets(
    root: ObjectPath, tmp_path: Path
) -> None:
    """The rows by real sinks. A server of both goes over with the pointer, and a generation whose
    worker runs is not dropped."""
    url, env = str(root), environment(XDG_CACHE_HOME=str(tmp_path / "cache"))
    with one_worker(tmp_path) as working:
        kafka = working.at
        sent = turnfold("kafka", "produce", CONVERSATIONS, *kafka, "-o", "json")
        assert sent.code == 0, sent.err
        working.sent = sent.json()["sent"]
        working.await_done()
        working.start("--generation", "bare", "--instance", "bare")
        await_generation(working, "bare", working.sent)
        for options in ((), ("--generation", "bare")):
            sunk = turnfold("kafka", "sink", *kafka, "--history", url, "--once", *options)
            assert sunk.code == 0, sunk.err
        assert digest(root / FOLDER / "bare")["memory"] == digest(root)["memory"]
        with serving(*kafka, "--history", url, env=env) as served:
            served.until("/readyz", 200)
            assert served.session("emma-move").json()["conversation_count"] > 0
            assert served.client.get("/v1/search?q=Manchester&user_id=emma").json()["hits"]
            past = served.client.get("/v1/users/emma/states?as_of=2026-03-05T00:00:00Z")
            assert past.status_code == 200 and past.json()["states"]
            done = turnfold("generation", "promote", "bare", "--history", url)
            assert done.code == 0, done.err
            deadline = time.monotonic() + 60
            while served.client.get("/healthz").json()["generation"] != "bare":
                assert time.monotonic() < deadline, served.client.get("/readyz").text
                time.sleep(0.3)
            assert served.session("emma-move").json()["conversation_count"] > 0
        assert turnfold("generation", "rollback", "--behind", "--history", url).code == 0
        refusal("generation", "drop", "--yes", "bare", "--history", url, *kafka)  # its worker runs
        assert not (root / FOLDER / "bare" / DROPPED).exists()
    assert names(root) == ["root", "bare"]
