"""Pages to read: what a run notebook's widgets become, where links lead, what is folded, and odd texts."""

import json
import re
from pathlib import Path

import ipywidgets
import pytest
from bs4 import BeautifulSoup
from nbformat import v4

from agentlib import run_agent
from agentlib.course import final_test
from agentlib.course.errors import SiteError
from agentlib.course.site.edited import answer_edited, edit_request, repair_request
from agentlib.course.site.links import Links, page_of
from agentlib.course.site.read_pages import Neighbour, lab_words, read_page, rendered, slug_of
from agentlib.course.site.run_notebooks import run_notebooks
from agentlib.course.site.widgets import STATE, VIEW, widget_parts
from agentlib.labs import blue_mugs
from agentlib.labs.by_hand import simple_loop
from agentlib.views import moving, playground, predict, quiz, tracer

ROOT = Path(__file__).parent.parent
HOSTILE = "</script><script>alert(1)</script> \"'` <b>&amp; \u2028 \u202e {{ 1 }} {% x %}"


def state_of(widget):
    """The state of a widget and all that it holds, as Jupyter keeps it with a notebook."""
    return ipywidgets.Widget.get_manager_state(drop_defaults=False)["state"], widget.model_id


@pytest.fixture
def links():
    there = ["notebooks/01_the_loop.ipynb", "notebooks/glossary.md", "exercises/ex01_write_the_loop.ipynb"]
    return Links(there, lambda name: (ROOT / name).is_file())


def shown(widget, static="<p>the same as text</p>"):
    """The two outputs of a cell that shows a widget."""
    return [
        v4.new_output("display_data", {VIEW: {"model_id": widget.model_id}, "text/plain": ""}),
        v4.new_output("display_data", {"text/html": static, "text/plain": "the same"}),
    ]


def notebook(*cells, state=None):
    made = v4.new_notebook(cells=list(cells))
    if state is not None:
        made.metadata["widgets"] = {STATE: {"state": state, "version_major": 2, "version_minor": 0}}
    return made


def code(source, *outputs, **metadata):
    return v4.new_code_cell(source, outputs=list(outputs), metadata=metadata)


def page(made, links, source="notebooks/02_blue_mugs.ipynb", **around):
    return BeautifulSoup(read_page(rendered(made, source, links), links, **around), "html.parser")


def parts_of(soup):
    return json.loads(soup.find(id="parts").string)


# --- widgets ------------------------------------------------------------------------------------------


def test_the_player_of_a_tracer_becomes_a_part_with_the_same_frames_and_its_slider_is_named():
    made = tracer(simple_loop, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=4)
    found = widget_parts(*state_of(made.widget))
    (part,) = found.parts
    assert part.kind == "player"
    assert part.values["timelines"] == made.live.player.timelines
    assert part.values["can_fork"] is False  # there is no Python behind it
    assert set(part.values) == {"timelines", "frame", "guess", "label", "can_fork", "problem", "stale"}
    assert (found.moves, found.chooses, found.asks_what_if) == (("max_steps",), (), True)


def test_a_quiz_and_a_prediction_become_parts_that_are_not_answered_yet(tmp_path):
    for made in (quiz("02_blue_mugs", folder=tmp_path), predict("02 x", "How many?", 1, 2, folder=tmp_path)):
        (part,) = widget_parts(*state_of(made.box)).parts
        assert part.kind == "quiz"
        assert len(part.values["questions"]) == len(made.questions)
        assert set(part.values["picked"]) == {-1}


def test_what_needs_python_is_named_in_words(tmp_path):
    def curves(n):
        return {"line": list(range(n))}

    plot = moving(curves, lambda n: "", title="x", up="y", labels={"n": "n, calls"}, n=(1, 5, 3))
    run = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
    words = {
        "plot": lab_words(widget_parts(*state_of(plot.box))),
        "playground": lab_words(widget_parts(*state_of(playground("blue_mugs").box))),
        "a run": lab_words(widget_parts(*state_of(tracer(run).widget))),
        "final test": lab_words(widget_parts(*state_of(final_test(3, folder=tmp_path).box))),  # in the page
    }
    assert words == {
        "plot": "You can move `n, calls`",
        "playground": "You can choose `lab`, `question`, `model` and `guard` and move `max_steps`",
        "a run": "",
        "final test": "",
    }


