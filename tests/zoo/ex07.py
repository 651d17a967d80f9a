"""ex07: keep it short."""

import json

from agentlib import memory
from tests.zoo import right, wrong


def trim(result, max_chars, keep=None):
    if keep is not None and isinstance(result, dict):
        result = {name: result[name] for name in keep if name in result}
    text = result if isinstance(result, str) else json.dumps(result)
    if len(text) <= max_chars:
        return result
    half = max_chars // 2
    return f"{text[:half]} ... {len(text) - 2 * half} characters left out ... {text[-half:]}"


def compact(history, keep_steps, summarise):
    places = [place for place, entry in enumerate(history) if entry.get("type") in ("tool", "tools")]
    if len(places) <= keep_steps:
        return history
    begin = places[-keep_steps]
    return [history[0], {"role": "user", "text": summarise(history[1:begin])}, *history[begin:]]


def with_trim(function, criterion, named):
    return wrong(criterion, named)(
        type(function.__name__, (), {"trim": staticmethod(function), "compact": staticmethod(compact)})
    )


def with_compact(function, criterion, named):
    return wrong(criterion, named)(
        type(function.__name__, (), {"trim": staticmethod(trim), "compact": staticmethod(function)})
    )


# --- wrong: trim


def shorter_by_one_at_the_limit(result, max_chars, keep=None):
    return trim(result, max_chars - 1, keep)


def one_too_many_let_through(result, max_chars, keep=None):
    if isinstance(result, str) and len(result) == max_chars + 1:
        return result
    return trim(result, max_chars, keep)


def never_trims(result, max_chars, keep=None):
    return trim(result, 10**9, keep)


def nothing_comes_back(result, max_chars, keep=None):
    trim(result, max_chars, keep)


def keep_is_ignored(result, max_chars, keep=None):
    return trim(result, max_chars)


def missing_field_raises(result, max_chars, keep=None):
    if keep and isinstance(result, dict):
        result = {name: result[name] for name in keep}
    return trim(result, max_chars)


def fields_of_a_text(result, max_chars, keep=None):
    if keep:
        result = {name: result[name] for name in keep if name in result}
    return trim(result, max_chars)


def only_the_start(result, max_chars, keep=None):
    short = trim(result, max_chars, keep)
    text = result if isinstance(result, str) else json.dumps(result)
    if short == result or keep:
        return short
    return f"{text[:max_chars]} ({len(text) - max_chars} characters left out)"


def only_the_end(result, max_chars, keep=None):
    short = trim(result, max_chars, keep)
    text = result if isinstance(result, str) else json.dumps(result)
    return short if short == result or keep else f"({len(text) - max_chars} left out) {text[-max_chars:]}"


def both_ends_whole(result, max_chars, keep=None):
    short = trim(result, max_chars, keep)
    text = result if isinstance(result, str) else json.dumps(result)
    if short == result or keep:
        return short
    return f"{text[:max_chars]}...{len(text) - 2 * max_chars} left out...{text[-max_chars:]}"


def says_nothing(result, max_chars, keep=None):
    short = trim(result, max_chars, keep)
    if short == result or keep:
        return short
    text = result if isinstance(result, str) else json.dumps(result)
    return f"{text[: max_chars // 2]} ... {text[-(max_chars // 2) :]}"


def says_the_whole_length(result, max_chars, keep=None):
    short = trim(result, max_chars, keep)
    if short == result or keep:
        return short
    text = result if isinstance(result, str) else json.dumps(result)
    return f"{text[: max_chars // 2]} ... {len(text)} characters left out ... {text[-(max_chars // 2) :]}"


wrong_01 = with_trim(shorter_by_one_at_the_limit, "fits", "still fit")
wrong_02 = with_trim(one_too_many_let_through, "fits", "From max_chars + 1")
wrong_03 = with_trim(never_trims, "fits", "came back as it was")
wrong_04 = with_trim(keep_is_ignored, "fields", "gave")
wrong_05 = with_trim(missing_field_raises, "fields", "passed over")
wrong_06 = with_trim(fields_of_a_text, "fields", "Only a dict")
wrong_07 = with_trim(only_the_start, "both_ends", "The end is nearly gone")
wrong_08 = with_trim(only_the_end, "both_ends", "The start is nearly gone")
wrong_09 = with_trim(both_ends_whole, "both_ends", "became")
wrong_10 = with_trim(says_nothing, "says_how_much", "stands")
wrong_11 = with_trim(says_the_whole_length, "says_how_much", "the note says")


# --- wrong: compact


def always_summarises(history, keep_steps, summarise):
    text = summarise(history[1:])
    short = compact(history, keep_steps, lambda old: text)
    return short


def one_step_too_many_kept(history, keep_steps, summarise):
    return compact(history, keep_steps + 1, summarise)


