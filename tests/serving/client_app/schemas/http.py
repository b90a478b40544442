"""Another."""


class SessionUpdate:
    """An update of the app."""
