"""The tasks of lesson 05: what is read in all, a text that is too long, and what a cache can give."""

from agentlib.course.quick_checks.task import SmallTask, Words, Wrong, call


def total_read(steps: int, tokens_per_step: int) -> int:
    """Add up what all calls read; `costs.tokens_read_total` has the formula."""
    return sum(tokens_per_step * call for call in range(1, steps + 1))


def shorten(text: str, max_chars: int) -> str:
    """Keep both ends of a text that is too long."""
    if len(text) <= max_chars:
        return text
    half = (max_chars - len(" ... ")) // 2  # from 7 characters on there is something at both ends
    return f"{text[:half]} ... {text[-half:]}"


def same_beginning(before: list[object], now: list[object]) -> int:
    """Count the entries at the beginning that are the same."""
    count = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            break
        count += 1
    return count


LOG = f"START {'.' * 60} END"
SHORT = "START 4 lines END"


def _ends(text: str) -> str:
    """Say of a shortened log what counts; where exactly it is cut does not."""
    size = "at most 40" if len(text) <= 40 else f"{len(text)}"
    middle = "with" if " ... " in text else "without"
    return f"{size} characters, from {text[:5]!r} to {text[-3:]!r}, {middle} ' ... '"


TASKS = (
    SmallTask(
        name="05 total read",
        ours=total_read,
        cases=(
            call(1, 80, hint="One call reads one portion"),
            call(3, 100, hint="100 + 200 + 300: call 3 counts too"),
            call(40, 250, hint="Each call reads all the earlier portions again"),
        ),
        wrong=(
            Wrong("steps + 1", "steps", "for (1, 80), it gave 0, not 80"),
            Wrong("tokens_per_step * call", "tokens_per_step", "for (3, 100), it gave 300, not 600"),
            Wrong("tokens_per_step * call", "500 * call", "for (1, 80), it gave 500, not 80"),
            Wrong("sum(", "max(", "for (3, 100), it gave 300, not 600"),
        ),
    ),
    SmallTask(
        name="05 shorten",
        ours=shorten,
        cases=(
            call(SHORT, 40, hint="A text that fits stays as it is", said="for a text that fits"),
            call(SHORT, len(SHORT), hint="Exactly max_chars still fits", said="for a text that just fits"),
            call(LOG, 40, look=_ends, said="for 70 characters and max_chars=40"),
            call(
                LOG,
                7,
                look=lambda text: Words(f"{len(text)} characters, from {text[:1]!r} to {text[-1:]!r}"),
                hint="One character of each end, and ` ... ` between",
                said="for 70 characters and max_chars=7",
            ),
            call(
                LOG + "!",
                40,
                look=lambda text: text[-1:],
                hint="The last character too",
                said="for another end",
            ),
        ),
        wrong=(
            Wrong("text[-half:]", '""', "from 'START' to 'END'"),
            Wrong("<= max_chars", "< max_chars", "for a text that just fits"),
            Wrong("(max_chars - 5) // 2", "max_chars // 2", "45 characters, from"),
            Wrong("(max_chars - 5) // 2", "10", "for 70 characters and max_chars=7, it gave 25 characters"),
            Wrong('" ... "', '"..."', "without ' ... '"),
        ),
    ),
    SmallTask(
        name="05 same beginning",
        ours=same_beginning,
        cases=(
            call(["a", "b"], ["a", "b", "c"]),
            call(["clock 1", "a", "b"], ["clock 2", "a", "b", "c"], hint="The first change ends it"),
            call(["a", "b", "c"], ["a", "x", "c", "d"], hint="What stands behind a change is read anew"),
            call([], ["a"]),
            call(["a", "b"], ["a"], hint="The history may have become shorter, as with a summary"),
            call(["a", "a", "b"], ["a", "b", "a"], hint="Compare place by place"),
        ),
        wrong=(
            Wrong("break", "continue", "it gave 2, not 0"),
            Wrong("count += 1", "count = 1", "for (['a', 'b'], ['a', 'b', 'c']), it gave 1, not 2"),
            Wrong("old != new", "old not in now", "Compare place by place"),
            Wrong(
                "zip(before, now)",
                "[(old, now[at]) for at, old in enumerate(before)]",
                "it raised IndexError",
            ),
        ),
    ),
)
