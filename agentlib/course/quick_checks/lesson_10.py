"""The tasks of lesson 10: a wrong limit, what is new in what was found, and what stands in a note."""

from collections.abc import Sequence

from agentlib.course.quick_checks.task import SmallTask, Words, Wrong, call


def check_limit(max_steps: object) -> None:
    """Refuse a limit that is no whole number from 1 up."""
    if type(max_steps) is not int or max_steps < 1:
        raise ValueError(f"max_steps is a whole number from 1 up, but was {max_steps!r}.")


def count_passages(results: Sequence[str]) -> int:
    """Count the different passages that were found."""
    return len({result.split("]")[0] for result in results if result.startswith("[")})


def note_is_right(text: str | None) -> bool:
    """Tell whether a note has three sentences, each with a source."""
    return text is not None and text.count(".") == 3 and text.count("[") == 3


def _problem(problem: object) -> str:
    """Say of which kind an error is."""
    return Words("ValueError" if isinstance(problem, ValueError) else type(problem).__name__)


NOTE = "Wait first [retry-wait]. Try at most three times [retry-limit]. Pay once [retry-safe]."

TASKS = (
    SmallTask(
        name="10 check limit",
        ours=check_limit,
        cases=(
            call(1, look=lambda value: "no error", hint="1 is allowed"),
            call(25, look=lambda value: "no error"),
            call(0, look=_problem, raises=True),
            call(-3, look=_problem, raises=True),
            call(2.5, look=_problem, raises=True, hint="It is no whole number"),
            call(
                "4",
                look=_problem,
                raises=True,
                said='for the text "4"',
                hint="Look at the type first, then at the size",
            ),
            call(True, look=_problem, raises=True, hint="isinstance(True, int) is True; type(True) is bool"),
            call(None, look=_problem, raises=True, hint="No limit at all is no whole number"),
        ),
        wrong=(
            Wrong("type(max_steps) is not int", "not isinstance(max_steps, int)", "for (True)"),
            Wrong("< 1", "< 0", "for (0)"),
            Wrong("type(max_steps) is not int or ", "", "for (2.5)"),
            Wrong("< 1", "< 2", "for (1), it raised ValueError"),
            Wrong("raise ValueError", "raise TypeError", "it raised TypeError, not ValueError"),
            Wrong("raise ValueError", "print", "it raised nothing and gave None"),
            Wrong(
                "type(max_steps) is not int or",
                "max_steps is not None and type(max_steps) is not int or",
                "for (None)",
            ),
        ),
    ),
    SmallTask(
        name="10 count passages",
        ours=count_passages,
        cases=(
            call(["[cups] Blue.", "[retry-wait] Wait.", "[cups] Blue."]),
            call(["[a] One.", "[a] One.", "[a] One."], hint="The same passage again is nothing new"),
            call(["[a] One.", 'Nothing found for "b".'], hint="Nothing found is no passage"),
            call(
                ["[a] One.", 'Nothing found for "[b]".'], hint="Its bracket does not stand at the beginning"
            ),
            call(["[tea-pot] A.", "[tea-cup] B.", "[tea] C."], hint="The whole name, up to the bracket"),
            call(["[a] One.", "[a] Two."], hint="It is the name in brackets that tells passages apart"),
            call(["[a] One. [b] is another."], hint="The name at the beginning is the passage's"),
            call([]),
        ),
        wrong=(
            Wrong(' if result.startswith("[")', "", "for (['[a] One.', 'Nothing found for \"b\".'])"),
            Wrong('result.startswith("[")', '"[" in result', "Its bracket does not stand at the beginning"),
            Wrong('result.split("]")[0]', "result", "It is the name in brackets"),
            Wrong('result.split("]")[0]', "result[:4]", "The whole name, up to the bracket"),
        ),
    ),
    SmallTask(
        name="10 note is right",
        ours=note_is_right,
        cases=(
            call(NOTE, said="for three sentences with a source each"),
            call(None, said="for a file that is not there"),
            call("Wait first [retry-wait].", said="for one sentence"),
            call(f"{NOTE} So do it.", said="for four sentences", hint="Three, and no more"),
            call(NOTE.replace(" [retry-limit]", ""), said="for a sentence without a source"),
            call("", said="for an empty file"),
            call(
                NOTE.replace("first [", "first [retry-safe] ["),
                said="for a sentence with two sources",
                hint="Three brackets, and no more",
            ),
        ),
        wrong=(
            Wrong("text is not None and ", "", "for a file that is not there, it raised AttributeError"),
            Wrong('(".") == 3', '(".") >= 3', "for four sentences"),
            Wrong(' and text.count("[") == 3', "", "for a sentence without a source"),
            Wrong('("[") == 3', '("[") >= 3', "Three brackets, and no more"),
            Wrong('text.count(".") == 3 and ', "", "for four sentences"),
        ),
    ),
)
