"""Report of an import for the user: omitted content, and times that were filled in."""

from collections.abc import Callable

from schemas.base import format_time
from streams.importers.base import ImportDefaults, ImportFault, NoUser, Skipped


class Telling(Skipped):
    """Continues after a conversation that cannot be imported, and reports it in a line."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say
        self._refused = self._nobodys = self._dated = 0

    def refuse(self, fault: ImportFault) -> None:
        self._refused += 1
        if isinstance(fault, NoUser):
            self._nobodys += 1
            if self._nobodys > 1:  # all of a file, most often: one line, and how many at the end
                return
        self._say(f"left out: {fault}")

    def date(self, defaults: ImportDefaults) -> None:
        super().date(defaults)
        self._dated += 1

    def sum_up(self) -> None:
        """Reports the counts, one per line."""
        for reason, count in self.items():
            self._say(f"left out: {reason}: {count}")

    def say_times(self) -> None:
        """Reports times that were not in the data."""
        if self.dated is None or self.dated.created is None:
            return
        at, by = format_time(self.dated.created), self.dated.dated_by
        say = f"{_conversations(self._dated)} without times: dated {at} by {by}, a second a message"
        if by != "--created":
            say += f"; to import the same data again from elsewhere, give --created {at}"
        self._say(say)

    def refusal(self, records: int) -> str | None:
        """Returns why the import failed as a whole, or None; `records` is the number of records."""
        if self._nobodys:
            note = "" if records == 0 else "; the rest was imported"
            refusals = self._refused - self._nobodys
            also = f"; {_conversations(refusals)} could not be imported" if refusals else ""
            verb = "names" if self._nobodys == 1 else "name"
            return (
                f"{_conversations(self._nobodys)} {verb} no user, so nothing would be remembered: "
                f"give --user NAME{also}{note}"
            )
        if self._refused:
            note = "the rest was" if records else "nothing was"
            return (
                f"{_conversations(self._refused)} could not be imported; {note}; mend what the "
                "lines above name, then import it again"
            )
        if records:
            return None
        return "holds no conversation with a message; is it of this format (docs/importing.md)?"


def _conversations(count: int) -> str:
    return "1 conversation" if count == 1 else f"{count} conversations"
