"""The tracer without a browser's help: code, frames and history as tables, in HTML and in plain text."""

import html
from collections.abc import Sequence

from agentlib.trace import Trace
from agentlib.views.frames import Frame, tokens_per_call
from agentlib.views.shown import Cell, Shown, caption_html, html_table, text_table
from agentlib.views.source import Source
from agentlib.views.tables import figures, history_cells
from agentlib.views.words import counted, visible

__all__ = ["static_form", "summary"]

FIRST_FRAMES, LAST_FRAMES = 45, 15
"""A long run is shown by its first and last frames; those between are counted."""


def static_form(trace: Trace, frames: Sequence[Frame], title: str = "") -> Shown:
    """Show a whole trace at once: the code with its line numbers, every frame, the history at the end."""
    title = title or f"Trace of {_name(trace)}"
    end = summary(trace)
    source = Source(str(trace.about.get("source") or ""), int(trace.about.get("first_line") or 1))
    numbered = numbered_lines(source)
    heads, rows, left_out = frame_rows(frames, with_lines=bool(source.lines))
    what = f"What happens, {counted(len(frames), 'frame')}{left_out}"
    history = history_cells(list(frames[-1].history), frames[-1].repeats) if frames else []
    then = f"History at the end: {counted(len(history), 'entry', 'entries')}"
    columns = ("#", "who", "content")
    code_html = (
        f'<pre aria-label="The code of the loop">{html.escape(chr(10).join(numbered))}</pre>'
        if numbered
        else ""
    )
    as_html = (
        f'<div class="agentlib-static"><p><strong>{html.escape(title)}</strong></p>{code_html}'
        f"<details open><summary>{html.escape(what)}</summary>{html_table(what, heads, rows)}</details>"
        f"{html_table(then, columns, history)}<p>{caption_html(end)}</p></div>"
    )
    parts = [
        title,
        *numbered,
        "",
        text_table(what, heads, rows),
        "",
        text_table(then, columns, history),
        "",
        end,
    ]
    return Shown(as_html, "\n".join(parts))


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
