"""The lessons keep to what every lesson keeps to. nbval shows that their code does what their outputs say."""

import json
import re
from pathlib import Path

import pytest

from tests.notebook_checks import (
    CHECKS,
    cell_ids,
    cells,
    errors_are_meant,
    joined,
    links_lead_somewhere,
    minutes,
    no_views_without_state,
    nothing_is_held_back,
    one_clean_run,
    pictures_in_words,
    predictions_are_not_spoiled,
    size,
    widget_state,
)
from tests.rerun_notebooks import minutes_said

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
START_ROW = "| [00 Start here](00_start_here.ipynb) |"  # the map does not link to itself

# --- the lessons


def test_there_are_lessons():
    assert NOTEBOOKS


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_lesson(path, check):
    assert check(json.loads(path.read_text(encoding="utf-8")), path) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_minutes_of_a_lesson_are_the_same_in_it_in_lesson_00_and_in_readme(path):
    """`tests.rerun_notebooks` writes them; see `minutes` for what they are made of."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    start = json.loads(NOTEBOOKS[0].read_text(encoding="utf-8"))
    (map_cell,) = [cell for _, cell in cells(start, "markdown") if cell["id"] == "map"]
    said = [
        *re.findall(r"[Aa]bout (\d+) minutes", joined(notebook["cells"][0]["source"])),
        *minutes_said(path.name, joined(map_cell["source"]).replace("| 00 Start here |", START_ROW)),
        *minutes_said(f"notebooks/{path.name}", (ROOT / "README.md").read_text(encoding="utf-8")),
    ]
    assert said == [f"{minutes(notebook)}"] * 3


# --- the checks themselves: each lets a good notebook through and finds what is wrong in a bad one


def prose(source="Some words.", **more):
    return {"cell_type": "markdown", "metadata": {}, "source": source, **more}


def code(source="x = 1", *outputs, count=None, **metadata):
    return {
        "cell_type": "code",
        "metadata": metadata,
        "source": source,
        "outputs": list(outputs),
        "execution_count": count,
    }


def display(**data):
    kinds = {"html": "text/html", "png": "image/png", "svg": "image/svg+xml", "plain": "text/plain"}
    kinds["view"] = "application/vnd.jupyter.widget-view+json"
    return {
        "output_type": "display_data",
        "metadata": {},
        "data": {kinds[kind]: text for kind, text in data.items()},
    }


ERROR = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}


def notebook(*parts, **metadata):
    """A notebook of these cells; ids and the order of a clean run are filled in where they are missing."""
    count = 0
    for number, cell in enumerate(parts):
        cell.setdefault("id", f"cell-{number}")
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"] = cell["execution_count"] or count
    return {"cells": list(parts), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def lesson(*parts):
    """A lesson of the right size with some cells more in front."""
    return notebook(*parts, *(cell for _ in range(12) for cell in (prose(), code())))


@pytest.fixture
def place(tmp_path):
    """A folder with a lesson to link to."""
    other = notebook(prose("# Stop rules\n\n## What `max_steps` does"))
    (tmp_path / "03_stop_rules.ipynb").write_text(json.dumps(other))
    (tmp_path / "loop.py").write_text("one\ntwo\n")
    return tmp_path / "01_sample.ipynb"


NOTHING = {"output_type": "display_data", "data": {}, "metadata": {}}


def asked():
    return prose("**Predict:** what comes out?")


GOOD = {
    "plain": lesson(),
    "source as a list of lines": lesson(prose(["# Title\n", "\n", "words"]), code(["x = 1\n", "x"])),
    "an error that is meant": lesson(prose(), code("int('x')", ERROR, tags=["raises-exception"])),
    "predictions": lesson(
        asked(),
        code("x", NOTHING, display(plain="1"), jupyter={"outputs_hidden": True}),
        asked(),
        code("tracer(loop)", display(plain=""), display(plain="frames"), jupyter={"outputs_hidden": True}),
        asked(),
        code("tracer(loop, predict=True)", display(plain="1")),
        asked(),
    ),
    "pictures with words": lesson(
        prose(
            '![two bars](loop.py) <img alt="a chart" src="loop.py"> <figure aria-label="a chart"></figure>'
        ),
        code("plot()", display(png="AAAA", plain="Tokens read: 500, 1000, 1500")),
    ),
    "a picture with a named figure beside it": lesson(
        prose(),
        code(
            "plot()",
            display(png="AAAA", plain="<Figure size 1x1>"),
            display(html='<figure aria-label="three bars">'),
        ),
    ),
    "a picture inside named HTML": lesson(
        prose(),
        code("plot()", display(html='<img alt="bars" src="data:image/png;base64,AA">', plain="<Plot>")),
    ),
    "a drawing with a title": lesson(prose("<svg><title>A loop of four moves</title></svg>")),
    "a figure with a caption": lesson(
        prose("<figure><pre>1 2</pre><figcaption>Tokens</figcaption></figure>")
    ),
    "links": lesson(
        prose(
            "[a](03_stop_rules.ipynb) [b](03_stop_rules.ipynb#Stop-rules) "
            "[c](03_stop_rules.ipynb#what-max_steps-does)"
        ),
        prose("[web](https://example.org/nothing#here) [mail](mailto:a@example.org) [line](loop.py#L2)"),
        prose("![dot](attachment:dot.png)", attachments={"dot.png": {"image/png": "AAAA"}}),
    ),
    "HTML that looks like a link": lesson(
        prose("<pre>tools[name](gone)</pre>"),
        code("x", display(html="<td>tools[name](gone)</td>\n[1]: gone")),
    ),
    "code that looks like a link": lesson(
        prose("`[a](b)` and\n```\n![](gone.png)\n<img src='gone.png'>\n```\n")
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_notebook_passes_every_check(name, place):
    assert [problem for check in CHECKS for problem in check(GOOD[name], place)] == []


def shown(**forms):
    """A notebook of one cell with this output."""
    return notebook(code("x", display(**forms)))


LONG = (prose("word " * 1440), prose(), code("x\n" * 20), code("x\n" * 20))

BAD = [
    (widget_state, notebook(widgets={}), "metadata.widgets"),
    (no_views_without_state, notebook(code("x = 1", display(view={}))), "the view of a widget"),
    (errors_are_meant, notebook(code("int('x')", ERROR)), "is not tagged"),
    (errors_are_meant, notebook(code(tags=["raises-exception"])), "ends without an error"),
    (one_clean_run, {"cells": [code()], "metadata": {}}, "[None]"),
    (one_clean_run, notebook(code(count=2), code(count=1)), "[2, 1]"),
    (one_clean_run, notebook(code(count=1), code(count=3)), "[1, 3]"),
    (nothing_is_held_back, notebook(code(tags=["nbval-skip"])), "left out"),
    (nothing_is_held_back, notebook(code("# NBVAL_SKIP\nx = 1")), "left out"),
    (nothing_is_held_back, notebook(code(jupyter={"source_hidden": True})), "hidden"),
    (nothing_is_held_back, notebook(code("import sys\nsys.path.insert(0, '..')")), "sys.path"),
    (
        predictions_are_not_spoiled,
        notebook(asked(), code("x", display(plain="1"))),
        "cell 2 shows its output",
    ),
    (
        predictions_are_not_spoiled,
        notebook(code('predict("01 x", "?", 1, 2)', display(plain="?")), code("x", display(plain="1"))),
        "cell 2 shows its output below the prediction of cell 1",
    ),
    (
        predictions_are_not_spoiled,
        notebook(asked(), code("x", display(plain="3"), jupyter={"outputs_hidden": True})),
        "cell 2 hides its output, and JupyterLab shows the first line of it",
    ),
    (
        predictions_are_not_spoiled,
        notebook(
            asked(),
            code("assert f() == 3\nf()", NOTHING, display(plain="3"), jupyter={"outputs_hidden": True}),
        ),
        "cell 2 hides its output, and an assert tells it",
    ),
    (
        predictions_are_not_spoiled,
        notebook(asked(), code("def f(): ..."), prose(), code("x", display(plain="1"))),
        "cell 4 shows its output below the prediction of cell 1",
    ),
    (cell_ids, {"cells": [prose()], "metadata": {}}, "cell 1 has no id"),
    (cell_ids, notebook(prose(id="a"), prose(id="a")), "stands 2 times"),
    (pictures_in_words, notebook(prose("![](loop.png)")), "without alt text"),
    (pictures_in_words, notebook(prose("![ ](loop.png)")), "without alt text"),
    (pictures_in_words, notebook(prose('<img src="loop.png">')), "<img> without"),
    (pictures_in_words, notebook(prose('<img alt="" src="loop.png">')), "<img> without"),
    (pictures_in_words, notebook(prose("<figure>words</figure>")), "<figure> without"),
    (pictures_in_words, notebook(prose("<svg><path d='M0'/></svg>")), "<svg> without"),
    (pictures_in_words, shown(html="<figure>1</figure>"), "<figure> without"),
    (pictures_in_words, shown(png="AAAA"), "without text beside it"),
    (pictures_in_words, shown(png="AAAA", plain="<Figure size 1x1>"), "without text beside"),
    (pictures_in_words, shown(svg="<svg/>", plain="<Figure>"), "without text beside it"),
    (links_lead_somewhere, notebook(prose("[a](gone.ipynb)")), "leads to no file"),
    (links_lead_somewhere, notebook(prose("![a](gone.png)")), "leads to no file"),
    (links_lead_somewhere, notebook(prose("see [a]\n\n[a]: gone.md")), "leads to no file"),
    (links_lead_somewhere, notebook(prose('<a href="gone.md">a</a>')), "leads to no file"),
    (links_lead_somewhere, shown(html='<a href="gone.md">a</a>'), "leads to no file"),
    (links_lead_somewhere, notebook(prose("[a](/notebooks/03_stop_rules.ipynb)")), "own folder"),
    (links_lead_somewhere, notebook(prose("[a](03_stop_rules.ipynb#Gone)")), "leads to no heading"),
    (links_lead_somewhere, notebook(prose("[a](loop.py#L3)")), "has no such line"),
    (links_lead_somewhere, notebook(prose("![a](attachment:gone.png)")), "is not attached"),
    (size, notebook(*[prose(), code()] * 11), "11 code cells, not 12 to 22"),
    (size, notebook(*[prose(), code()] * 23), "23 code cells, not 12 to 22"),
    (size, notebook(*[prose(), code("x\n" * 7)] * 12), "have 7.0 lines or more"),
    (size, lesson(prose(), code("x\n" * 21)), "a code cell has 21 lines"),
    (size, lesson(code()), "12 cells of prose for 13 of code"),
    (size, lesson(prose("word " * 1500)), "1524 words"),
    (size, notebook(*[prose(), code("x\n" * 6)] * 20, *LONG), "it takes 40 minutes"),
]


@pytest.mark.parametrize(("check", "bad", "said"), BAD, ids=lambda value: getattr(value, "__name__", None))
def test_a_bad_notebook_is_found(check, bad, said, place):
    place.write_text(json.dumps(bad))
    (problem,) = check(bad, place)
    assert said in problem


def test_the_limits_themselves_are_let_through(place):
    longest = [code("x\n" * 20), *(code("x\n" * 6) for _ in range(10)), *(code("x") for _ in range(11))]
    fold = "<details><summary>Answer</summary>\n\n" + "word " * 500 + "\n\n</details>"
    few = [prose(fold), *(prose("") for _ in range(6))]
    full = notebook(*longest, *(prose("word " * 100) for _ in range(14)), prose("word " * 99), *few)
    assert size(full, place) == []


def test_notebook_00_may_have_few_code_cells(place):
    assert size(notebook(prose(), code()), place.with_name("00_start_here.ipynb")) == []
    assert size(notebook(prose(), code()), place) != []


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_check_has_a_notebook_that_fails_it(check):
    assert check in [used for used, _, _ in BAD]
