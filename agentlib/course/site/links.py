"""Where the links of the course's files lead on the site: to pages to read, else to the files themselves."""

import posixpath
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote, unquote, urlsplit

__all__ = ["Links", "page_of"]

PAGES = (
    (r"notebooks/(\w+)\.ipynb", r"lessons/\1.html"),
    (r"notebooks/(glossary)\.md", r"lessons/\1.html"),
    (r"((?:exercises|solutions)/\w+)\.ipynb", r"\1.html"),
    (r"(agentlib/[\w/.]+\.(?:py|md))", r"code/\1.html"),
    (r"README\.md", "index.html"),
)

LAB = "lab/index.html"


def page_of(source: str) -> str:
    """Give the page that is made from a file of the course; "" = none is.

    source: its path from the course's folder, such as "notebooks/01_the_loop.ipynb".
    """
    for pattern, page in PAGES:
        if found := re.fullmatch(pattern, source):
            return found.expand(page)
    return ""


class Links:
    """Leads links to pages, and keeps what they led to.

    there: the sources that pages are made from, beside those of the package. is_file: whether the site has a
    file among those that it keeps as they are. code: the files of the package that links lead to.
    lost: links that lead nowhere, in words; their text stays.
    """

    def __init__(self, there: Iterable[str], is_file: Callable[[str], bool]) -> None:
        self.there = set(there)
        self.is_file = is_file
        self.code: dict[str, None] = {}
        self.lost: list[str] = []

    def root(self, source: str) -> str:
        """Give the way from a file's page up to the site."""
        return "../" * page_of(source).count("/")

    def lab(self, source: str) -> str:
        """Give the way from a file's page to the lab, with this file open."""
        return f"{self.root(source)}{LAB}?path={quote(source)}"

    def lead(self, soup: Any, source: str) -> None:
        """Lead all links and pictures of a page to where they are on the site."""
        for name, attribute in (("a", "href"), ("img", "src")):
            for element in soup.find_all(name, **{attribute: True}):
                led = self.led(element[attribute], source)
                if led is None and "solutions/" not in element[attribute]:  # left out when so wanted
                    self.lost.append(f"{source} leads to {element[attribute]}, which is not on the site.")
                if led is not None:
                    element[attribute] = led
                elif name == "a":
                    element.unwrap()
                else:
                    element.decompose()

    def led(self, link: str, source: str) -> str | None:
        """Lead one link of a file; None = what it names is not on the site."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or not parts.path:
            return link
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(source), unquote(parts.path)))
        if wanted == LAB:  # a way that `lab` gave
            return link
        page = page_of(wanted)
        if page.startswith("code/") and self.is_file(wanted):
            self.code[wanted] = None
        elif not page or (wanted not in self.there and page != "index.html"):
            if not self.is_file(wanted):
                return None
            page = f"files/{wanted}"
        way = posixpath.relpath(page, posixpath.dirname(page_of(source)))
        return quote(way) + (f"#{parts.fragment}" if parts.fragment else "")
