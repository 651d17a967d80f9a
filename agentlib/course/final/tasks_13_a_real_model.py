"""Tasks of lesson 13: what providers send, and what becomes of it."""

import json
from random import Random
from typing import Any

from agentlib import run_agent
from agentlib.course.final.task import FinalTask, Played, choose, mend
from agentlib.messages import answer
from agentlib.providers import anthropic, openai


def shown_whose_tokens(rng: Random) -> FinalTask:
    """Show the usage of a response, and ask what was read anew."""
    fresh, cached, written = rng.randint(2, 9) * 10, rng.randint(11, 40) * 10, rng.randint(5, 30)
    is_chat = rng.random() < 0.5
    if is_chat:
        body: dict[str, Any] = {
            "choices": [{"finish_reason": "stop", "message": {"content": "140"}}],
            "usage": {
                "prompt_tokens": fresh + cached,
                "completion_tokens": written,
                "prompt_tokens_details": {"cached_tokens": cached},
            },
        }
        usage = openai.reply_from(body)["usage"]
    else:
        body = {
            "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "140"}],
            "usage": {"input_tokens": fresh, "cache_read_input_tokens": cached, "output_tokens": written},
        }
        usage = anthropic.reply_from(body)["usage"]
    anew = usage["input_tokens"] - usage["cached_tokens"]
    whose = "Chat Completions (OpenAI)" if is_chat else "Messages (Anthropic)"
    why = (
        "This interface counts the cached tokens into `prompt_tokens`: take them off."
        if is_chat
        else "This interface counts apart: `input_tokens` is already what was read anew."
    )
    wrong = [
        (str(fresh + cached), "That is all that was read, the cached tokens among them."),
        (str(cached), "These came from the cache, at a lower price."),
        (str(abs(fresh - cached)), "That takes the cached tokens off once too often."),
        (str(anew + written), "What was written is counted and paid for by itself."),
    ]
    text = f"A response in the shape of {whose}. How many tokens were read anew, not from the cache?"
    return choose(rng, text, json.dumps(body["usage"], indent=1), (str(anew), why), wrong, "response-words")


def shown_half_a_request(rng: Random) -> FinalTask:
    """Show a response, cut off or whole, and ask what a good loop makes of it."""
    place = rng.choice(["north", "south", "harbour", "station"])
    whole = json.dumps({"warehouse": place})
    is_cut = rng.random() < 0.6
    arguments = whole[: rng.randint(len(whole) - 5, len(whole) - 3)] if is_cut else whole
    call = {"id": "call_1", "type": "function", "function": {"name": "stock_level", "arguments": arguments}}
    body = {
        "choices": [
            {
                "finish_reason": "length" if is_cut else "tool_calls",
                "message": {"content": None, "tool_calls": [call]},
            }
        ]
    }
    run = run_agent(
        Played(openai.reply_from(body), answer("?")), {"stock_level": lambda warehouse: 140}, "goal", 5
    )
    error = "not run, the model reads an error"
    runs = f"run with {json.dumps(place)}"
    right = (
        (runs, "The text is whole JSON: it is read into a dict, and the tool runs.")
        if run.tool_runs
        else (
            error,
            "Half a request is not guessed to its end. The model reads what was wrong and can ask again.",
        )
    )
    wrong = [
        (runs, "The text ends in the middle. Whoever completes it guesses what was meant."),
        (error, "Nothing is wrong with it: `arguments` is text that holds JSON, so it is read first."),
        (
            f"run with {json.dumps(arguments)}",
            "Text that holds JSON has to be read first; the tool wants the warehouse.",
        ),
        (
            "run with no warehouse at all",
            "The tool needs one. A request without its input is answered with an error.",
        ),
    ]
    return choose(
        rng,
        "What becomes of this request in the course's loop?",
        json.dumps(body["choices"][0], indent=1),
        right,
        wrong,
        "break-words",
    )


def repair_the_adapter(rng: Random) -> FinalTask:
    """Show an adapter that passes text on as a dict."""
    tool = rng.choice(["stock_level", "price_of", "weather_in"])
    poor = rng.choice(
        [
            'call["function"]["arguments"]',
            'dict(text=call["function"]["arguments"])',
            'str(call["function"]["arguments"])',
        ]
    )
    code = f"""
import json

def requests(message):
    found = []
    for call in message["tool_calls"]:
        given = {poor}
        found.append({{"id": call["id"], "tool": call["function"]["name"], "input": given}})
    return found
"""

    def judge(names: dict[str, Any]) -> str:
        inputs = [{"place": "north", "n": 3}, {}, {"whole": True, "until": None}]
        calls = [
            {"id": f"call_{n}", "type": "function", "function": {"name": tool, "arguments": json.dumps(each)}}
            for n, each in enumerate(inputs)
        ]
        came = names["requests"]({"tool_calls": calls})
        wanted = [{"id": f"call_{n}", "tool": tool, "input": each} for n, each in enumerate(inputs)]
        return "" if came == wanted else f"It gave {came}, and should give {wanted}."

    return mend(
        f'In this interface `arguments` is text: `{{"place": "north"}}` between quotes. The loop wants a dict to hand to `{tool}`. '
        "Mend one line.",
        code, (6, 'given = json.loads(call["function"]["arguments"])'),
        "The text holds JSON. Read once, it is the dict that the tool's arguments come from.", judge, "response-words",
    )  # fmt: skip
