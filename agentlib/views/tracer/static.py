"""The tracer without a browser's help: code, frames and history as tables, in HTML and in plain text."""

import html
from collections.abc import Mapping, Sequence

from agentlib.trace import Trace
from agentlib.views.describe import counted, visible
from agentlib.views.frames import Frame, frames, tokens_per_call
from agentlib.views.shown import Cell, Shown, caption_html, html_table, text_table
from agentlib.views.tables import figures, history_cells
from agentlib.views.tracer.predict import choices, open_frames
from agentlib.watch.source import Source

__all__ = ["static_form", "summary"]

FIRST_FRAMES, LAST_FRAMES = 45, 15
"""A long run is shown by its first and last frames; those between are counted."""


def static_form(
    traces: Mapping[str, Trace], *, predict: bool = False, title: str = "All frames as a table"
) -> Shown:
    """Show whole traces at once: the code with its line numbers, every frame, the history at the end.

    traces: names and traces; one alone has the name "".
    predict: the end is folded, with a question before it. title: what the folded tables are called.
    """
    shown = [_one(trace, label, predict) for label, trace in traces.items()]
    return Shown(
        f'<details open class="agentlib-static"><summary>{html.escape(title)}</summary>'
        + "".join(one.html for one in shown)
        + "</details>",
        "\n\n\n".join(one.text for one in shown),
    )


def _one(trace: Trace, label: str, predict: bool) -> Shown:
    told = frames(trace)
    title = f"{visible(label)}: trace of {_name(trace)}" if label else f"Trace of {_name(trace)}"
    source = Source(str(trace.about.get("source") or ""), int(trace.about.get("first_line") or 1))
    numbered = numbered_lines(source)
    lines = html.escape("\n".join(numbered))
    code_html = f'<pre tabindex="0" aria-label="The code of the loop">{lines}</pre>' if numbered else ""
    head = f"<p><strong>{html.escape(title)}</strong></p>{code_html}"
    if not predict or not told:
        rest = _frames_and_end(trace, told, told, bool(source.lines))
        return Shown(head + rest.html, "\n".join([title, *numbered, "", rest.text]))
    open_part = told[: open_frames(told)]
    heads, rows, _ = frame_rows(open_part, with_lines=bool(source.lines))
    what = f"What happens at first, {counted(len(open_part), 'frame')}"
    question = f"How will this run end? {', '.join(choices(trace))}: pick one before you read on."
    rest = _frames_and_end(trace, told, told[len(open_part) :], bool(source.lines))
    return Shown(
        f"{head}{html_table(what, heads, rows)}<p>{html.escape(question)}</p>"
        f"<details><summary>Show how it ends</summary>{rest.html}</details>",
        "\n".join([title, *numbered, "", text_table(what, heads, rows), "", question, "", rest.text]),
    )


def _frames_and_end(trace: Trace, told: Sequence[Frame], shown: Sequence[Frame], with_lines: bool) -> Shown:
    """Show some of the frames, the history at the end and the summary."""
    heads, rows, left_out = frame_rows(shown, with_lines=with_lines)
    what = f"What happens, {counted(len(shown), 'frame')}{left_out}"
    history = history_cells(list(told[-1].history), told[-1].repeats) if told else []
    then = f"History at the end: {counted(len(history), 'entry', 'entries')}"
    columns = ("#", "who", "content")
    end = summary(trace)
    return Shown(
        f"{html_table(what, heads, rows)}{html_table(then, columns, history)}<p>{caption_html(end)}</p>",
        "\n".join([text_table(what, heads, rows), "", text_table(then, columns, history), "", end]),
    )


def numbered_lines(source: Source) -> list[str]:
    """Give the lines of a loop with their numbers before them."""
    wide = len(str(source.first_line + len(source.lines)))
    return [
        f"{number:>{wide}}  {visible(text)}".rstrip()
        for number, text in enumerate(source.lines, start=source.first_line)
    ]


def frame_rows(frames: Sequence[Frame], with_lines: bool) -> tuple[list[str], list[list[Cell]], str]:
    """Make the table of frames: heads, rows, and words for what was left out of a long one."""
    heads = ["frame", *(["line"] if with_lines else []), "step", "entries", "tokens read", "what happens"]
    shown, left_out = list(frames), ""
    if len(frames) > FIRST_FRAMES + LAST_FRAMES:
        shown = [*frames[:FIRST_FRAMES], *frames[-LAST_FRAMES:]]
        left_out = f" ({len(frames) - len(shown):,} in the middle are left out)"
    rows = []
    for frame in shown:
        step = f"{frame.step}/{frame.max_steps}" if frame.max_steps else str(frame.step)
        row = [Cell(f"{frame.number}", number=True)]
        if with_lines:
            row.append(Cell("" if frame.line is None else str(frame.line), number=True))
        row += [Cell(step, number=True), Cell(f"{frame.entries}", number=True)]
        rows.append([*row, Cell(f"{frame.tokens_read:,}", number=True), Cell(frame.caption, code=True)])
    return heads, rows, left_out


def summary(trace: Trace) -> str:
    """Say in a few words how a run ended and what it took."""
    told = figures(trace)
    of = f" of at most {trace.about['max_steps']}" if trace.about.get("max_steps") else ""
    said = [
        f"Stopped: {told.stopped or 'the trace ends before the run does'}.",
        f"{counted(told.steps or 0, 'step')}{of}, {counted(told.entries, 'entry', 'entries')}, "
        f"{counted(told.tool_runs or 0, 'tool run')}, {counted(told.errors or 0, 'error')}, "
        f"{counted(sum(tokens_per_call(trace)), 'token')} read.",
        "No answer." if told.answer is None else f"Answer: {visible(str(told.answer))[:500]}",
    ]
    return " ".join(said)


def _name(trace: Trace) -> str:
    return f"your loop {trace.about['function']}" if trace.about.get("function") else "a run"
