"""Loops in many styles, read from the player's page: what stands there at a frame, however one comes to it.

The sentences, lines, values and rows that are wanted are those of tests/player_said.py; the variables stand here.
"""

# ruff: noqa: E501

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentlib.views import save_page
from tests.player_said import ANY, NAMES, SAID, loop_of, outcome, watched

READ = """() => {
  const root = document.querySelector(".agentlib-player");
  const slider = root.querySelector("input[type=range]");
  const words = (part) => part?.textContent ?? "";
  const all = (selector, of = root) => [...of.querySelectorAll(selector)];
  const read = (frame) => {
    slider.value = frame;
    slider.dispatchEvent(new Event("input"));
    const lit = root.querySelector(".agentlib-code li[aria-current]");
    const there = all(".agentlib-var").filter((one) => !one.hidden);
    return {
      frame: Number(root.dataset.frame),
      caption: words(root.querySelector(".agentlib-caption")),
      move: words(root.querySelector(".agentlib-ring [aria-current] .agentlib-word")),
      line: lit ? lit.value : null,
      code: words(lit?.querySelector(".agentlib-source")),
      value: lit ? words(lit.querySelector(".agentlib-fresh bdi")) : "",
      values: all(".agentlib-value").map((one) => [one.closest("li").value, one.className, words(one.querySelector("bdi"))]),
      rows: all(".agentlib-history tbody tr").map((row) => words(row.querySelector(".agentlib-content > bdi"))),
      added: all(".agentlib-history tbody tr").flatMap((row, place) => (row.classList.contains("agentlib-added") ? [place] : [])),
      coming: words(root.querySelector(".agentlib-coming")),
      variables: there.map((one) => `${words(one.querySelector(".agentlib-name"))} ${words(one.querySelector("code"))}`),
      fresh: there.filter((one) => one.matches(".agentlib-fresh")).map((one) => words(one.querySelector(".agentlib-name"))),
      figures: Object.fromEntries(all("dl > div").map((one) => [words(one.querySelector("dt")), words(one.querySelector("dd"))])),
    };
  };
  const frames = Array.from({ length: Number(slider.max) }, (_, place) => place + 1);
  const forth = frames.map(read);
  return [forth, [...frames].reverse().map(read).reverse()];
}"""