def test_an_output_whose_widget_was_not_kept_shows_nothing_and_its_text_stands():
    assert widget_parts({}, "gone").parts == ()


# --- a page -------------------------------------------------------------------------------------------


def test_a_player_has_its_place_its_frames_and_the_way_to_the_lab(links):
    made = tracer(simple_loop, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=4)
    soup = page(notebook(code("tracer(...)", *shown(made.widget)), state=state_of(made.widget)[0]), links)
    (place,) = soup.select(".part.player")
    assert parts_of(soup)[int(place["data-part"])]["values"]["timelines"] == made.live.player.timelines
    assert soup.select_one(".in-lab").get_text() == (
        "You can move max_steps and change a reply or a result (What if?) in the lab, where Python runs."
    )
    assert soup.select_one(".in-lab a")["href"] == "../lab/index.html?path=notebooks/02_blue_mugs.ipynb"
    assert "the same as text" in soup.select_one(".outputs").get_text()  # without JavaScript


def test_what_is_hidden_in_jupyterlab_is_folded_and_a_prediction_is_tied_to_what_came_out(links, tmp_path):
    asked = predict("02 entries", "How many?", 4, 8, folder=tmp_path)
    came = v4.new_output("execute_result", {"text/html": "<p>It is 8. You made no prediction.</p>"})
    soup = page(
        notebook(
            code('predict("02 entries", "How many?", 4, 8)', *shown(asked.box)),
            code('x = 8\npredicted("02 entries", x)', came, jupyter={"outputs_hidden": True}),
            code("1 + 1", v4.new_output("execute_result", {"text/plain": "2"})),
            state=state_of(asked.box)[0],
        ),
        links,
    )
    assert soup.select_one(".part.quiz")["data-predict"] == "02 entries"
    (folded,) = soup.select("details.outcome")
    assert folded["data-predicted"] == "02 entries"
    assert not folded.has_attr("open")
    assert "It is 8." in folded.get_text()
    assert [one.get_text() for one in soup.select(".outputs > .scroll > pre")] == ["2"]


@pytest.mark.parametrize(
    "output",
    [
        v4.new_output("stream", text="\x1b[31mred\x1b[0m <tag>"),
        v4.new_output("error", ename="ValueError", evalue="<tag>", traceback=["\x1b[31mred\x1b[0m <tag>"]),
        v4.new_output("execute_result", {"text/plain": "red <tag>"}),
    ],
    ids=["printed", "raised", "given"],
)
def test_text_that_came_out_is_text(output, links):
    (shown_text,) = page(notebook(code("x", output)), links).select(".outputs pre")
    assert shown_text.get_text().strip() == "red <tag>"


def test_pictures_stand_in_the_page_with_words(links):
    png, svg = v4.new_output("display_data", {"image/png": "aGk="}), v4.new_output("display_data")
    svg.data = {"image/svg+xml": "<svg/>"}
    found = page(notebook(code("x", png, svg)), links).select(".outputs img")
    assert [one["src"].split(",")[0] for one in found] == [
        "data:image/png;base64",
        "data:image/svg+xml;base64",
    ]
    assert all(one["alt"] for one in found)


