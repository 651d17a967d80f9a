"""The recipes of lesson 14: plain code around the library, each with what may go wrong in it.

A recipe stands here as the lesson shows it; only what it is tried with is different.
"""

import asyncio
import re
import sys
from collections import Counter
from contextlib import ExitStack
from functools import partial

import pytest
from anyio.from_thread import start_blocking_portal  # comes with JupyterLab, and with mcp
from pydantic import BaseModel, Field

from agentlib import Tool, answer, ask, ask_together, run_agent, stops
from agentlib.costs import estimate_tokens
from agentlib.errors import ToolError
from agentlib.labs import blue_mugs
from agentlib.models import LoopingModel, ScriptedModel
from agentlib.providers import anthropic, openai

# --- a last answer in a given shape ------------------------------------------------------------------


class Refund(BaseModel):
    order: str = Field(pattern=r"^\d{4}$")
    amount_eur: float = Field(gt=0, le=500)
    reason: str


def run_in_shape(model, tools, goal):
    given = []

    def finish(refund: Refund) -> str:
        """Give the final answer in this shape. The run ends with it."""
        given.append(refund)
        return "Taken."

    run = run_agent(model, [*tools, finish], goal, stops=stops.ToolCalled("finish"))
    return run, given[0] if given else None


RIGHT = {"order": "1043", "amount_eur": 19.5, "reason": "broken"}


def test_a_last_answer_comes_in_the_shape_that_was_asked_for():
    run, refund = run_in_shape(ScriptedModel([ask("finish", refund=RIGHT)]), [], "Decide on order 1043.")
    assert (run.stopped, run.steps) == ("tool called", 1)
    assert refund == Refund(**RIGHT)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [({**RIGHT, "amount_eur": 900}, "500"), ({"order": "1043"}, "amount_eur"), ("1043, 19.50", "refund")],
)
def test_a_shape_that_is_wrong_is_a_message_to_the_model_and_the_run_goes_on(wrong, word):
    replies = [ask("finish", refund=wrong), ask("finish", refund=RIGHT)]
    run, refund = run_in_shape(ScriptedModel(replies), [], "Decide on order 1043.")
    refused = run.history[2]["result"]
    assert refused["error"] == "invalid_input"
    assert word in refused["message"]
    assert (run.stopped, run.errors, refund) == ("tool called", 1, Refund(**RIGHT))


def test_an_answer_in_words_alone_leaves_no_shape():
    run, refund = run_in_shape(ScriptedModel([answer("19.50, I think.")]), [], "Decide on order 1043.")
    assert (run.stopped, refund) == ("answered", None)


# --- a sub-agent ---------------------------------------------------------------------------------------


def run_with_helper(model, make_helper, helper_tools, goal, max_steps=10):
    spent = Counter()

    def helper(question: str) -> str:
        """Let a helper find out one thing. It knows nothing but the question."""
        run = run_agent(make_helper(), helper_tools, question, max_steps=5)
        spent.update(steps=run.steps, input=run.usage.input_tokens, output=run.usage.output_tokens)
        if run.answer is None:
            raise ToolError(f"The helper has no answer: {run.stopped}.")
        return run.answer

    def both(so_far):
        return "step limit of both" if so_far.steps + spent["steps"] >= max_steps else None

    run = run_agent(model, [helper], goal, max_steps, stops=both)
    return run, {
        "steps": run.steps + spent["steps"],
        "tokens": run.usage.input_tokens + run.usage.output_tokens + spent["input"] + spent["output"],
    }


def test_a_helper_begins_with_a_fresh_history_and_its_steps_and_tokens_count():
    seen = []

    def helper():
        script = blue_mugs.model()
        return lambda history: seen.append(list(history)) or script(history)

    model = ScriptedModel([ask("helper", question=blue_mugs.GOAL), answer("North.")])
    run, both = run_with_helper(model, helper, blue_mugs.TOOLS, "Where do we send mugs from?")
    assert [entry["text"] for entry in seen[0]] == [blue_mugs.GOAL]
    assert run.history[2]["result"] == "North has more blue mugs: 140 against 95."
    alone = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
    tokens = [one.usage.input_tokens + one.usage.output_tokens for one in (run, alone)]
    assert both == {"steps": 2 + 4, "tokens": sum(tokens)}


def test_a_helper_that_finds_nothing_is_a_tool_error():
    model = ScriptedModel([ask("helper", question="Where?"), answer("I do not know.")])
    stuck = lambda: LoopingModel("stock_level", warehouse="west")  # noqa: E731
    run, both = run_with_helper(model, stuck, blue_mugs.TOOLS, "Where?")
    assert run.history[2]["result"]["message"] == "The helper has no answer: step limit."
    assert (run.stopped, both["steps"]) == ("answered", 7)


def test_the_limit_holds_for_both_together():
    run, both = run_with_helper(
        LoopingModel("helper", question="Where?"), blue_mugs.model, blue_mugs.TOOLS, "Where?", max_steps=9
    )
    assert (run.stopped, both["steps"]) == ("step limit of both", 10)


# --- tools from a server that is not yours -------------------------------------------------------------


def server_tools(portal, client, prefix, seconds=5):
    def make(number, found):
        def call(**given):
            got = portal.call(partial(client.call_tool, found.name, given, read_timeout_seconds=seconds))
            text = "\n".join(part.text for part in got.content if part.type == "text")
            if got.is_error:
                raise ToolError(text)
            return {"from": prefix, "untrusted": text}

        name = re.sub("[^A-Za-z0-9_-]", "_", f"{prefix}_{number}_{found.name}")[:64]
        return Tool(name, call, (found.description or "")[:500], found.input_schema, risky=True)

    listed = portal.call(client.list_tools).tools
    return [make(number, found) for number, found in enumerate(listed, start=1)]