def apart(function: Callable[..., Any], *given: Any) -> Any:
    """Call it in a thread of its own: the browser's driver keeps an event loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *given).result()


class Pages:
    """One browser page, into which one loop's saved page is loaded after another; each is read once."""

    def __init__(self, page: Any, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.seen: dict[str, list[list[dict[str, Any]]]] = {}

    def read(self, name: str) -> list[list[dict[str, Any]]]:
        """Every frame of a loop's page as it is read going forward, and as it is read coming back."""
        if name not in self.seen:
            path = save_page(apart(watched, name)[0], self.folder / f"{name}.html")
            self.page.goto(path.as_uri())
            self.seen[name] = self.page.evaluate(READ)
        return self.seen[name]


@pytest.fixture(scope="module")
def pages(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda problem: errors.append(str(problem)))
    yield Pages(page, tmp_path_factory.mktemp("loops"))
    page.close()
    assert errors == []


def at(pages: Pages, name: str, code: str, nth: int) -> dict[str, Any]:
    """The nth frame of a page whose lit line begins with this code."""
    return [frame for frame in pages.read(name)[0] if frame["code"].strip().startswith(code)][nth - 1]


@pytest.mark.parametrize(
    ("name", "code", "nth", "move", "caption", "value", "new"),
    SAID,
    ids=[f"{said[0]}-{said[1][:20]}-{said[2]}" for said in SAID],
)
def test_what_the_page_shows_at_a_line(
    pages: Pages, name: str, code: str, nth: int, move: str, caption: Any, value: Any, new: tuple[int, ...]
) -> None:
    frame = at(pages, name, code, nth)
    assert frame["move"] == move
    assert caption is ANY or re.sub(r"\b([Ll]ine) \d+", r"\1 N", frame["caption"]) == caption.replace("`", "")
    assert value is ANY or frame["value"] == (value or "")
    assert frame["added"] == list(new)


# The variables at the nth frame of a line, as the strip shows them; `goal` is left out, and what has just
# changed has a star. A loop made by `exec` has no lines, so its frame is counted from the first one.
VARIABLES = [
    ('plain_for', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs." | result 140'),
    ('one_line_return', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs." | result 140'),
    ('one_line_break', 'if reply["t', 3, 'max_steps 4 | *answer "140 mugs." | steps 3 | reply answer "140 mugs."'),
    ('one_line_raise', 'except Sto', 2, 'max_steps 4 | step 2 | reply answer "140 mugs." | *end StopIteration("140 mugs.")'),
    ('while_flag', 'running = F', 1, 'max_steps 99 | *running False | answer "140 mugs." | reply answer "140 mugs." | warehouse "north"'),
    ('for_flag', 'for step i', 4, 'max_steps 99 | done True | *step 3 | reply answer "140 mugs."'),
    ('while_condition', 'step += 1', 3, 'max_steps 4 | *step 3 | reply answer "140 mugs."'),
    ('recursive', 'return {"a', 1, '*max_steps 3 | *reply stock_level("north") | result 140 | *found {"answer": "140 mugs.", "stopped": "answered"}'),
    ('Agent', 'except Val', 1, 'max_steps 4 | self.budget 10 | self.spent 1 | step 0 | reply stock_level("North") | request stock_level("North") | *problem ValueError(\'Unknown warehouse "North".\')'),
    ('generator', 'reply = mo', 3, 'max_steps 4 | reply stock_level("north") | *reply in steps answer "140 mugs."'),
    ('generator_loop', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs."'),
    ('matching', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs." | result 140'),
    ('matching_shapes', 'case {"type": "a', 3, 'max_steps 4 | reply answer "140 mugs." | name "north" | *text "140 mugs."'),
    ('head_over_two_lines', 'reply = mo', 3, 'max_steps 4 | step 3 | *reply answer "140 mugs."'),
    ('long_condition', 'reply = mo', 3, 'max_steps 4 | tries 3 | *reply answer "140 mugs."'),
    ('try_finally', 'asked += 1', 3, 'max_steps 4 | *asked 3 | step 2 | reply answer "140 mugs."'),
    ('one_line_in_finally', 'log.append', 3, 'max_steps 4 | *log [3, 5, 5] | reply answer "140 mugs."'),
    ('helper_inside', 'name = rep', 2, 'max_steps 4 | step 1 | reply stock_level("north") | *name "north" | result {"error": \'Unknown warehouse "North".\'}'),
    ('helper_outside', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs."'),
    ('nested_entry', 'shaped = {', 2, 'max_steps 4 | step 1 | reply stock_level("north") | result 140 | *shaped {"role": "tool", "result": 140}'),
    ('nested_model', 'reply = mo', 3, 'max_steps 4 | reply stock_level("north") | *reply in ask answer "140 mugs."'),
    ('with_lambdas', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs."'),
    ('with_asyncio', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs." | result 140'),
    ('decorated', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs."'),
    ('dict_dispatch', 'result = t', 2, 'max_steps 4 | step 1 | reply stock_level("north") | *result 140 | end None'),
    ('dispatch_of_lambdas', '"answer": ', 2, 'max_steps 4 | reply answer "140 mugs." | *end {"answer": "140 mugs.", "stopped": "answered"}'),
    ('walrus', 'while (rep', 3, 'max_steps 4 | *reply answer "140 mugs."'),
    ('comprehension', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs." | names ["north"] | results [140]'),
    ('break_else', 'answer = N', 1, 'max_steps 2 | step 1 | reply stock_level("north") | *answer None'),
    ('early_continue', 'reply = mo', 3, 'max_steps 6 | step 3 | *reply answer "140 mugs."'),
    ('nested_loops', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs." | tries 0 | result 140'),
    ('global_state', 'reply = mo', 3, 'max_steps 4 | *reply answer "140 mugs."'),
    ('counting_coins', 'reply = mo', 3, 'max_steps 9 | budget_coins 12 | costs [1, 3, 5] | step 2 | cost 5 | *reply answer "140 mugs." | result 140'),
    ('spending', 'result = {', 1, 'max_steps 9 | max_errors 2 | spent 5 | errors 0 | reply stock_level("North") | problem ValueError(\'Unknown warehouse "North".\') | *result {"error": \'Unknown warehouse "North".\'}'),
    ('several_calls', 'reply = mo', 2, 'max_steps 4 | step 1 | *reply answer "140 mugs." | calls [{"id": "1", "tool": "stock_level", ...} (3 items), ...] (2 items) | call {"id": "2", "tool": "stock_level", "input": {"warehouse": "south"}} | result 95'),
    ('record_both_at_the_end', 'reply = mo', 3, 'max_steps 4 | _ 2 | *reply answer "140 mugs." | result 140'),
    ('returns_nothing', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs."'),
    ('crashes', 'reply = mo', 1, 'max_steps 4 | *reply stock_level("North")'),
    ('error_from_a_helper', 'name = rep', 2, 'max_steps 4 | step 1 | reply stock_level("north") | *name "north" | result {"error": \'Unknown warehouse "North".\'}'),
    ('condition_that_raises', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs."'),
    ('with_block', 'reply = mo', 3, 'max_steps 4 | notes ["North", "north"] | step 2 | *reply answer "140 mugs."'),
    ('with_state', 'state.done', 1, 'max_steps 4 | *state State(history=[{"role": "user", ...} (2 items), ...] (6 items), steps=3, done=True) | reply answer "140 mugs."'),
    ('guard_repeats', 'reply = mo', 3, 'max_steps 6 | seen {("stock_level", ...) (2 items), ("stock_level", ...) (2 items)} | step 2 | *reply answer "140 mugs." | key ("stock_level", (("warehouse", "north"),))'),
    ('asserting', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs." | result 140'),
    ('keeps_a_window', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs."'),
    ('all_on_few_lines', 'history = ', 1, 'max_steps 4 | *step 0'),
    ('inner_class', 'history.append({', 3, 'max_steps 4 | desk Desk(count=1) | reply stock_level("north") | *name "north" | *self.count 1'),
    ('values_that_cannot_be_shown', 'reply = mo', 3, 'max_steps 4 | odd Unprintable(asked=0) | big "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..." (10,000,000 characters) | ring [<the same list again>] | step 2 | *reply answer "140 mugs."'),
    ('mutual_help', 'return act', 2, 'max_steps 4 | steps_left 4 | reply stock_level("North") | steps_left in thinks 3 | reply in thinks stock_level("north") | *steps_left in acts 3 | *reply in acts stock_level("north")'),
    ('ask_behind_a_helper', 'newest = h', 3, 'max_steps 4 | step 2 | reply stock_level("north") | tries 1 | result 140 | *newest [{"role": "tool", "result": 140}, ...] (3 items)'),
    ('caught_out_of_sight', 'reply = model(history)', 3, 'max_steps 4 | *reply answer "140 mugs." | result {"error": \'Unknown warehouse "North".\'}'),
    ('raises_another', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs." | result 140'),
    ('kept_by_a_with', 'reply = mo', 3, 'max_steps 4 | step 2 | *reply answer "140 mugs." | result 140 | keeper None'),
    ('decorated_inside', 'with noted', 6, 'max_steps 4 | log ["begin ask", "end ask", "begin ask", "end ask", "begin ask"] | step 2 | *what "ask" | lines ["begin ask", "end ask", "begin ask", "end ask", "begin ask"] | reply answer "140 mugs."'),
    ('one_line_while', 'while n < ', 3, 'max_steps 3 | *n 3 | *reply answer "140 mugs."'),
    ('raises_its_own', 'raise Done', 1, 'max_steps 4 | reply answer "140 mugs." | *answer "140 mugs."'),
    ('generator_that_ends', 'except Sto', 1, 'max_steps 4 | going <generator> | *end StopIteration("140 mugs.")'),
    ('never_asks', 'spare = {"', 1, 'max_steps 4 | *spare {"left": None, "done": True}'),
    ('from_exec', '', 14, 'max_steps 4 | step 2 | *reply answer "140 mugs."'),
]  # fmt: skip


@pytest.mark.parametrize(("name", "code", "nth", "variables"), VARIABLES, ids=[one[0] for one in VARIABLES])
def test_the_variables_that_the_page_shows(
    pages: Pages, name: str, code: str, nth: int, variables: str
) -> None:
    frame = at(pages, name, code, nth)
    marked = {one.replace("*", "", 1): one.startswith("*") for one in variables.split(" | ")}
    there = [one for one in frame["variables"] if not one.startswith("goal ")]
    assert there == list(marked)
    assert [any(one.startswith(f"{name} ") for name in frame["fresh"]) for one in there] == list(
        marked.values()
    )


def test_the_tables_name_every_loop() -> None:
    assert [one[0] for one in VARIABLES] == NAMES
    assert len(NAMES) >= 45


@pytest.mark.parametrize("name", NAMES)
def test_a_frame_reads_the_same_whether_one_comes_from_before_or_from_behind(pages: Pages, name: str) -> None:
    forth, back = pages.read(name)
    assert [frame["frame"] for frame in forth] == list(range(1, len(watched(name)[1]) + 1))
    assert back == forth


@pytest.mark.parametrize("name", NAMES)
def test_every_frame_has_a_sentence_and_lights_its_line_alone(pages: Pages, name: str) -> None:
    _, told, source = watched(name)
    for read, frame in zip(pages.read(name)[0], told, strict=True):
        assert read["caption"] == frame.caption.replace("`", "")
        assert read["line"] == (frame.line if source.lines else None)
        assert len(read["rows"]) == frame.entries


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_a_watched_loop_ends_as_the_loop_does_unwatched(pages: Pages, name: str) -> None:
    returned, seen = apart(outcome, loop_of(name), name)
    end = pages.read(name)[0][-1]
    calls = [one for one in seen if isinstance(one, list)]
    assert end["figures"]["step"].split(" / ")[0] == str(len(calls))
    if isinstance(returned, dict):
        assert end["figures"]["stopped"] == returned["stopped"]
        said = f"The answer: {returned['answer']}" if returned["answer"] else "There is no answer."
        assert end["caption"].endswith(said)
    elif isinstance(returned, str) and returned.endswith(")"):  # what it raised
        assert end["figures"]["stopped"] == "crashed"
        assert returned.partition("(")[0] in end["caption"]
    else:
        assert end["figures"]["stopped"] == "returned"
        assert ("returned None" if returned is None else str(returned)) in end["caption"]