def test_headings_have_anchors_and_stand_in_the_contents_once_each(links):
    text = "# 02 Blue `mugs`\n\n## The idea\n\n### Deeper\n\n## The idea\n\n## Parts\n\n## <b>&amp;</b> $5"
    made = rendered(notebook(v4.new_markdown_cell(text)), "notebooks/02_blue_mugs.ipynb", links)
    assert made.title == "02 Blue mugs"
    assert made.contents == (
        ("the-idea", "The idea"),
        ("the-idea-2", "The idea"),
        ("parts-2", "Parts"),  # "parts" is the page's own
        ("-5", "& $5"),
    )
    soup = BeautifulSoup(read_page(made, links), "html.parser")
    ids = [element["id"] for element in soup.find_all(id=True)]
    assert len(ids) == len(set(ids))
    for anchor in soup.select(".contents a, a.anchor"):
        assert soup.find(id=anchor["href"].removeprefix("#"))


def test_a_glossary_term_has_the_id_that_lessons_link_to():
    assert [slug_of(words) for words in ("agent loop", "Wilson interval", "tool_call (a)", "???")] == [
        "agent-loop",
        "wilson-interval",
        "tool_call-a",
        "part",
    ]


def test_a_hostile_text_is_safe_wherever_it_stands(links):
    def loop(model, tools, goal, max_steps=10):
        reply = model([{"role": "user", "text": goal}])
        return {"answer": reply["text"], "stopped": "answered", "steps": 1, "history": []}

    made = tracer(loop, lambda: lambda history: {"type": "answer", "text": HOSTILE}, {}, HOSTILE, max_steps=2)
    made_page = rendered(
        notebook(
            v4.new_markdown_cell(f"# {HOSTILE.replace('<', '&lt;')}\n\n```python\nx = {HOSTILE!r}\n```"),
            code(f"x = '''{HOSTILE}'''", v4.new_output("stream", text=HOSTILE)),
            code(f'predicted("{HOSTILE[:20]}"', v4.new_output("execute_result", {"text/plain": HOSTILE})),
            code("tracer(...)", *shown(made.widget, static=made.static.html)),
            state=state_of(made.widget)[0],
        ),
        "notebooks/02_blue_mugs.ipynb",
        links,
    )
    written = read_page(made_page, links)
    soup = BeautifulSoup(written, "html.parser")
    assert [script.get("src") or script.get("id") for script in soup.find_all("script")] == [
        "../theme.js",
        "parts",
        "../read.js",
    ]
    assert "alert(1)</script" not in written
    assert parts_of(soup)[0]["values"]["timelines"] == made.live.player.timelines
    assert HOSTILE in soup.select_one(".source").get_text()


def test_a_page_loads_nothing_from_elsewhere_and_runs_no_script_of_its_text(links):
    text = '# x\n\n<img src="https://example.org/x.png" alt=""> [y](https://example.org)'
    soup = page(notebook(v4.new_markdown_cell(text)), links)
    policy = soup.find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'self'"
    assert rules["script-src"] == "'self' 'wasm-unsafe-eval'"  # no script that stands in the page
    assert all("http" not in rule and "*" not in rule for rule in rules.values())


# --- links --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "leads_to"),
    [
        ("01_the_loop.ipynb", "01_the_loop.html"),
        ("01_the_loop.ipynb#the-idea", "01_the_loop.html#the-idea"),
        ("../exercises/ex01_write_the_loop.ipynb", "../exercises/ex01_write_the_loop.html"),
        ("glossary.md#agent-loop", "glossary.html#agent-loop"),
        ("../agentlib/loop.py", "../code/agentlib/loop.py.html"),
        ("../README.md", "../index.html"),
        ("example_price.json", "../files/notebooks/example_price.json"),
        ("images/four_moves.svg", "../files/notebooks/images/four_moves.svg"),
        ("#here", "#here"),
        ("https://example.org/a?b#c", "https://example.org/a?b#c"),
        ("mailto:a@example.org", "mailto:a@example.org"),
        ("../lab/index.html?path=notebooks/x.ipynb", "../lab/index.html?path=notebooks/x.ipynb"),
        ("no_such.ipynb", None),
        ("../agentlib/no_such.py", None),
        ("../../outside.txt", None),
    ],
)
def test_links_lead_to_pages_or_files(link, leads_to, links):
    assert links.led(link, "notebooks/02_blue_mugs.ipynb") == leads_to


