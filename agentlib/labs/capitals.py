"""Capitals: the capital of the most populous country in a list, found one small question at a time.

What must come out: New Delhi, answered in 7 steps (the list, four populations, the capital, the answer),
with 6 tool runs, 14 history entries and 49 coins. With `max_steps=4` there is no answer, the reason is
"step limit", and 3 of the 4 populations are known.
"""

from agentlib.errors import ToolError
from agentlib.labs._reading import last_note
from agentlib.messages import Entry, answer, ask, exchanges
from agentlib.models import RuleModel

__all__ = [
    "CAPITALS",
    "GOAL",
    "POPULATIONS",
    "TOOLS",
    "capital_of",
    "known_populations",
    "known_so_far",
    "list_countries",
    "model",
    "population_of",
]

GOAL = "What is the capital of the most populous country in the list?"

POPULATIONS = {"Brazil": 212, "India": 1451, "Japan": 124, "Nigeria": 233}
"""Millions of people in 2024, rounded. Source: United Nations, World Population Prospects 2024."""

CAPITALS = {"Brazil": "Brasília", "India": "New Delhi", "Japan": "Tokyo", "Nigeria": "Abuja"}


def list_countries() -> list[str]:
    """List the countries that the other two tools know."""
    return list(POPULATIONS)


def population_of(country: str) -> Entry:
    """Tell how many million people live in one country."""
    _check(country)
    return {"country": country, "population_millions": POPULATIONS[country]}


def capital_of(country: str) -> Entry:
    """Tell the capital of one country."""
    _check(country)
    return {"country": country, "capital": CAPITALS[country]}


def _check(country: str) -> None:
    if country not in POPULATIONS:
        raise ToolError(
            f'Unknown country "{country}". list_countries shows the names to use.', code="not_found"
        )


TOOLS = {"list_countries": list_countries, "population_of": population_of, "capital_of": capital_of}


def known_populations(history: list[Entry]) -> dict[str, int]:
    """Read from a history, finished or not, which populations are known by now, in millions of people."""
    return {
        done.result["country"]: done.result["population_millions"]
        for done in exchanges(history)
        if isinstance(done.result, dict) and "population_millions" in done.result
    }


def known_so_far(history: list[Entry]) -> str:
    """Say in words how far a run has come."""
    return f"{len(known_populations(history))} of {len(POPULATIONS)} populations known"


def model() -> RuleModel:
    """Make a fresh model for one run: it asks for what is missing, and answers when nothing is."""
    return RuleModel(_heed_a_note, _ask_for_the_list, _ask_for_a_population, _ask_for_the_capital, _answer)


def _heed_a_note(history: list[Entry]) -> Entry | None:
    """Answer with what is known, and say what is missing, when the loop has asked for that."""
    if not last_note(history):
        return None
    known, countries = known_populations(history), _countries(history)
    if not known:
        return answer("I do not know any population yet.")
    largest = max(known, key=known.__getitem__)
    missing = [country for country in countries if country not in known]
    return answer(
        f"Not finished. I know {len(known)} of {len(countries)} populations; the largest is {largest} "
        f"with {known[largest]} million. Missing: {', '.join([*missing, 'the capital'])}."
    )


def _ask_for_the_list(history: list[Entry]) -> Entry | None:
    return None if _countries(history) else ask("list_countries")


def _ask_for_a_population(history: list[Entry]) -> Entry | None:
    known = known_populations(history)
    missing = [country for country in _countries(history) if country not in known]
    return ask("population_of", country=missing[0]) if missing else None


def _ask_for_the_capital(history: list[Entry]) -> Entry | None:
    known = known_populations(history)
    return None if _capital(history) else ask("capital_of", country=max(known, key=known.__getitem__))


def _answer(history: list[Entry]) -> Entry:
    known = known_populations(history)
    largest = max(known, key=known.__getitem__)
    return answer(f"{_capital(history)}. {largest} has the most people: {known[largest]} million.")


def _countries(history: list[Entry]) -> list[str]:
    lists = [done.result for done in exchanges(history) if done.tool == "list_countries"]
    return list(lists[-1]) if lists and isinstance(lists[-1], list) else []


def _capital(history: list[Entry]) -> str:
    found = [
        done.result["capital"]
        for done in exchanges(history)
        if isinstance(done.result, dict) and "capital" in done.result
    ]
    return str(found[-1]) if found else ""
