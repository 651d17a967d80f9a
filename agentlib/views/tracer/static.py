"""The tracer without widgets: code, frames and history as tables, in HTML and in plain text."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from agentlib.trace import Trace
from agentlib.views.describe import counted, visible
from agentlib.views.frames import Frame, frames, notice, source_of, tokens_per_call
from agentlib.views.lanes import lanes_table
from agentlib.views.shown import (
    Shown,
    TableCell,
    bold,
    caption_html,
    folded,
    joined_html,
    static_html,
    table,
    tag,
)  # fmt: skip
from agentlib.views.tables import figures, history_cells
from agentlib.views.tracer.predict import choices, open_frames
from agentlib.watch.source import Source

__all__ = ["static_tracer", "summary"]

FIRST_ROWS, LAST_ROWS = 45, 15
"""A long run is shown by its first and last frames and entries; those between are counted."""

Row = TypeVar("Row")


def static_tracer(
    traces: Mapping[str, Trace],
    *,
    predict: bool = False,
    title: str = "All frames as a table",
    start: int = 0,
    wanted: str = "",
) -> Shown:
    """Show whole traces at once: the code with its line numbers, every frame, the history at the end.

    traces: names and traces; one alone has the name "".
    predict: the end is folded, with a question before it. title: what the folded tables are called.
    start: the frame to look at first; 0 = none. wanted: what had to come.
    """
    shown = [_one(trace, label, predict) for label, trace in traces.items()]
    if wanted:
        words = f"Wanted: {wanted}"
        if start:
            words = f"{words}. Look at frame {start}."
        shown.insert(0, Shown(tag("p", caption_html(words)), words))
    page = static_html(title, *(one.html for one in shown))
    return Shown(page, "\n\n\n".join(one.text for one in shown))


def _one(trace: Trace, label: str, predict: bool) -> Shown:
    all_frames = frames(trace)
    title = f"{visible(label)}: trace of {_name(trace)}" if label else f"Trace of {_name(trace)}"
    source = source_of(trace)
    numbered = numbered_lines(source)
    page = [tag("p", bold(title))]
    if numbered:
        page.append(tag("pre", "\n".join(numbered), tabindex="0", aria_label="The code of the loop"))
    text = [title, *numbered, ""]
    rest, with_lines = all_frames, bool(source.lines)
    if predict and all_frames:
        seen = open_frames(all_frames)
        first, rest = all_frames[:seen], all_frames[seen:]
        heads, rows, _ = frame_rows(first, with_lines=with_lines)
        start = table(f"What happens at first, {counted(len(first), 'frame')}", heads, rows)
        question = f"How will this run end? {', '.join(choices(trace))}: pick one before you read on."
        page += [start.html, tag("p", question)]
        text += [start.text, "", question, ""]
    end = _frames_and_end(trace, all_frames, rest, with_lines)
    page.append(folded("Show how it ends", end.html) if predict and all_frames else end.html)
    return Shown(joined_html(*page), "\n".join([*text, end.text]))


def _frames_and_end(
    trace: Trace, all_frames: Sequence[Frame], shown: Sequence[Frame], with_lines: bool
) -> Shown:
    """Show some of the frames, the history at the end and the summary."""
    heads, rows, left_out = frame_rows(shown, with_lines=with_lines)
    happens = table(f"What happens, {counted(len(shown), 'frame')}{left_out}", heads, rows)
    history = history_cells(list(all_frames[-1].history), all_frames[-1].repeats) if all_frames else []
    title = f"History at the end: {counted(len(history), 'entry', 'entries')}"
    history, left_out = _ends(history)
    title += left_out
    stands = table(title, ("#", "who", "content"), history)
    at_once = dict.fromkeys((frame.step, frame.lanes) for frame in all_frames if frame.lanes)
    lanes = [lanes_table(step, ran) for step, ran in _ends(list(at_once))[0]]
    parts = [happens, *lanes, stands]
    end = summary(trace)
    return Shown(
        joined_html(*(part.html for part in parts), tag("p", caption_html(end))),
        "\n\n".join([*(part.text for part in parts), end]),
    )


def numbered_lines(source: Source) -> list[str]:
    """Give the lines of a loop, each after its number."""
    wide = len(str(source.first_line + len(source.lines)))
    return [
        f"{number:>{wide}}  {visible(text)}".rstrip()
        for number, text in enumerate(source.lines, start=source.first_line)
    ]


def frame_rows(frames: Sequence[Frame], with_lines: bool) -> tuple[list[str], list[list[TableCell]], str]:
    """Make the table of frames: heads, rows, and words for what was left out of a long one."""
    first = ["frame", "line"] if with_lines else ["frame"]
    heads = [*first, "step", "entries", "tokens read", "move", "what happens"]
    shown, left_out = _ends(list(frames))
    rows = []
    for frame in shown:
        step = f"{frame.step}/{frame.max_steps}" if frame.max_steps else str(frame.step)
        line = ["" if frame.line is None else str(frame.line)] if with_lines else []
        numbers = [str(frame.number), *line, step, str(frame.entries), f"{frame.tokens_read:,}"]
        cells = [TableCell(text, number=True) for text in numbers]
        rows.append([*cells, _move(frame), TableCell(frame.caption, code=True)])
    return heads, rows, left_out


def _ends(rows: list[Row]) -> tuple[list[Row], str]:
    """Give the first and the last rows of a long table, and words for those between."""
    if len(rows) <= FIRST_ROWS + LAST_ROWS:
        return rows, ""
    left_out = f" ({len(rows) - FIRST_ROWS - LAST_ROWS:,} in the middle are left out)"
    return [*rows[:FIRST_ROWS], *rows[-LAST_ROWS:]], left_out


def _move(frame: Frame) -> TableCell:
    """Name the move of a frame and its sign; beside the four moves, the sign alone."""
    if not frame.move:
        return TableCell(frame.mark, move=bool(frame.mark))
    return TableCell(frame.move, (frame.mark,) if frame.mark else (), move=True)


def summary(trace: Trace) -> str:
    """Say in a few words how a run ended and what it took."""
    run = figures(trace)
    of = f" of at most {trace.about['max_steps']}" if trace.about.get("max_steps") else ""
    sentences = [
        f"Stopped: {run.stopped or 'the trace ends before the run does'}.",
        f"{counted(run.steps or 0, 'step')}{of}, {counted(run.entries, 'entry', 'entries')}, "
        f"{counted(run.tool_runs or 0, 'tool run')}, {counted(run.errors or 0, 'error')}, "
        f"{counted(sum(tokens_per_call(trace)), 'token')} read.",
        _answer(trace) if run.answer is None else f"Answer: {visible(str(run.answer))[:500]}",
        notice(trace),
    ]
    return " ".join(filter(None, sentences))


def _answer(trace: Trace) -> str:
    """Say that there is no answer; a loop may give back the model's answer in a shape of its own."""
    last = (trace.replies() or [{}])[-1]
    if last.get("type") != "answer":
        return "No answer."
    return f"The model's last reply was an answer: {visible(str(last.get('text')))[:500]}"


def _name(trace: Trace) -> str:
    if trace.about.get("call"):
        return f"your function {trace.about['function']}"
    return f"your loop {trace.about['function']}" if trace.about.get("function") else "a run"