def one_step_too_few_kept(history, keep_steps, summarise):
    places = [place for place, entry in enumerate(history) if "type" in entry]
    return history if len(places) <= keep_steps else compact(history, keep_steps - 1, summarise)


def goal_summarised_away(history, keep_steps, summarise):
    short = compact(history, keep_steps, summarise)
    return short if short == history else short[1:]


def summary_before_the_goal(history, keep_steps, summarise):
    short = compact(history, keep_steps, summarise)
    return short if short == history else [short[1], short[0], *short[2:]]


def first_steps_kept(history, keep_steps, summarise):
    short = compact(history, keep_steps, summarise)
    return short if short == history else [*short[:2], *history[1 : 1 + len(short) - 2]]


def history_changed_in_place(history, keep_steps, summarise):
    history[:] = compact(history, keep_steps, summarise)
    return history


def summary_left_out(history, keep_steps, summarise):
    short = compact(history, keep_steps, summarise)
    return short if short == history else [short[0], *short[2:]]


def summarises_each_entry(history, keep_steps, summarise):
    texts = []
    short = compact(
        history, keep_steps, lambda old: texts.extend(summarise([entry]) for entry in old) or texts[0]
    )
    return short


def summarises_everything(history, keep_steps, summarise):
    return compact(history, keep_steps, lambda old: summarise(history))


def oldest_step_lost(history, keep_steps, summarise):
    return compact(history, keep_steps, lambda old: summarise(old[2:]))


def summary_as_a_bare_text(history, keep_steps, summarise):
    short = compact(history, keep_steps, summarise)
    return short if short == history else [short[0], short[1]["text"], *short[2:]]


def two_entries_a_step(history, keep_steps, summarise):
    if len(history) <= 1 + 2 * keep_steps:
        return history
    begin = len(history) - 2 * keep_steps
    return [history[0], {"role": "user", "text": summarise(history[1:begin])}, *history[begin:]]


def single_requests_alone_begin_a_step(history, keep_steps, summarise):
    places = [place for place, entry in enumerate(history) if entry.get("type") == "tool"]
    if len(places) <= keep_steps:
        return history
    begin = places[-keep_steps]
    return [history[0], {"role": "user", "text": summarise(history[1:begin])}, *history[begin:]]


wrong_21 = with_compact(always_summarises, "nothing_old", "called all the same")
wrong_22 = with_compact(one_step_too_many_kept, "nothing_old", "was not called")
wrong_23 = with_compact(one_step_too_few_kept, "last_steps", "word for word")
wrong_24 = with_compact(goal_summarised_away, "last_steps", "goal stays first")
wrong_25 = with_compact(summary_before_the_goal, "last_steps", "goal stays first")
wrong_26 = with_compact(first_steps_kept, "last_steps", "word for word")
wrong_27 = with_compact(history_changed_in_place, "last_steps", "new list")
wrong_28 = with_compact(summary_left_out, "summary", "not in it")
wrong_29 = with_compact(summarises_each_entry, "summary", "times")
wrong_30 = with_compact(summarises_everything, "summary", "kept word for word")
wrong_31 = with_compact(oldest_step_lost, "summary", "or it is lost")
wrong_32 = with_compact(summary_as_a_bare_text, "summary", "entry like a note")
wrong_33 = with_compact(two_entries_a_step, "whole_steps", "Do not count entries")
wrong_34 = with_compact(single_requests_alone_begin_a_step, "whole_steps", "Do not count entries")


# --- right


@right
class HalvesWithANote:
    trim = staticmethod(trim)
    compact = staticmethod(compact)


def tight(result, max_chars, keep=None):
    if isinstance(result, dict) and keep:
        result = {key: value for key, value in result.items() if key in set(keep)}
    text = result if isinstance(result, str) else str(result)
    if len(text) <= max_chars:
        return text
    room = max_chars - 40
    head, tail = text[: room // 2], text[len(text) - room // 2 :]
    return f"{head} [{len(text) - len(head) - len(tail):,} characters cut] {tail}"


def in_groups(history, keep_steps, summarise):
    goal, steps = history[0], []
    for entry in history[1:]:
        if entry.get("role") == "model":
            steps.append([])
        steps[-1].append(entry)
    cut = max(0, len(steps) - keep_steps)
    old, new = ([entry for step in part for entry in step] for part in (steps[:cut], steps[cut:]))
    if not old:
        return [goal, *new]
    return [dict(goal), {"role": "user", "text": "Summary of what came before: " + summarise(old)}, *new]


@right
class NoteInsideTheLimit:
    trim = staticmethod(tight)
    compact = staticmethod(in_groups)


@right
class OfThePackage:
    trim = staticmethod(memory.trim)
    compact = staticmethod(memory.compact)