def test_a_link_that_leads_nowhere_keeps_its_text_and_is_told(links):
    text = "[gone](no_such.ipynb) [the solution](../solutions/ex01_write_the_loop.ipynb)"
    without = Links(links.there, lambda name: False)
    soup = page(notebook(v4.new_markdown_cell(text)), without)
    assert [paragraph.get_text() for paragraph in soup.select("main p")] == ["gone the solution"]
    assert without.lost == ["notebooks/02_blue_mugs.ipynb leads to no_such.ipynb, which is not on the site."]


def test_previous_next_and_run_it_here(links):
    soup = page(notebook(), links, before=Neighbour("01 <The loop>", "01_the_loop.html"), after=None)
    assert soup.find(rel="prev").get_text() == "Previous: 01 <The loop>"
    assert soup.find(rel="next") is None
    assert {one["href"] for one in soup.select("a.run")} == {
        "../lab/index.html?path=notebooks/02_blue_mugs.ipynb"
    }


def test_every_file_of_the_course_that_has_a_page_has_one_of_its_own():
    sources = [
        path.relative_to(ROOT).as_posix()
        for pattern in ("notebooks/*.ipynb", "exercises/*.ipynb", "solutions/*.ipynb", "agentlib/**/*.py")
        for path in ROOT.glob(pattern)
    ]
    pages = [page_of(source) for source in sources]
    assert all(pages)
    assert len(set(pages)) == len(pages)


# --- running ------------------------------------------------------------------------------------------


def test_a_notebook_that_does_not_run_is_named_with_its_error(tmp_path):
    (tmp_path / "notebooks").mkdir()
    made = notebook(code("raise ValueError('broken here')"))
    (tmp_path / "notebooks" / "x.ipynb").write_text(v4.writes(made), encoding="utf-8")
    with pytest.raises(SiteError, match=r"(?s)notebooks/x\.ipynb does not run.*broken here"):
        run_notebooks(tmp_path, ["notebooks/x.ipynb"])


def test_the_template_escapes_what_it_fills_in():
    template = (ROOT / "agentlib/course/site/pages/cells.html.j2").read_text(encoding="utf-8")
    raw = re.findall(r"{{ (cell|resources|output)[^|}]*}}", template)
    assert raw == ["resources", "output"]  # the places made here, and HTML that a view gave


# --- a loop that a reader changes -----------------------------------------------------------------------

SETUP = "from agentlib.labs import blue_mugs\nfrom agentlib.labs.by_hand import simple_loop"
OTHERS = [
    "import math",
    SETUP,
    "unused = math.pi",
    "limit = 3\nlimits = {'most': 0}",
    "limits['most'] = limit + 1",
]
SHOWS = "tracer(simple_loop, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=limits['most'])"
CELLS = [*OTHERS, "from agentlib.views import tracer", SHOWS]


@pytest.fixture(scope="module")
def request_of_reader():
    made = tracer(simple_loop, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=4)
    return edit_request(CELLS, made.live.timelines())


def edited(request, text=None, **more):
    text = "\n".join(request["lines"]) if text is None else text
    return json.loads(answer_edited(json.dumps({**request, "text": text, **more})))


def test_the_cells_that_a_player_needs_are_picked(request_of_reader):
    assert request_of_reader["cells"] == [CELLS[1], *CELLS[3:]]


def test_a_run_without_a_loop_s_text_or_after_a_cell_with_a_magic_cannot_be_changed():
    run = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
    assert edit_request(["tracer(run)"], tracer(run).live.timelines()) is None
    assert edit_request(["%matplotlib inline", "x"], [{"lines": ["def f(x):", "    pass"]}]) is None


