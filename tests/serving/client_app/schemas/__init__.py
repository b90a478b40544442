"""The app's own package, named like one of the server."""
