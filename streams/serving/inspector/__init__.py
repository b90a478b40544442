"""The inspector: memory, its reasons and its past in a browser (docs/inspector.md).

A view is one module: a route, a question and a template (`view`, listed in `views`). A question
answers JSON; the page and its `.json` twin are made of the same answer.
"""
