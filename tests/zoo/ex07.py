"""ex07: keep it short."""

import json

from agentlib import memory
from tests.zoo import patch, right, wrong


def trim(result, max_chars, keep=None):
    if keep is not None and isinstance(result, dict):
        result = {name: result[name] for name in keep if name in result}
    text = result if isinstance(result, str) else json.dumps(result)
    if len(text) <= max_chars:
        return result
    note = f" ... {len(text)} characters left out ... "
    half = (max_chars - len(note)) // 2
    if half < 1:
        return text[: max_chars // 2] + text[-(max_chars // 2) :]
    return f"{text[:half]} ... {len(text) - 2 * half} characters left out ... {text[-half:]}"


def compact(history, keep_steps, summarise):
    places = [place for place, entry in enumerate(history) if entry.get("type") in ("tool", "tools")]
    if len(places) <= keep_steps:
        return history
    begin = places[-keep_steps]
    return [history[0], {"role": "user", "text": summarise(history[1:begin])}, *history[begin:]]


def wrong_trim(criterion, named):
    return lambda *edits: wrong(criterion, named)({"trim": patch(trim, *edits), "compact": compact})


def wrong_compact(criterion, named):
    return lambda *edits: wrong(criterion, named)({"trim": trim, "compact": patch(compact, *edits)})


# --- wrong: trim

IF_KEEP = "keep is not None and isinstance(result, dict)"
PICKED = "result = {name: result[name] for name in keep if name in result}"
HALF = "half = (max_chars - len(note)) // 2"
FITS = "len(text) <= max_chars"
WHOLE = "return result"
LEFT_OUT = "{len(text) - 2 * half} characters left out"
ENDS = f'f"{{text[:half]}} ... {LEFT_OUT} ... {{text[-half:]}}"'

everything_taken_for_text = wrong_trim("fits", "may be a text, a number, a list or a dict")(
    f"if {IF_KEEP}", f"return result[:max_chars]\nif {IF_KEEP}"
)
shorter_by_one_at_the_limit = wrong_trim("fits", "still fit")(f"if {FITS}", f"max_chars -= 1\nif {FITS}")
one_too_many_let_through = wrong_trim("fits", "From max_chars + 1")(FITS, f"{FITS} + isinstance(result, str)")
bytes_counted = wrong_trim("fits", "still fit")(
    f"if {FITS}",
    f"if len(text.encode()) > max_chars:\n    max_chars = min(max_chars, len(text) - 1)\nif {FITS}",
)
never_trims = wrong_trim("fits", "came back as it was")(FITS, "len(text) <= 10**9")
a_dict_that_fits_as_text = wrong_trim("fits", "a dict stays a dict")(WHOLE, "return text")
numbers_as_text = wrong_trim("fits", "comes back as it is")(
    WHOLE, f"{WHOLE} if isinstance(result, (str, dict, list)) else str(result)"
)
spaces_made_one = wrong_trim("fits", "is not touched")(
    "text = result if",
    'result = " ".join(result.split()) if isinstance(result, str) else result\ntext = result if',
)
all_fields_where_none_is_there = wrong_trim("fields", "gave")(PICKED, f"{PICKED} or result")
only_three_items_of_a_list = wrong_trim("fits", "is not touched")(
    "text = result", "if isinstance(result, list):\n    return result[:3]\ntext = result"
)
keep_is_ignored = wrong_trim("fields", "gave")(IF_KEEP, "False")
missing_field_raises = wrong_trim("fields", "passed over")(" if name in result", "")
zeros_not_picked = wrong_trim("fields", "gave")("if name in result", "if result.get(name)")
picked_and_never_cut = wrong_trim("fields", "may still be too long")(FITS, f"{FITS} or ({IF_KEEP})")
what_was_picked_as_text = wrong_trim("fields", "a dict stays a dict")(
    WHOLE, "return text if keep and isinstance(result, dict) else result"
)
keep_only_where_it_is_too_long = wrong_trim("fields", "also where the whole dict would fit")(
    IF_KEEP, f"{IF_KEEP} and len(json.dumps(result)) > max_chars"
)
fields_deleted_from_the_given_dict = wrong_trim("left_alone", "belongs to the caller")(
    PICKED, "for name in set(result) - set(keep):\n    del result[name]"
)
fields_of_a_list = wrong_trim("fields", "the result is a list")(
    IF_KEEP, "keep and not isinstance(result, str)"
)
fields_of_a_text = wrong_trim("fields", "Only a dict")(IF_KEEP, "keep")
fields_of_each_dict_in_a_list = wrong_trim("fields", "the result is a list")(
    "text = result",
    """if keep is not None and isinstance(result, list):
    result = [{name: one[name] for name in keep if name in one} for one in result]
text = result""",
)
fields_of_a_text_that_is_json = wrong_trim("fields", "the result is a text")(
    f"if {IF_KEEP}",
    f"""if keep and isinstance(result, str) and result[0] == '{{':
    result = json.loads(result)
if {IF_KEEP}""",
)
dict_measured_by_str = wrong_trim("fits", "As long as its JSON text")(FITS, "len(str(result)) <= max_chars")
dicts_never_cut = wrong_trim("both_ends", "which is no text")(FITS, f"isinstance(result, dict) or {FITS}")
lists_never_cut = wrong_trim("both_ends", "which is no text")(FITS, f"isinstance(result, list) or {FITS}")
small_dicts_never_cut = wrong_trim("both_ends", "which is no text")(
    f"if {IF_KEEP}", f"if isinstance(result, dict) and len(result) < 3:\n    return result\nif {IF_KEEP}"
)
str_for_json = wrong_trim("fits", "As long as its JSON text")("json.dumps(result)", "str(result)")
str_for_json_where_it_is_cut = wrong_trim("both_ends", "Which function writes JSON?")(
    "note = f", "text = str(result)\nnote = f"
)
only_the_start = wrong_trim("both_ends", "The end is nearly gone")(
    ENDS, 'f"{text[: 2 * half]} ({len(text) - 2 * half} characters left out)"'
)
only_the_end = wrong_trim("both_ends", "The start is nearly gone")(
    ENDS, 'f"({len(text) - 2 * half} left out) {text[-2 * half :]}"'
)
a_little_more_than_half = wrong_trim("both_ends", "Take the note's length off first")(HALF, f"{HALF} + 10")
note_beside_the_limit = wrong_trim("both_ends", "Take the note's length off first")(
    HALF, "half = max_chars // 2"
)
no_room_below_the_note = wrong_trim("both_ends", "In so little room")("half < 1", "False")
half_of_nothing_is_all = wrong_trim("both_ends", "In so little room")("half < 1", "half < 0")
the_note_alone_in_little_room = wrong_trim("both_ends", "In so little room")(
    "return text[: max_chars // 2] + text[-(max_chars // 2) :]", "return note[:max_chars]"
)
only_the_start_in_little_room = wrong_trim("both_ends", "In so little room")(
    "return text[: max_chars // 2] + text[-(max_chars // 2) :]", "return text[:max_chars]"
)
one_character_in_little_room = wrong_trim("both_ends", "and nothing else")(
    "return text[: max_chars // 2] + text[-(max_chars // 2) :]", "return text[0] + text[-1]"
)
both_ends_whole = wrong_trim("both_ends", "Take the note's length off first")(
    ENDS, 'f"{text[:max_chars]}...{len(text) - 2 * max_chars} left out...{text[-max_chars:]}"'
)
says_nothing = wrong_trim("says_how_much", "stands")(f"{LEFT_OUT} ... ", "")
says_the_whole_length = wrong_trim("says_how_much", "the note says")(" - 2 * half", "")
note_behind_both_ends = wrong_trim("says_how_much", "behind both ends")(
    ENDS, f'f"{{text[:half]}}{{text[-half:]}} ({LEFT_OUT})"'
)
note_before_both_ends = wrong_trim("says_how_much", "before both ends")(
    ENDS, 'f"{len(text) - 2 * half} left out: {text[:half]} ... {text[-half:]}"'
)
one_off_where_the_limit_is_odd = wrong_trim("says_how_much", "where max_chars is odd")(
    " - 2 * half", " - (max_chars - len(note))"
)
one_off_always = wrong_trim("says_how_much", "less both")("2 * half", "2 * half + 1")
counts_the_keys_of_a_dict = wrong_trim("says_how_much", "less both")(
    "len(text) - 2 * half", "abs(len(result) - 2 * half)"
)

# --- wrong: compact

BEGINS = 'entry.get("type") in ("tool", "tools")'
PLACES = f"[place for place, entry in enumerate(history) if {BEGINS}]"
OLD = "history[1:begin]"
NOTE = f'{{"role": "user", "text": summarise({OLD})}}'
SHORT = f"return [history[0], {NOTE}, *history[begin:]]"

two_steps_always_kept = wrong_compact("nothing_old", "One step more than keep_steps")(
    "if len(places) <= keep_steps:", "if len(places) <= max(keep_steps, 2):"
)
always_summarises = wrong_compact("nothing_old", "What came back was right")(
    ("places = ", "text = summarise(history[1:])\nplaces = "), (f"summarise({OLD})", "text")
)
one_step_too_many_kept = wrong_compact("nothing_old", "was not called")(
    ("<= keep_steps", "<= keep_steps + 1"), ("-keep_steps", "-keep_steps - 1")
)
entries_counted = wrong_compact("nothing_old", "Do you count entries?")(PLACES, "range(1, len(history))")
exactly_so_many_steps_are_too_many = wrong_compact("nothing_old", "with `<=`?")("<=", "<")
one_step_too_few_kept = wrong_compact("last_steps", "word for word")("-keep_steps", "1 - keep_steps")
goal_summarised_away = wrong_compact("last_steps", "goal stays first")("[history[0], ", "[")
summary_before_the_goal = wrong_compact("last_steps", "goal stays first")(
    f"history[0], {NOTE}", f"{NOTE}, history[0]"
)
first_steps_kept = wrong_compact("last_steps", "word for word")(
    "*history[begin:]", "*history[1 : 1 + len(history) - begin]"
)
type_of_every_entry = wrong_compact("nothing_old", "Not every entry has a")(
    BEGINS, 'entry["type"] in ("tool", "tools")'
)
tool_of_every_entry = wrong_compact("nothing_old", "Not every entry has a")(
    BEGINS, 'entry["tool"] and "result" not in entry'
)
history_changed_in_place = wrong_compact("left_alone", "new list")(
    SHORT, f"{SHORT.replace('return', 'history[:] =')}\nreturn history"
)
last_entries_kept_for_steps = wrong_compact("last_steps", "Do you count entries?")(
    "places[-keep_steps]", "len(history) - keep_steps"
)
summary_left_out = wrong_compact("summary", "not in it")(
    SHORT, f"summarise({OLD})\nreturn [history[0], *history[begin:]]"
)
summarises_each_entry = wrong_compact("summary", "times")(
    f"summarise({OLD})", f"[summarise([entry]) for entry in {OLD}][0]"
)
summarises_everything = wrong_compact("summary", "kept word for word")(OLD, "history")
oldest_step_lost = wrong_compact("summary", "or it is lost")(OLD, "history[3:begin]")
summary_as_a_bare_text = wrong_compact("summary", "entry like a note")(NOTE, f"summarise({OLD})")
goal_summarised_too = wrong_compact("summary", "with the goal in it")(OLD, "history[:begin]")
summarise_gets_entries_backwards = wrong_compact("summary", "in order")(OLD, f"{OLD}[::-1]")
summary_said_by_the_model = wrong_compact("summary", "The model did not say this")('"user"', '"model"')
a_second_note_beside_the_summary = wrong_compact("summary", "One entry stands in place")(
    NOTE, f'{NOTE}, {{"role": "user", "text": "Go on."}}'
)
summary_before_the_first_step_lost = wrong_compact("summary", "an earlier summary too")(
    OLD, "history[places[0] : begin]"
)
summary_cut_at_200 = wrong_compact("summary", "the words of the summary")(
    f"summarise({OLD})", f"summarise({OLD})[:200]"
)
answer_counted_as_a_step = wrong_compact("whole_steps", "is no step")(BEGINS, '"type" in entry')
everything_of_the_model_counted = wrong_compact("whole_steps", "is no step")(
    BEGINS, 'entry["role"] == "model"'
)
an_answer_inside_counted = wrong_compact("whole_steps", "is no step")(
    ("(history) if", "(history[:-1]) if"), (BEGINS, '"type" in entry')
)
history_of_batches_changed_in_place = wrong_compact("left_alone", "new list")(
    SHORT,
    f"""{SHORT.replace("return", "short =")}
if any(entry.get("type") == "tools" for entry in history):
    history[:] = short
return short""",
)
two_entries_a_step = wrong_compact("whole_steps", "Do not count entries")(
    ("len(places) <= keep_steps", "len(history) <= 1 + 2 * keep_steps"),
    ("places[-keep_steps]", "len(history) - 2 * keep_steps"),
)
single_requests_alone_begin_a_step = wrong_compact("whole_steps", "One of the type `tools` begins one too")(
    'in ("tool", "tools")', '== "tool"'
)
single_request_in_a_tuple_without_a_comma = wrong_compact("whole_steps", "the type `tools` begins one too")(
    'in ("tool", "tools")', 'in ("tool",)'
)

# --- right


@right
class HalvesWithANote:
    trim = staticmethod(trim)
    compact = staticmethod(compact)


def tight(result, max_chars, keep=None):
    if isinstance(result, dict) and keep:
        result = {key: value for key, value in result.items() if key in set(keep)}
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    if len(text) <= max_chars:
        return result
    room = max_chars - 40
    if room < 10:
        return text[: (max_chars + 1) // 2] + text[len(text) - max_chars // 2 :]
    head, tail = text[: room // 2], text[len(text) - room // 2 :]
    return f"{head} [{len(text) - len(head) - len(tail):,} characters cut] {tail}"


def in_groups(history, keep_steps, summarise):
    goal, steps, before = history[0], [], []
    for entry in history[1:]:
        if entry.get("type") in ("tool", "tools"):
            steps.append([])
        (steps[-1] if steps else before).append(entry)
    cut = max(0, len(steps) - keep_steps)
    old, new = ([entry for step in part for entry in step] for part in (steps[:cut], steps[cut:]))
    if not old:
        return [goal, *before, *new]
    old = before + old
    return [dict(goal), {"role": "user", "text": "Summary of what came before: " + summarise(old)}, *new]


@right
class NoteInsideTheLimit:
    trim = staticmethod(tight)
    compact = staticmethod(in_groups)


def a_third_and_two(result, max_chars, keep=None):
    match result:
        case dict() if keep is not None:
            return a_third_and_two({name: value for name, value in result.items() if name in keep}, max_chars)
        case str():
            text = result
        case _:
            text = json.dumps(result, indent=2)
    too_much = len(text) - max_chars
    if too_much <= 0:
        return result
    room = max_chars - len(f"\n{len(text)} characters left out\n")
    left = max(room, max_chars) // 3 if room < 30 else room // 3
    if room < 30:
        return text[: max(left, 1)] + text[len(text) - (max_chars - max(left, 1)) :]
    return f"{text[:left]}\n{len(text) - room} characters left out\n{text[len(text) - room + left :]}"


def backwards(history, keep_steps, summarise):
    place, steps = len(history), 0
    while steps < keep_steps and place > 1:
        place -= 1
        steps += history[place].get("type") in ("tool", "tools")
    if not any("tool" in entry.get("type", "") for entry in history[1:place]):
        return list(history)
    return [history[0], {"role": "user", "text": summarise(history[1:place])}, *history[place:]]


@right
class ThirdsAndAWalkBackwards:
    trim = staticmethod(a_third_and_two)
    compact = staticmethod(backwards)


def quoted(result, max_chars, keep=None):
    short = trim(result, max_chars, keep)
    if not isinstance(short, str) or short == result or max_chars < 60:
        return short
    return f'"{trim(result, max_chars - 2, keep)}"'


@right
class InQuotes:
    trim = staticmethod(quoted)
    compact = staticmethod(compact)


@right
class TrimOfThePackage:
    trim = staticmethod(memory.trim)
    compact = staticmethod(in_groups)


def one_character_at_a_time(result, max_chars, keep=None):
    """Leaves out one character more until what is left fits, with its note if there is room for one."""
    if isinstance(result, dict) and keep is not None:
        result = dict((key, result[key]) for key in keep if key in result.keys())  # noqa: C402, SIM118
    whole = result if isinstance(result, str) else json.dumps(result)
    if max_chars >= len(whole):
        return result
    for out in range(1, len(whole)):
        first = (len(whole) - out) // 2
        short = f"{whole[:first]}[{out} chars left out]{whole[first + out :]}"
        if first and len(short) <= max_chars:
            return short
    first = max_chars // 2
    return whole[:first] + whole[first + len(whole) - max_chars :]


def recursive(history, keep_steps, summarise):
    def last(entries, wanted):
        for place in reversed(range(len(entries))):
            if "tool" in str(entries[place].get("type")):
                before = entries[:place]
                return last(before, wanted - 1) if wanted > 1 else (before, place)
        return None, 0

    goal, rest = history[:1], history[1:]
    before, place = last(rest, keep_steps)
    if before is None or not any("tool" in str(entry.get("type")) for entry in before):
        return history
    return goal + [{"role": "user", "text": summarise(before), "by": "compact"}] + rest[place:]  # noqa: RUF005


@right
class OneByOneAndRecursion:
    trim = staticmethod(one_character_at_a_time)
    compact = staticmethod(recursive)
