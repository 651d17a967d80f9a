"""In a browser a learner's edited notebook stays, and it is said that the site has a newer one."""

import json

import pytest

from agentlib._platform import BROWSER
from agentlib.course import selfcheck
from agentlib.course.newer import STAMPS_FILE, newer_on_site, stamp_notebooks


def site(folder, text="print(1)"):
    """A site's files with one lesson; gives what its file of stamps holds."""
    (folder / "notebooks").mkdir(parents=True)
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": [text], "outputs": []}
    notebook = {"cells": [cell], "metadata": {"kernelspec": {}}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "notebooks" / "01_the_loop.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    return json.dumps(stamp_notebooks(folder))


def edited(folder):
    """Change a copy as a learner does who runs and edits it."""
    path = folder / "notebooks" / "01_the_loop.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"][0]["source"] = "print('mine')"
    path.write_text(json.dumps(notebook), encoding="utf-8")


@pytest.mark.parametrize("is_edited", [False, True])
@pytest.mark.parametrize("is_newer", [False, True])
def test_a_newer_notebook_is_spoken_of_where_the_copy_was_edited(is_edited, is_newer, tmp_path):
    drive, new = tmp_path / "drive", tmp_path / "new"
    site(drive)
    stamps = site(new, "print(2)" if is_newer else "print(1)")
    if is_edited:
        edited(drive)
    elif is_newer:
        drive = new  # what was not edited is the site's own
    said = newer_on_site(drive, {STAMPS_FILE: stamps}.__getitem__)
    assert len(said) == (is_edited and is_newer)
    for words in said:
        assert words.startswith("notebooks/01_the_loop.ipynb: the site has a newer one than your copy")
        assert "rename yours" in words


@pytest.mark.parametrize("content", ["", "[]", '{"metadata": {}}', '{"metadata": {"agentlib": 3}}'])
def test_a_file_that_was_never_the_courses_is_passed_over(content, tmp_path):
    stamps = site(tmp_path)
    (tmp_path / "notebooks" / "01_the_loop.ipynb").write_text(content)
    assert newer_on_site(tmp_path, {STAMPS_FILE: stamps}.__getitem__) == []
    assert newer_on_site(tmp_path / "gone", {STAMPS_FILE: stamps}.__getitem__) == []


@pytest.mark.parametrize("stamps", ["", "<html>"])
def test_a_site_without_stamps_says_nothing(stamps, tmp_path):
    assert newer_on_site(tmp_path, {STAMPS_FILE: stamps}.__getitem__) == []


def test_the_self_check_says_it_in_a_browser_and_nothing_where_the_site_cannot_be_read(tmp_path, monkeypatch):
    site(tmp_path / "drive")
    edited(tmp_path / "drive")
    stamps = site(tmp_path / "new", "print(2)")
    platform = BROWSER._replace(drive=tmp_path / "drive")
    assert "newer" not in str(selfcheck.self_check(platform=platform))  # no browser, no site
    monkeypatch.setattr(selfcheck, "site_file", {STAMPS_FILE: stamps}.__getitem__)
    assert "the site has a newer one" in str(selfcheck.self_check(platform=platform))
