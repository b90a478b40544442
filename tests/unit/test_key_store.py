"""The store of keys per user and session: two writers, destruction, rotation, damage."""

import os
import threading
from pathlib import Path

import pytest

from streams.erasure_keys import key_store
from streams.erasure_keys.key_store import KEYS, STORE, KeyStore
from streams.erasure_keys.master_key import MasterKeyFile
from streams.errors import ConfigurationError

EMMA, BEN = b"u\0default\0emma", b"u\0default\0ben"
TEXT = b'{"user_input": "I moved to Kyoto."}'
LONG = TEXT * 100


@pytest.fixture
def master(tmp_path: Path) -> Path:
    return MasterKeyFile.create(tmp_path / "master.key").path


@pytest.fixture
def store(tmp_path: Path, master: Path) -> KeyStore:
    return KeyStore.create(tmp_path / "store", MasterKeyFile(master))


def opened(store: KeyStore, master: Path) -> KeyStore:
    """The same store, in another process."""
    return KeyStore(store.folder, MasterKeyFile(master))


def key_files(store: KeyStore) -> list[Path]:
    return sorted((store.folder / KEYS).iterdir())


def test_another_process_reads_a_value_until_its_key_is_destroyed(
    store: KeyStore, master: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = opened(store, master)
    old, bens = store.encrypt(EMMA, TEXT), store.encrypt(BEN, TEXT)
    assert b"Kyoto" not in old
    assert len(store.encrypt(EMMA, LONG)) < len(LONG) // 2
    assert other.decrypt(store.encrypt(EMMA, LONG)) == LONG
    assert (other.decrypt(old), other.decrypt(TEXT)) == (TEXT, TEXT)
    assert other.erased_at(EMMA) is None
    assert store.destroy([EMMA]) == 1
    monkeypatch.setattr(key_store, "LOOK_EVERY", 0.0)
    other.refresh()
    assert other.decrypt(old) is None and other.is_destroyed(old)
    assert other.decrypt(bens) == TEXT
    assert other.erased_at(EMMA) is not None and other.erased_at(BEN) is None
    new = other.encrypt(EMMA, TEXT)
    assert (store.decrypt(new), store.decrypt(old)) == (TEXT, None)
    assert opened(store, master).decrypt(old) is None


def test_writers_agree_on_a_key(store: KeyStore, master: Path) -> None:
    writers = [opened(store, master) for _ in range(8)]
    start = threading.Barrier(len(writers))
    values: list[bytes] = []

    def write(writer: KeyStore) -> None:
        start.wait()
        values.extend(writer.encrypt(f"u\0default\0{n}".encode(), TEXT) for n in range(20))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [store.decrypt(value) for value in values] == [TEXT] * 160
    assert len(key_files(store)) == 20


@pytest.mark.parametrize("step", ["logged", "overwritten"])
def test_an_interrupted_destruction_is_complete(
    store: KeyStore, master: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    old = store.encrypt(EMMA, TEXT)

    overwrite = key_store._overwrite

    def killed(file: Path) -> None:
        if step == "overwritten":
            overwrite(file)
        raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr(key_store, "_overwrite", killed)
        with pytest.raises(InterruptedError):
            store.destroy([EMMA])
    other = opened(store, master)
    assert other.decrypt(old) is None
    new = other.encrypt(EMMA, TEXT)
    assert (other.decrypt(new), other.decrypt(old)) == (TEXT, None)
    assert store.destroy([EMMA]) == 1 and key_files(store) == []


def test_keys_that_were_created_together_are_destroyed_one_by_one(
    store: KeyStore, master: Path
) -> None:
    entities = [f"s\0default\0{number}".encode() for number in range(3 * key_store.TOGETHER)]
    store.prepare(entities)
    assert len({file.stat().st_ino for file in key_files(store)}) == 3
    values = [store.encrypt(entity, TEXT) for entity in entities]
    stored = {file.name: key_store._entry(file).wrapped for file in key_files(store)}
    store.destroy(entities[::2])
    texts = [opened(store, master).decrypt(value) for value in values]
    assert texts == [None, TEXT] * (len(entities) // 2)
    remaining = b"".join(file.read_bytes() for file in key_files(store))
    for entity in entities[::2]:
        assert stored[store.name(entity).hex()] not in remaining


def test_part_of_a_line_in_the_log_is_ignored(store: KeyStore, master: Path) -> None:
    with (store.folder / key_store.DESTROYED).open("ab") as log:
        log.write(b"0123")
    old = opened(store, master).encrypt(EMMA, TEXT)
    store.destroy([EMMA])
    assert opened(store, master).decrypt(old) is None


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_rotation_wraps_all_keys_again_while_others_work(
    store: KeyStore, master: Path, monkeypatch: pytest.MonkeyPatch, interrupted: bool
) -> None:
    old = {entity: store.encrypt(entity, TEXT) for entity in (EMMA, BEN)}
    before, master_before, other = key_files(store), master.read_text(), opened(store, master)
    if interrupted:
        with monkeypatch.context() as patch, pytest.raises(InterruptedError):
            patch.setattr(KeyStore, "_rewrap", _interrupt)
            opened(store, master).rotate()
    assert opened(store, master).rotate() == 2
    assert key_files(store) == before
    assert len(master.read_text().split()) == 1 and master.read_text() != master_before
    for reader in (other, opened(store, master)):
        assert [reader.decrypt(value) for value in old.values()] == [TEXT, TEXT]
        assert reader.decrypt(other.encrypt(b"s\0default\0new", TEXT)) == TEXT
    master.write_text(master_before)
    with pytest.raises(ConfigurationError, match=f"{STORE}: is damaged, or another master key"):
        opened(store, master)


def test_a_forked_process_uses_no_nonce_twice(store: KeyStore) -> None:
    store.encrypt(EMMA, TEXT)
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writer, store.encrypt(EMMA, TEXT))
        os._exit(0)
    os.waitpid(child, 0)
    encrypted = os.read(reader, 10_000)
    assert store.decrypt(encrypted) == TEXT
    nonces = slice(key_store.NONCE_AT, key_store.TEXT_AT)
    assert encrypted[nonces] not in [store.encrypt(EMMA, TEXT)[nonces] for _ in range(2_000)]


def _interrupt(*_: object) -> bool:
    raise InterruptedError


def test_damage_is_one_error_with_the_path(store: KeyStore, master: Path) -> None:
    value = store.encrypt(EMMA, TEXT)
    (file,) = key_files(store)
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), bytes(len(whole))):
        file.write_bytes(damaged)
        reader, writer = opened(store, master), opened(store, master)
        with pytest.raises(ConfigurationError, match=str(file)):
            reader.decrypt(value)
        with pytest.raises(ConfigurationError, match=str(file)):
            writer.encrypt(EMMA, TEXT)
    file.write_bytes(whole)
    (store.folder / STORE).rename(store.folder / "away")
    file.unlink()
    store._by_version.clear()
    with pytest.raises(ConfigurationError, match=f"{store.folder}: the key store is gone"):
        store.decrypt(value)


@pytest.mark.parametrize(("name", "text"), [
    ("destroyed.log", "no line\n"), ("store.json", "{}"), ("store.json", '{"format": 2}'),
])  # fmt: skip
def test_a_damaged_file_of_the_store_is_named(
    store: KeyStore, master: Path, name: str, text: str
) -> None:
    (store.folder / name).write_text(text)
    with pytest.raises(ConfigurationError, match=name):
        opened(store, master)


def test_a_second_store_is_not_created_in_a_folder(store: KeyStore, master: Path) -> None:
    (store.folder / STORE).unlink()
    with pytest.raises(ConfigurationError, match="is not empty"):
        KeyStore.create(store.folder, MasterKeyFile(master))


@pytest.mark.parametrize("text", ["", "not base64\n", "YWJj\n"])
def test_a_damaged_master_key_is_named(master: Path, text: str) -> None:
    master.write_text(text)
    with pytest.raises(ConfigurationError, match=str(master)):
        MasterKeyFile(master)


def test_a_master_key_that_others_can_read_is_refused(master: Path) -> None:
    master.chmod(0o644)
    with pytest.raises(ConfigurationError, match="other accounts can read it"):
        MasterKeyFile(master)
