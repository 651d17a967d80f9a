"""Weather: one question, one tool, and a model that asks once and then answers.

What must come out: "Do I need to carry water in Chennai today?" is answered in 2 steps, with 1 tool run
and 4 history entries. `looping_model()` asks for Mumbai at every call and never answers, so any limit of n
ends it after n steps with 1 + 2n entries.
"""

import re
from typing import Any

from agentlib.messages import Entry, answer, ask, error_text
from agentlib.models import LoopingModel, RuleModel

__all__ = ["GOAL", "TOOLS", "WEATHER", "looping_model", "model", "weather_in"]

GOAL = "Do I need to carry water in Chennai today?"
WEATHER = {"Shimla": "12 C and clear", "Chennai": "34 C and humid"}

WARM_CELSIUS = 25
"""From this temperature on, in degrees Celsius, the model says that water is needed. Our own choice."""


def weather_in(city: str) -> str:
    """Tell today's weather in one city: "Shimla" or "Chennai"."""
    if city not in WEATHER:
        raise ValueError(f'Unknown city "{city}". Known: {", ".join(WEATHER)}.')
    return WEATHER[city]


TOOLS = {"weather_in": weather_in}


def model() -> RuleModel:
    """Make a fresh model for one run: it asks for the weather in the city of the goal, then answers."""
    return RuleModel(_ask_for_the_weather, _answer_from_the_result)


def looping_model() -> LoopingModel:
    """Make a model that asks for the weather in Mumbai at every call, whatever it has read."""
    return LoopingModel("weather_in", city="Mumbai")


def _ask_for_the_weather(history: list[Entry]) -> Entry | None:
    """Ask once; with a result in the history, leave it to the next rule."""
    if _results(history):
        return None
    city = _city(history)
    return ask("weather_in", city=city) if city else answer("Please name a city: in which city is it?")


def _answer_from_the_result(history: list[Entry]) -> Entry:
    result = _results(history)[-1]
    problem = error_text(result)
    degrees = re.match(r"(-?\d+) C\b", str(result))
    if problem is not None or degrees is None:
        return answer(f"I do not know the weather. {problem or result}")
    needed = int(degrees[1]) >= WARM_CELSIUS
    advice = "Yes, carry water." if needed else "No, you can do without."
    return answer(f"{advice} It is {result} in {_city(history)}.")


def _results(history: list[Entry]) -> list[Any]:
    # A hand-written loop may leave out everything of an entry but the result itself.
    return [entry["result"] for entry in history if "result" in entry]


def _city(history: list[Entry]) -> str:
    found = re.search(r"\bin ([A-Z]\w*)", str(history[0]["text"]))
    return found[1] if found else ""
