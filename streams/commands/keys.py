"""The commands `admin keys add`, `list` and `revoke`."""

from pathlib import Path

import click

from streams import output
from streams.commands import errors, options

file = click.option(
    "--keys",
    "file",
    envvar="TURNFOLD_SERVE_KEYS",
    required=True,
    type=options.FOLDER,
    metavar="FILE",
    help="Key file that `serve --keys` reads.",
)


@click.command()
@file
@click.option(
    "--tenant",
    type=options.TENANT,
    required=True,
    help="Tenant of the key; '*' (admin only) for all tenants.",
)
@click.option(
    "--role",
    required=True,
    type=click.Choice(["read", "write", "admin"]),
    help="read: read memory; write: also write it; admin: also read dead letters, export and erase "
    "users.",
)
@click.option("--expires", metavar="TIME", help="Time of expiry. Default: never.")
@click.option("--note", default="", help="Note shown by `admin keys list`.")
@options.form
@errors.reported
def add(
    file: Path, tenant: str, role: str, expires: str | None, note: str, form: str | None
) -> None:
    """Create a key and print its token. The file stores only a hash of it.

    \b
    turnfold admin keys add --keys keys.json --tenant acme --role write --note "chat platform"
    """
    from streams.history_documents import parse_moment
    from streams.serving.http.keys import changed, make

    token, key = make(tenant, role, parse_moment(expires), note)  # type: ignore[arg-type]
    with changed(file) as keys:
        keys.append(key)
    if form:
        output.say_as(form, {"token": token, "id": key.id, "tenant": tenant, "role": role})
    else:
        output.say(token)
        output.note(f"key {key.id}: {role} of tenant {tenant}; the token is not shown again")


@click.command("list")
@file
@options.form
@errors.reported
def list_(file: Path, form: str | None) -> None:
    """List the keys, without secrets."""
    import msgspec

    from streams.serving.http.keys import read

    fields = ["id", "tenant", "role", "created_at", "expires_at", "note"]
    rows = [{name: getattr(key, name) for name in fields} for key in read(file)]
    if form:
        output.say_as(form, msgspec.to_builtins(rows))
    else:
        output.table(rows, fields)


@click.command()
@file
@options.argument(
    "key_id", metavar="ID", help="Id of the key: the part of the token between the `_`."
)
@options.yes("Remove it.")
@options.form
@errors.reported
def revoke(file: Path, key_id: str, yes: bool, form: str | None) -> None:
    """Remove a key, with --yes. A running server rejects it within a second."""
    from streams.serving.http.keys import changed, read
    from streams.serving.http.keys import revoke as take_out

    if yes:
        with changed(file) as keys:
            key = take_out(keys, key_id)
    else:
        key = take_out(read(file), key_id)
    if form:
        output.say_as(form, {"revoked" if yes else "would_revoke": key.id})
        return
    did = "revoked" if yes else "would revoke"
    output.say(f"{did} {key.id}: {key.role} of tenant {key.tenant}")
    if not yes:
        output.note("dry run: --yes revokes it")
