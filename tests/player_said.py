"""What the player has to say of the loops in player_loops: read in its data and on its page.

The tests are in test_player_sentences and browser/test_player_loops.
"""

# ruff: noqa: E501

import copy
import functools
from types import GeneratorType

from agentlib import answer, ask, ask_together
from agentlib.models import ScriptedModel
from agentlib.views.frames import frames, source_of
from agentlib.watch import watch
from tests import player_loops

GOAL = "How many mugs are in the north?"
NORTH, SOUTH = ask("stock_level", warehouse="north"), ask("stock_level", warehouse="south")
REPLIES = {"several_calls": [ask_together(NORTH, SOUTH), answer("140 mugs.")]}
NAMES = [
    name
    for name, made in vars(player_loops).items()
    if callable(made)
    and getattr(made, "__module__", "") in (player_loops.__name__, "builtins")
    and name not in ("State", "Notes", "Unprintable", "outside_helper")
    and name[0] != "_"
] + ["from_exec"]


def stock_level(warehouse):
    if warehouse == "North":
        raise ValueError('Unknown warehouse "North".')
    return {"north": 140, "south": 95}[warehouse]


def model_for(name):
    usual = [ask("stock_level", warehouse="North"), NORTH, answer("140 mugs.")]
    return ScriptedModel(copy.deepcopy(REPLIES.get(name, usual)))


def loop_of(name):
    return player_loops.Agent().run if name == "Agent" else getattr(player_loops, name)


@functools.cache
def watched(name):
    trace = watch(loop_of(name), model_for(name), {"stock_level": stock_level}, GOAL)
    return trace, frames(trace), source_of(trace)


def shown(name, code, nth=1):
    """The nth frame that lights the line with this code, and that line's number."""
    _, told, source = watched(name)
    lit = [frame for frame in told if frame.line and source.text(frame.line).strip().startswith(code)]
    return lit[nth - 1]


def outcome(loop, name):
    """What a loop gave back or raised, and what its model and its tool got."""
    seen = []
    model = model_for(name)

    def asked(history):
        seen.append(copy.deepcopy(list(history)))
        return model(history)

    def tool(warehouse):
        seen.append(warehouse)
        return stock_level(warehouse)

    try:
        returned = loop(asked, {"stock_level": tool}, GOAL)
        while isinstance(returned, GeneratorType):
            try:
                next(returned)
            except StopIteration as end:
                returned = end.value
    except Exception as problem:
        returned = repr(problem)
    return returned, seen