def test_a_reader_s_loop_plays_in_the_place_of_the_lesson_s(request_of_reader):
    as_it_was = edited(request_of_reader)
    assert as_it_was["timelines"][0]["frames"][-1]["stopped"] == "answered"
    text = "\n".join(request_of_reader["lines"]).replace('"answered"', '"all done"')
    changed = edited(request_of_reader, text)
    assert changed["timelines"][0]["frames"][-1]["stopped"] == "all done"
    assert "\n".join(changed["timelines"][0]["lines"]) == text
    assert edited(request_of_reader) == as_it_was  # nothing is kept


def test_runs_side_by_side_are_all_made_anew_by_the_reader_s_loop():
    result = '{"answer": "x", "stopped": "mine", "steps": 0, "history": []}'
    text = f"def mine(model, tools, goal, max_steps=3):\n    return {result}"
    cells = [
        "from agentlib.labs import blue_mugs\nfrom agentlib.views import tracer",
        "from agentlib.watch import watch",
        f"{text}\nloops = {{'a': mine}}",
        "runs = {name: watch(loops['a'], blue_mugs.model(), blue_mugs.TOOLS, 'g') for name in 'AB'}",
        "tracer(runs)",
    ]
    request = edit_request(cells, [{"lines": text.split("\n")}])
    came = edited(request, text.replace('"mine"', '"yours"'))
    assert [one["frames"][-1]["stopped"] for one in came["timelines"]] == ["yours", "yours"]


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("def simple_loop(model, tools, goal:\n    pass", "Line 1 is no Python", 1),
        ("x = 1", "There is no function simple_loop: begin it with `def simple_loop(model", 0),
        ("x = 1 / 0", "raised ZeroDivisionError", 0),
    ],
)
def test_what_is_wrong_with_a_reader_s_text_is_said(request_of_reader, text, words, line):
    came = edited(request_of_reader, text)
    assert words in came["problem"]
    assert came["line"] == line


def test_a_reader_s_loop_that_fails_or_does_not_end_outside_of_the_player_is_named(
    request_of_reader, monkeypatch
):
    monkeypatch.setattr("agentlib.course.site.edited.CELL_SECONDS", 0.3)
    cells = [SETUP, "simple_loop(blue_mugs.model(), blue_mugs.TOOLS, 'g')", *request_of_reader["cells"]]
    head = "def simple_loop(model, tools, goal, max_steps=10):\n"
    came = edited(request_of_reader, f"{head}    return 1 / 0", cells=cells)
    assert came == {"problem": "Line 2 of your loop raised ZeroDivisionError: division by zero", "line": 2}
    came = edited(request_of_reader, f"{head}    while True: pass", cells=cells)
    assert "did not end within 0.3 seconds" in came["problem"]


def test_a_loop_that_the_cells_do_not_name_is_not_said_to_have_run(request_of_reader):
    cells = ["from agentlib.labs import blue_mugs", "from agentlib.views import tracer", "tracer(print)"]
    cells[2] = "from agentlib import run_agent\ntracer(run_agent(blue_mugs.model(), blue_mugs.TOOLS, 'g'))"
    assert "cannot be changed here" in edited(request_of_reader, cells=cells)["problem"]


def test_a_repair_is_checked_in_the_worker(tmp_path):
    cells = ["from agentlib.course import final_test, progress", "SEED = 3", "final_test(SEED)", "progress()"]
    made = final_test(3, folder=tmp_path)
    (part,) = widget_parts(*state_of(made.box)).parts
    request = repair_request(cells[:3], part.values["questions"])
    assert request == {"cells": cells[:3]}
    place = next(number for number, one in enumerate(made.questions) if one.repair)
    repair = made.questions[place].repair
    right = edited({**request, "lines": []}, repair.text, question=place, line=repair.line, tried=2)
    assert right == {"said": "", "done": True}
    wrong = [edited(request, "no Python", question=place, line=1, tried=tried) for tried in (0, 1, 2)]
    assert all(one["said"] for one in wrong)
    assert [one["done"] for one in wrong] == [False, False, True]


def test_a_quiz_without_repairs_asks_for_no_python():
    assert repair_request(["x"], [{"repair": None}]) is None
