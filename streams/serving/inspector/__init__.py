"""The inspector: memory, its reasons and its past in a browser (docs/inspector.md).

A view is one module: a route, a query and a template (`view`, listed in `views`). A query returns
JSON; the page and its `.json` twin show the same answer.
"""