# name of the loop, code of the line, which of its frames, move, sentence ("N" stands for a number of a line),
# what stands at the end of the line, new rows of the history
ANY = object()
READS = "The model will read it in step 2."
SAID = [
    ("plain_for", "for step", 1, "", "A new round of the loop begins: `step` is now `0`. 0 of 4 steps are used.", "step = 0", ()),
    ("plain_for", "reply = model", 1, "ask", "Step 1 of at most 4: the model is asked. It reads 1 entry, about 8 tokens. The model requests `stock_level(\"North\")`.", 'reply = stock_level("North")', ()),
    ("plain_for", "history.append(reply)", 1, "record", "The request goes into the history as entry 2.", "entry 2", (1,)),
    ("plain_for", "if reply", 1, "check", 'Is the reply an answer? No, it requests `stock_level("North")`, so the loop goes on.', '"tool" == "answer": no', ()),
    ("plain_for", "except", 1, "act", 'The `except` catches the error of `stock_level("North")`. The run goes on. `problem` is now `ValueError(\'Unknown warehouse "North".\')`.', ANY, ()),
    ("plain_for", "result = {", 1, "act", "`result = {\"error\": str(problem)}` runs: `result` is now `{\"error\": 'Unknown warehouse \"North\".'}`.", ANY, ()),
    ("plain_for", "history.append({", 1, "record", '`stock_level("North")` raised. The `except` turned it into a result, so the model will read it in step 2. It is entry 3 of the history.', "entry 3", (2,)),
    ("plain_for", "return", 1, "", 'The loop returns `{"answer": "140 mugs.", "stopped": "answered"}`, so the run ends here.', 'returns {"answer": "140 mugs.", "stopped": "answered"}', ()),
    ("one_line_return", "if reply", 1, "check", 'Is the reply an answer? No, it requests `stock_level("North")`, so the loop goes on.', '"tool" == "answer": no', ()),
    ("one_line_return", "if reply", 3, "check", 'Is the reply an answer? Yes. The loop returns `{"answer": "140 mugs.", "stopped": "answered"}`, so the run ends here.', '"answer" == "answer": yes', ()),
    ("one_line_return", "except", 1, "act", ANY, ANY, ()),
    ("one_line_break", "if steps", 1, "", "The loop looks: `steps >= max_steps`, here `0 >= 4`. No: line N comes next.", "0 >= 4: no", ()),
    ("one_line_break", "if reply[\"input", 1, "record", 'The loop adds entry 3: "No." Line N: yes, line N comes next.', ANY, (2,)),
    ("one_line_break", "if reply[\"type", 3, "check", "Is the reply an answer? Yes. The loop is left here: line N comes next.", '"answer" == "answer": yes', ()),
    ("one_line_raise", "if reply", 3, "check", "Is the reply an answer? Yes. The loop itself raises an error. The `except` in line N comes next.", '"answer" == "answer": yes', ()),
    ("one_line_raise", "except StopIteration", 1, "act", "This `except` does not fit the error: line N comes next.", None, ()),
    ("while_flag", "while running", 1, "", "The loop looks whether to go round once more: `running` is `True`. Yes: line N comes next.", "running = True: yes", ()),
    ("while_flag", "while running", 4, "check", "The loop looks whether to go round once more: `running` is `False`. No: line N comes next.", "running = False: no", ()),
    ("while_flag", "return", 2, "", "The run is over: `returned`. The loop returned \"140 mugs.\" That is the model's answer.", None, ()),
    ("for_flag", "if done", 4, "", "The loop looks: `done` is `True`. Yes: line N comes next.", "done = True: yes", ()),
    ("for_flag", "break", 1, "", "The loop is left here: line N comes next.", None, ()),
    ("while_condition", "while step", 1, "", "The loop looks whether to go round once more: `step < max_steps and reply[\"type\"] != \"answer\"`, here `0 < 4 and None != \"answer\"`. Yes: line N comes next.", '0 < 4 and None != "answer": yes', ()),
    ("recursive", "return {\"answer\": reply", 1, "", '`recursive` returns `{"answer": "140 mugs.", "stopped": "answered"}` to line N.', ANY, ()),
    ("recursive", "return found", 2, "", 'The loop returns `{"answer": "140 mugs.", "stopped": "answered"}`, so the run ends here.', ANY, ()),
    ("recursive", "found = ", 1, "record", "Entries 2 and 3 are added to the history.", ANY, (1, 2)),
    ("Agent", "def run", 1, "", 'Your loop is called with the goal "How many mugs are in the north?" and at most 4 steps.', None, ()),
    ("Agent", "if self.spent", 2, "", "The loop looks: `self.spent + 1 > self.budget`, here `1 + 1 = 2 > 10`. No: line N comes next.", "1 + 1 = 2 > 10: no", ()),
    ("Agent", "return {\"role\"", 1, "", "`entry` returns `{\"role\": \"tool\", \"result\": {\"error\": 'Unknown warehouse \"North\".'}}` to line N.", ANY, ()),
    ("Agent", "self.history.append(self.entry", 2, "record", '`stock_level("North")` raised. The `except` turned it into a result, so the model will read it in step 2. It is entry 3 of the history.', "entry 3", (2,)),
    ("generator", "yield", 1, "", "`yield reply` hands over a value: line N comes next.", None, ()),
    ("generator", "for reply", 4, "", "`for reply in steps():` waits for what another function gives: line N comes next.", None, ()),
    ("generator", "return", 1, "", "`steps` returns to line N.", None, ()),
    ("generator_loop", "yield", 1, "", "`yield reply` runs.", None, ()),
    ("generator_loop", "return", 1, "", 'The loop returns `{"answer": "140 mugs.", "stopped": "answered"}`, so the run ends here.', ANY, ()),
    ("matching", "match", 1, "check", "The loop looks which `case` fits: `reply[\"type\"]` is `\"tool\"`.", '"tool"', ()),
    ("matching", "case \"answer\"", 1, "check", '`case "answer":` does not fit: line N comes next.', "does not fit", ()),
    ("matching", "case \"tool\"", 1, "check", '`case "tool":` fits: line N comes next.', "fits", ()),
    ("matching_shapes", "match", 1, "check", 'The loop looks which `case` fits: `reply` is `stock_level("North")`.', ANY, ()),
    ("matching_shapes", "case {\"type\": \"answer\"", 3, "check", ANY, "fits", ()),
    ("head_over_two_lines", "for step", 3, "", "A new round of the loop begins: `step` is now `3`. 2 of 4 steps are used.", "step = 3", ()),
    ("head_over_two_lines", "if (", 3, "check", "Is the reply an answer? Yes: line N comes next.", '"answer" == "answer": yes', ()),
    ("head_over_two_lines", "history.append(", 1, "record", "The request goes into the history as entry 2.", "entry 2", (1,)),
    ("long_condition", "while (", 1, "", "The loop looks whether to go round once more: `tries < max_steps and len(history) < 50`, here `0 < 4 and 1 < 50`. Yes: line N comes next.", "0 < 4 and 1 < 50: yes", ()),
    ("long_condition", "if (", 1, "check", 'The loop looks: `isinstance(reply, dict) and reply.get("type") == "answer" and reply.get("text")`, here `isinstance(reply, dict) and "tool" == "answer"`. No: line N comes next.', 'isinstance(reply, dict) and "tool" == "answer": no', ()),
    ("try_finally", "try:", 1, "", "Whatever happens below, line N runs at the end, in the `finally`.", None, ()),
    ("try_finally", "return", 1, "", "The `return` is reached. Before the function is left, line N runs.", ANY, ()),
    ("try_finally", "asked += 1", 3, "", "`asked += 1` runs: `asked` is now `3`.", "asked = 3", ()),
    ("one_line_in_finally", "if reply", 3, "check", "Is the reply an answer? Yes. The `return` is reached. Before the function is left, line N runs.", '"answer" == "answer": yes', ()),
    ("helper_inside", "def helper_inside", 1, "", 'Your loop is called with the goal "How many mugs are in the north?" and at most 4 steps.', None, ()),
    ("helper_inside", "def act", 1, "", "The function `act` is made. Its lines run when it is called.", None, ()),
    ("helper_inside", "if is_answer", 1, "check", "`if is_answer(reply):` calls `is_answer`: line N comes next.", None, ()),
    ("helper_inside", "return reply[", 1, "", '`is_answer` returns `False ("tool" == "answer")` to line N. Line N: no, line N comes next.', 'returns False ("tool" == "answer")', ()),
    ("helper_inside", "result = act", 1, "", "`result = act(reply)` calls `act`: line N comes next.", None, ()),
    ("helper_outside", "history += [outside", 1, "act", f'`stock_level("north")` runs and gives `140`. The result goes into the history as entry 3. {READS}', "140, entry 3", (2,)),
    ("nested_entry", "history.append(entry", 1, "act", '`stock_level("north")` runs and gives `140`.', "140", ()),
    ("nested_entry", "history.append(entry", 2, "record", f"The result goes into the history as entry 3. {READS}", "entry 3", (2,)),
    ("nested_model", "return reply", 1, "", '`ask` returns `stock_level("North")` to line N.', 'returns stock_level("North")', ()),
    ("nested_model", "while reply", 3, "check", 'The loop looks whether to go round once more: `reply["type"] != "answer"`, here `"answer" != "answer"`. No: line N comes next.', '"answer" != "answer": no', ()),
    ("with_lambdas", "if is_answer", 1, "check", "`if is_answer(reply):` calls a `lambda`: line N comes next.", None, ()),
    ("with_lambdas", "is_answer = lambda", 2, "", "The `lambda` in line N runs. Line N: no, line N comes next.", None, ()),
    ("with_lambdas", "history.append(entry", 2, "record", f"The result goes into the history as entry 3. {READS}", "entry 3", (2,)),
    ("with_asyncio", "result = await", 1, "", "`result = await act(reply)` calls `act`: line N comes next.", None, ()),
    ("with_asyncio", "return {\"answer\": reply", 1, "", '`main` returns `{"answer": "140 mugs.", "stopped": "answered"}` to line N, and the run ends with that.', ANY, ()),
    ("decorated", "def decorated", 1, "", 'Your loop is called with the goal "How many mugs are in the north?" and at most 4 steps.', None, ()),
    ("dict_dispatch", "if end", 3, "check", 'The loop looks: `end` is `{"answer": "140 mugs.", ...} (2 items)`. Yes: line N comes next.', ANY, ()),
    ("dict_dispatch", "return {", 1, "", '`on_answer` returns `{"answer": "140 mugs.", "stopped": "answered"}` to line N.', ANY, ()),
    ("dispatch_of_lambdas", "\"tool\": lambda", 1, "act", f'`stock_level("north")` runs and gives `140`. The result goes into the history as entry 3. {READS}', "140, entry 3", (2,)),
    ("dispatch_of_lambdas", "end = handlers", 1, "", "`end = handlers[reply[\"type\"]](reply)` calls a `lambda`: line N comes next.", None, ()),
    ("walrus", "while (reply", 1, "ask", "Step 1 of at most 4: the model is asked. It reads 1 entry, about 8 tokens. The model requests `stock_level(\"North\")`. Line N: yes, line N comes next.", ANY, ()),
    ("walrus", "while (reply", 3, "ask", ANY, 'answer "140 mugs.": no', ()),
    ("comprehension", "names =", 1, "", '`names = [name.lower() for name in reply["input"].values()]` runs: `names` is now `["north"]`.', 'names = ["north"]', ()),
    ("comprehension", "results =", 1, "act", '`stock_level("north")` runs and gives `140`.', "results = [140]", ()),
    ("break_else", "for step", 3, "", "There is no further step: 2 of 2 are used.", None, ()),
    ("break_else", "return", 2, "", "The run is over: `step limit`. All allowed steps were used, and the model had not answered. There is no answer.", None, ()),
    ("early_continue", "if reply[\"input", 1, "check", 'The loop looks: `reply["input"]["warehouse"] not in ("north", "south")`, here `"North" not in ("north", "south")`. Yes: line N comes next.', ANY, ()),
    ("early_continue", "continue", 1, "", "The rest of this round is left out: line N comes next.", None, ()),
    ("nested_loops", "for tries", 1, "", "The loop takes the next one: `tries` is now `0`.", "tries = 0", ()),
    ("nested_loops", "break", 1, "", "The loop is left here: line N comes next.", None, ()),
    ("nested_loops", "reply[\"input\"]", 1, "record", 'Entry 2 of the history is changed: "requests stock_level("north")".', ANY, (1,)),
    ("global_state", "while TOTAL", 2, "", "The loop looks whether to go round once more: `TOTAL < max_steps`, here `1 < 4`. Yes: line N comes next.", "1 < 4: yes", ()),
    ("counting_coins", "if sum(costs)", 3, "", "The loop looks: `sum(costs) + cost > budget_coins`, here `4 + 5 = 9 > 12`. No: line N comes next.", "4 + 5 = 9 > 12: no", ()),
    ("counting_coins", "costs.append", 2, "", "`costs.append(cost)` runs: `costs` is now `[1, 3]`.", "costs = [1, 3]", ()),
    ("spending", "while spent", 2, "", "The loop looks whether to go round once more: `spent <= 20 and errors < max_errors`, here `5 <= 20 and 1 < 2`. Yes: line N comes next.", "5 <= 20 and 1 < 2: yes", ()),
    ("several_calls", "for call", 3, "", "There is no further one: line N comes next.", None, ()),
    ("several_calls", "result = ", 2, "act", '`stock_level("south")` runs and gives `95`.', "result = 95", ()),
    ("record_both_at_the_end", "history = [*", 1, "record", "Entries 2 and 3 are added to the history.", "entries 2 and 3", (1, 2)),
    ("returns_nothing", "break", 1, "", "The loop is left here.", None, ()),
    ("returns_nothing", "break", 2, "", "The run is over: `returned`. Your loop returned None: is a `return` missing? The model's last reply was an answer: 140 mugs.", None, ()),
    ("crashes", "history.append({", 1, "act", '`stock_level("North")` raises an error: Unknown warehouse "North".', 'raises Unknown warehouse "North".', ()),
    ("crashes", "history.append({", 2, "", 'Line N raised `ValueError: Unknown warehouse "North".` Nothing caught it, so the run ends here.', None, ()),
    ("error_from_a_helper", "result = act", 1, "", "`result = act(reply)` calls `act`: line N comes next.", None, ()),
    ("error_from_a_helper", "except", 1, "act", ANY, ANY, ()),
    ("condition_that_raises", "if reply", 1, "check", '`if reply["text"] and reply["type"] == "answer":` raises an error: the `except` in line N comes next.', None, ()),
    ("condition_that_raises", "except TypeError", 1, "", "This `except` does not fit the error: line N comes next.", None, ()),
    ("with_block", "with Notes", 2, "", "The block of the `with` is left.", ANY, ()),
    ("with_block", "return", 1, "", "The `return` is reached. Before the function is left, line N runs.", ANY, ()),
    ("with_state", "while not", 4, "check", "The loop looks whether to go round once more: `not state.done and state.steps < max_steps`, here `not True`. No: line N comes next.", "not True: no", ()),
    ("guard_repeats", "if key", 1, "check", 'The loop looks: `key in seen`, here `("stock_level", ...) (2 items) in set()`. No: line N comes next.', ANY, ()),
    ("asserting", "assert result", 1, "", "The loop makes sure: `result > 100`, here `140 > 100`. Yes: line N comes next.", "140 > 100: yes", ()),
    ("keeps_a_window", "history.append(reply)", 2, "record", "The history is rewritten from entry 1 on. It had 3 entries and has 3 now.", ANY, (0, 1, 2)),
    ("all_on_few_lines", "while step", 2, "ask", ANY, ANY, (3, 4)),
    ("inner_class", "class Desk", 1, "", "The class `Desk` is made.", None, ()),
    ("inner_class", "while desk", 2, "", "The loop looks whether to go round once more: `desk.count < max_steps`, here `1 < 4`. Yes: line N comes next.", "1 < 4: yes", ()),
    ("values_that_cannot_be_shown", "big =", 1, "", ANY, 'big = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..." (10,000,000 characters)', ()),
    ("values_that_cannot_be_shown", "if ring", 1, "check", "The loop looks: `ring == odd or len(big) < 5`. No: line N comes next.", "no", ()),
    ("mutual_help", "if steps_left", 2, "", "The loop looks: `steps_left == 0`, here `3 == 0`. No: line N comes next.", "3 == 0: no", ()),
    ("mutual_help", "return acts", 3, "", "`thinks` returns to line N.", ANY, ()),
    ("ask_behind_a_helper", "reply = model", 1, "", "`reply = model(window(history))` calls `window`: line N comes next.", None, ()),
    ("ask_behind_a_helper", "reply = model", 2, "ask", 'Step 1 of at most 4: the model is asked. It reads 1 entry, about 8 tokens. The model requests `stock_level("North")`.', 'reply = stock_level("North")', ()),
    ("ask_behind_a_helper", "reply = model", 6, "ask", 'Step 3 of at most 4: the model is asked. It reads 3 entries that were picked out of 5, about 10 tokens. The model answers "140 mugs."', ANY, ()),
    ("ask_behind_a_helper", "if tries", 2, "", "The loop looks: `tries == 1`, here `1 == 1`. Yes. The rest of this round is left out: line N comes next.", "1 == 1: yes", ()),
    ("ask_behind_a_helper", "for tries", 3, "", "There is no further one: line N comes next.", None, ()),
    ("caught_out_of_sight", "result = _safe", 1, "act", '`stock_level("North")` raises an error: Unknown warehouse "North". A function that is not shown catches it.', 'result = {"error": \'Unknown warehouse "North".\'}', ()),
    ("caught_out_of_sight", "history.append({\"role\": \"tool\", \"result\": _safe", 1, "act", '`stock_level("North")` raises an error: Unknown warehouse "North". A function that is not shown catches it and makes it a result, so the model will read it in step 3. It is entry 5 of the history.', "the tool raised, entry 5", (4,)),
    ("caught_out_of_sight", "return dict", 1, "", 'The loop returns `{"answer": "140 mugs.", "stopped": "answered"}`, so the run ends here.', ANY, ()),
    ("raises_another", "except ValueError", 1, "act", 'The `except` catches the error of `stock_level("North")`. The run goes on. `problem` is now `ValueError(\'Unknown warehouse "North".\')`.', ANY, ()),
    ("raises_another", "except LookupError", 1, "act", 'The `except` catches the error. `problem` is now `LookupError("no such warehouse")`.', ANY, ()),
    ("kept_by_a_with", "with contextlib", 1, "", "`with contextlib.suppress(ValueError) as keeper:` is entered. `keeper` is now `None`.", "keeper = None", ()),
    ("kept_by_a_with", "result = tools", 1, "act", '`stock_level("North")` raises an error: Unknown warehouse "North".', 'raises Unknown warehouse "North".', ()),
    ("kept_by_a_with", "with contextlib", 2, "", "The block of the `with` is left.", ANY, ()),
    ("decorated_inside", "@contextlib", 1, "", "The function `noted` is made. Its lines run when it is called.", None, ()),
    ("decorated_inside", "log.append(f\"begin", 1, "", '`log.append(f"begin {what}")` runs: `log` is now `["begin ask"]`.', 'log = ["begin ask"]', ()),
    ("decorated_inside", "with noted", 2, "", "The block of the `with` is left: line N comes next.", None, ()),
    ("one_line_while", "while n", 1, "ask", 'Step 1 of at most 3: the model is asked. It reads 1 entry, about 8 tokens. The model requests `stock_level("North")`. The request goes into the history as entry 2.', ANY, (1,)),
    ("raises_its_own", "class Done", 1, "", "The class `Done` is made.", None, ()),
    ("raises_its_own", "self.answer", 1, "", "`self.answer = answer` runs. The `raise` in line N goes on: the `except` in line N comes next.", None, ()),
    ("generator_that_ends", "yield", 1, "", "`yield` hands over a value: line N comes next.", None, ()),
    ("generator_that_ends", "return reply", 1, "", '`steps` returns `"140 mugs."` to line N. That is a `StopIteration` in line N: the `except` in line N comes next.', 'returns "140 mugs."', ()),
    ("never_asks", "return", 2, "", "The run is over: `answered`. The loop says so, but the model was never asked. The answer: I know.", None, ()),
]  # fmt: skip
