"""Opens a page in the browser of whoever sits at this machine, if there is one."""

import os
import webbrowser
from threading import Thread


def open_page(url: str) -> bool:
    """Whether there is a browser. One that takes the terminal (`w3m`) is none, unless `BROWSER`
    names it. Returns at once."""
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return False
    if type(found) is webbrowser.GenericBrowser and "BROWSER" not in os.environ:
        return False
    Thread(target=found.open, args=(url,), daemon=True).start()
    return True
