"""The commands `admin erasure-keys create` and `rotate`."""

from pathlib import Path

import click

from streams import output
from streams.commands import errors, options

keys = click.option(
    "--keys",
    envvar="TURNFOLD_ERASURE_KEYS",
    required=True,
    type=options.FOLDER,
    metavar="DIR",
    help="Folder of the keys.",
)
master_key = click.option(
    "--master-key",
    envvar="TURNFOLD_ERASURE_MASTER_KEY",
    required=True,
    type=options.FOLDER,
    metavar="FILE",
    help="File of the master key, outside of that folder.",
)


@click.command()
@keys
@master_key
@options.form
@errors.reported
def create(keys: Path, master_key: Path, form: str | None) -> None:
    """Create a key store: its folder, and the master key if the file does not exist.

    \b
    turnfold admin erasure-keys create --keys /srv/keys --master-key /etc/turnfold/master.key
    """
    from streams.erasure_keys.key_store import KeyStore, check_empty
    from streams.erasure_keys.master_key import MasterKeyFile

    check_empty(keys)
    is_new = not master_key.exists()
    wrapper = MasterKeyFile.create(master_key) if is_new else MasterKeyFile(master_key)
    KeyStore.create(keys, wrapper)
    if form:
        output.say_as(form, {"keys": str(keys), "master_key": str(master_key)})
    else:
        output.say(f"created {keys}")
    if is_new:
        output.note(f"created {master_key}: without it no key can be read; keep a copy")


@click.command()
@keys
@master_key
@options.form
@errors.reported
def rotate(keys: Path, master_key: Path, form: str | None) -> None:
    """Replace the master key: wrap all keys with a new one, which replaces the old one in its file.

    Other processes may run. If the command is interrupted, run it again.
    """
    from streams.erasure_keys.key_store import KeyStore
    from streams.erasure_keys.master_key import MasterKeyFile

    count = KeyStore(keys, MasterKeyFile(master_key)).rotate()
    if form:
        output.say_as(form, {"wrapped": count})
    else:
        output.say(f"{master_key}: a new master key wraps {output.counted(count, 'key')}")
