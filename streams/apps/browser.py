"""Opens a page in the user's browser."""

import os
import webbrowser
from threading import Thread


def open_page(url: str) -> bool:
    """Opens a URL; returns at once, False without a browser. Terminal browsers (`w3m`) only count
    if `BROWSER` names them."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if type(browser) is webbrowser.GenericBrowser and "BROWSER" not in os.environ:
        return False
    Thread(target=browser.open, args=(url,), daemon=True).start()
    return True
