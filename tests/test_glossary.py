"""The glossary: every term stands in a lesson, every link leads somewhere, and lessons link to terms."""

import json
import re
from pathlib import Path

import pytest

from tests.notebook_checks import joined, link_problem, markdown_links

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
GLOSSARY = NOTEBOOKS / "glossary.md"
PAGE = GLOSSARY.read_text(encoding="utf-8")
ENTRIES = {
    term: text.strip()
    for term, text in re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
}
LESSONS = {
    path.name: " ".join(
        joined(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    )
    for path in sorted(NOTEBOOKS.glob("*.ipynb"))
}


def as_words(text):
    """Text in small letters, with the signs of names and of Markdown as spaces: closing_call is two words."""
    return re.sub(r"[^\w%-]+|_", " ", text.lower())


def test_there_are_terms_and_they_stand_in_order():
    assert len(ENTRIES) > 40
    assert list(ENTRIES) == sorted(ENTRIES)


@pytest.mark.parametrize("term", ENTRIES)
def test_a_term_stands_in_the_lesson_that_its_entry_names(term):
    (lesson,) = re.findall(r"See (?:\[lesson \d\d\]\((.+?)\)|(lesson \d\d))\.$", ENTRIES[term])
    text = LESSONS.get(lesson[0], "")
    assert re.search(rf"\b{re.escape(term)}", as_words(text)), (
        f"{term} does not stand in {lesson[0] or lesson[1]}"
    )


@pytest.mark.parametrize("link", sorted(set(markdown_links(PAGE))))
def test_a_link_of_the_glossary_leads_somewhere(link):
    assert link_problem(link, GLOSSARY) is None


def test_the_headings_are_in_small_letters_so_that_jupyterlab_and_code_hosts_link_to_them_alike():
    assert [term for term in ENTRIES if term != term.lower()] == []


def linked(lesson):
    """The terms to which a lesson links."""
    return set(re.findall(r"\]\(glossary\.md#([\w-]+)\)", LESSONS[lesson]))


EXPLAINED = {  # lesson: the terms whose entries name it
    lesson: {term.replace(" ", "-") for term, text in ENTRIES.items() if f"({lesson})" in text}
    for lesson in LESSONS
}


def test_the_entries_name_only_lessons_that_there_are():
    assert sum(map(len, EXPLAINED.values())) == len(ENTRIES)


@pytest.mark.parametrize("lesson", [lesson for lesson, terms in EXPLAINED.items() if terms])
def test_a_lesson_links_each_term_that_it_explains(lesson):
    theirs = EXPLAINED[lesson]
    assert theirs - linked(lesson) == set()
