"""A run as a page of its own: what is written, and what is refused in one clear sentence."""

import json
import re

import pytest

from agentlib import answer, ask, run_agent
from agentlib.labs import blue_mugs
from agentlib.models import ScriptedModel
from agentlib.trace import Trace
from agentlib.views import save_page
from agentlib.views.tracer import tracer
from agentlib.views.tracer.player import last_frame


def mugs(max_steps=10):
    return run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=max_steps)


def values_of(page):
    (data,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, flags=re.DOTALL)
    return json.loads(data)


def test_a_page_holds_the_very_timelines_of_the_notebook(tmp_path):
    run = mugs()
    path = save_page(run, tmp_path / "run.html")
    assert path == tmp_path / "run.html"
    assert values_of(path.read_text("utf-8"))["timelines"] == tracer(run).live.player.timelines
    assert list(tmp_path.iterdir()) == [path]


def test_several_runs_stand_in_one_page_by_their_names(tmp_path):
    page = save_page({"A": mugs(), "B": mugs(2).trace}, tmp_path / "two.html").read_text("utf-8")
    assert [one["label"] for one in values_of(page)["timelines"]] == ["A", "B"]


def test_a_page_names_nothing_outside_itself(tmp_path):
    page = save_page(mugs(), tmp_path / "run.html").read_text("utf-8")
    assert "default-src 'none'" in page
    outside = r"""(?:src|href)=["']?(?!data:)[^"'> ]+|url\((?!"data:)|@import|\bimport\b.*?from"""
    assert re.findall(outside, page) == []
    assert "{{" not in page


def test_no_value_ends_the_script_or_becomes_markup(tmp_path):
    harm = "</script><script>alert(1)</script><!-- {{js}} \u2028 \ud800"
    model = ScriptedModel([ask("t", x=harm), answer(harm)])
    page = save_page(run_agent(model, {"t": lambda x: x}, harm), tmp_path / "a.html", title=harm).read_text(
        "utf-8"
    )
    assert page.count("</script>") == 2
    assert page.count("<script") == 2
    assert "alert(1)</script>" in json.dumps(values_of(page))


def test_the_tables_stand_in_the_page_too(tmp_path):
    page = save_page(mugs(), tmp_path / "run.html").read_text("utf-8")
    assert "<summary>All frames as a table</summary>" in page
    assert "Run this cell" not in page.split("<script")[0]


@pytest.mark.parametrize("what", [None, 3, "run.html", [1], print, {"A": 3}])
def test_what_is_no_run_is_refused(tmp_path, what):
    with pytest.raises(TypeError, match=r"^save_page writes Runs and Traces, but one was "):
        save_page(what, tmp_path / "run.html")
    assert list(tmp_path.iterdir()) == []


def test_no_run_at_all_is_refused(tmp_path):
    with pytest.raises(ValueError, match="needs at least one run"):
        save_page({}, tmp_path / "run.html")


def test_a_folder_a_missing_folder_and_another_file_are_left_alone(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"is a folder\. Give the page a name"):
        save_page(mugs(), tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        save_page(mugs(), tmp_path / "none" / "run.html")
    mine = tmp_path / "mine.html"
    mine.write_bytes(b"<p>\xff my own page")
    with pytest.raises(FileExistsError, match=r"mine\.html is there already and no page of save_page"):
        save_page(mugs(), mine)
    assert mine.read_bytes() == b"<p>\xff my own page"
    assert list(tmp_path.iterdir()) == [mine]


def test_an_older_page_of_its_own_is_replaced(tmp_path):
    path = save_page(mugs(), tmp_path / "run.html")
    save_page(mugs(2), path)
    assert values_of(path.read_text("utf-8"))["timelines"][0]["max_steps"] == 2


def test_a_page_of_an_empty_trace_is_a_page(tmp_path):
    page = save_page(Trace(()), tmp_path / "run.html").read_text("utf-8")
    assert values_of(page)["timelines"][0]["frames"] == []


@pytest.mark.parametrize(
    ("steps", "last"),
    [
        ([[0, 1, 1, 2]], 4),
        ([[0, 1, 1, 2], [0, 1, 2, 2, 3]], 6),  # 1 + 2 + 2 + 1
        ([[], [0]], 1),
        ([[]], 1),
        ([], 1),
    ],
)
def test_runs_side_by_side_have_in_each_step_as_many_frames_as_the_longest(steps, last):
    assert last_frame([{"frames": [{"step": step} for step in run]} for run in steps]) == last