@pytest.fixture
def mcp():
    return pytest.importorskip("mcp", reason='needs `pip install -e ".[mcp]"`')


@pytest.fixture
def server(mcp):
    """A server in this process, with tools of every odd kind."""
    mcpserver = pytest.importorskip("mcp.server.mcpserver")
    server = mcpserver.MCPServer("shop")

    class Node(BaseModel):
        name: str
        children: list["Node"] = []

    @server.tool()
    def stock_level(warehouse: str) -> str:
        """Count the blue mugs."""
        if warehouse not in blue_mugs.STOCK:
            raise mcpserver.exceptions.ToolError(f"no warehouse {warehouse}")
        return f"{blue_mugs.STOCK[warehouse]} mugs"

    @server.tool()
    def everything() -> str:
        """Read everything."""
        return "x" * 1_000_000

    @server.tool(name="count all nodes!", description="Count. " * 100_000)
    def count(tree: Node) -> str:
        return str(1 + len(tree.children))

    @server.tool()
    async def hangs() -> str:
        await asyncio.sleep(60)

    return server


@pytest.fixture
def connected(mcp):
    """connected(server) gives the tools of a server until the test is over."""
    with ExitStack() as stack:

        def connect(server, **options):
            portal = stack.enter_context(start_blocking_portal())  # an event loop in a thread of its own
            client = stack.enter_context(portal.wrap_async_context_manager(mcp.Client(server)))
            return server_tools(portal, client, "shop", **options)

        yield connect


def yes(call):
    return True


def test_tools_of_a_server_are_tools_like_any_other(server, connected):
    tools = connected(server)
    stock = tools[0].name
    model = ScriptedModel([
        ask_together(ask(stock, warehouse="north"), ask(stock, warehouse="west")), answer("140."),
    ])  # fmt: skip
    run = run_agent(model, tools, blue_mugs.GOAL, approve=yes)
    good, bad = run.history[2:4]
    assert good["result"] == {"from": "shop", "untrusted": "140 mugs"}
    assert bad["result"]["error"] == "tool_failed"
    assert "no warehouse west" in bad["result"]["message"]


def test_nothing_of_a_server_runs_without_a_persons_yes(server, connected):
    tools = connected(server)
    run = run_agent(ScriptedModel([ask(tools[0].name, warehouse="north"), answer("")]), tools, "Go.")
    assert (run.tool_runs, run.history[2]["result"]["error"]) == (0, "not_approved")


def test_a_million_characters_are_cut(server, connected):
    tools = connected(server)
    run = run_agent(ScriptedModel([ask(tools[1].name), answer("Long.")]), tools, "Go.", approve=yes)
    assert run.answer == "Long."
    assert estimate_tokens(run.history) < 6_000
    assert all(len(tool.description) <= 500 for tool in tools)


def test_a_name_with_spaces_and_a_schema_with_a_loop_are_taken_by_the_providers(server, connected):
    tools = connected(server)
    assert tools[2].name == "shop_3_count_all_nodes_"
    assert '"$ref"' in str(tools[2].schema).replace("'", '"')
    assert len(openai.tools_from(tools)) == len(anthropic.tools_from(tools)) == 4
    tree = {"name": "a", "children": [{"name": "b"}, {"name": "c"}]}
    run = run_agent(ScriptedModel([ask(tools[2].name, tree=tree), answer("3.")]), tools, "Go.", approve=yes)
    assert run.history[2]["result"]["untrusted"] == "3"


def test_wrong_arguments_are_found_by_the_server(server, connected):
    tools = connected(server)
    run = run_agent(ScriptedModel([ask(tools[0].name, house=1), answer("?")]), tools, "Go.", approve=yes)
    assert run.history[2]["result"]["error"] == "tool_failed"
    assert "warehouse" in run.history[2]["result"]["message"]


DYING = """
import os
from mcp.server.mcpserver import MCPServer

server = MCPServer("shop")

@server.tool()
def look() -> str:
    os._exit(1)

server.run()
"""


def test_a_server_that_dies_is_a_tool_error_and_the_run_goes_on(mcp, connected, tmp_path):
    program = tmp_path / "server.py"
    program.write_text(DYING)
    parameters = mcp.StdioServerParameters(command=sys.executable, args=[str(program)])
    tools = connected(mcp.stdio_client(parameters))
    model = ScriptedModel([ask(tools[0].name), ask(tools[0].name), answer("It is gone.")])
    run = run_agent(model, tools, "Go.", approve=yes)
    assert (run.stopped, run.answer, run.errors) == ("answered", "It is gone.", 2)
    first, second = (entry["result"] for entry in run.history if entry["role"] == "tool")
    assert first["error"] == second["error"] == "tool_failed"
    assert "closed" in (first["message"] + second["message"]).lower()


def test_a_tool_of_a_server_that_hangs_is_given_up_in_time(server, connected):
    tools = connected(server, seconds=0.1)
    run = run_agent(ScriptedModel([ask(tools[3].name), answer("No.")]), tools, "Go.", approve=yes)
    assert (run.stopped, run.errors) == ("answered", 1)


@pytest.mark.parametrize(
    "schema", [{"$ref": "#"}, {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}]
)
def test_a_schema_that_is_nothing_but_a_loop_hangs_nobody(schema):
    given = Tool("look", dict, "Look.", {"type": "object", "properties": {"a": schema}})
    assert len(openai.tools_from([given])) == len(anthropic.tools_from([given])) == 1
    assert run_agent(ScriptedModel([ask("look", a=1), answer("")]), [given], "Go.").tool_runs == 1
