"""The pages of the site: the repository's own files at their own places, and generated references.

A link between two files works on the site as it does in the repository; a link to a file that is
absent from the site fails the build. `scripts/site/build` writes the reference of the TypeScript
client into the folder that TYPESCRIPT_REFERENCE names.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(Path(__file__).parent))  # a hook is loaded from its path
import openapi_page  # noqa: E402

LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
PYTHON = "# Python client\n\n::: turnfold_client\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """All Markdown that is committed outside tests, and what it links to."""
    openapi = json.loads((ROOT / "schemas/generated/openapi.json").read_text())
    theme = [file for file in files if file.src_dir != config.docs_dir]
    committed = subprocess.run(
        ["git", "ls-files", "*.md", "docs/pictures"],
        cwd=ROOT,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    ).stdout.split()
    pages = {path for path in committed if not path.startswith(("tests/", "streams/", "."))}
    for page in [path for path in pages if path.endswith(".md")]:
        for link in LINK.findall((ROOT / page).read_text()):
            target = (ROOT / page).parent / link
            if target.is_file():
                pages.add(str(target.resolve().relative_to(ROOT)))
    shown = [File.generated(config, path, abs_src_path=str(ROOT / path)) for path in sorted(pages)]
    shown += [
        File.generated(config, "reference/python.md", content=PYTHON),
        File.generated(config, "reference/http.md", content=openapi_page.page(openapi)),
    ]
    typescript = Path(os.environ.get("TYPESCRIPT_REFERENCE", "absent"))
    shown += [
        File.generated(
            config, f"reference/typescript/{path.name}", abs_src_path=str(path.resolve())
        )
        for path in sorted(typescript.glob("[a-z]*.md"))
    ]
    return Files([*theme, *shown])


navigation: Navigation
"""Of the build; the titles of its pages are known at the end."""


def on_nav(nav: Navigation, **_: Any) -> None:
    """Keeps the navigation."""
    global navigation
    navigation = nav


def on_post_build(config: MkDocsConfig) -> None:
    """Writes `llms.txt`: a list of the pages, for models."""
    sections: dict[str, list[str]] = {}
    for page in navigation.pages:
        section = page.ancestors[-1].title if page.ancestors else config.site_name
        sections.setdefault(section or "", []).append(f"- [{page.title}]({page.url or './'})")
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    for title, links in sections.items():
        lines += [f"## {title}", "", *links, ""]
    Path(config.site_dir, "llms.txt").write_text("\n".join(lines))
