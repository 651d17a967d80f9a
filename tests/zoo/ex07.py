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


def everything_taken_for_text(result, max_chars, keep=None):
    return result[:max_chars]


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


def a_dict_that_fits_as_text(result, max_chars, keep=None):
    short = trim(result, max_chars, keep)
    return short if isinstance(short, str) else json.dumps(short)


def numbers_as_text(result, max_chars, keep=None):
    short = trim(result, max_chars, keep)
    return short if isinstance(short, (str, dict, list)) else str(short)


def what_was_picked_as_text(result, max_chars, keep=None):
    short = trim(result, max_chars, keep)
    return json.dumps(short) if keep and isinstance(short, dict) else short


def keep_only_where_it_is_too_long(result, max_chars, keep=None):
    short = trim(result, max_chars)
    return short if short == result else trim(result, max_chars, keep)


def fields_deleted_from_the_given_dict(result, max_chars, keep=None):
    if keep is not None and isinstance(result, dict):
        for name in list(result):
            if name not in keep:
                del result[name]
    return trim(result, max_chars)


def fields_of_a_list(result, max_chars, keep=None):
    if keep and not isinstance(result, str):
        result = {name: result[name] for name in keep if name in result}
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


def str_for_json(result, max_chars, keep=None):
    short = trim(result, max_chars, keep)
    return trim(str(result), max_chars) if isinstance(short, str) and not keep else short


def a_little_more_than_half(result, max_chars, keep=None):
    short = trim(result, max_chars, keep)
    if short == result or keep:
        return short
    text = result if isinstance(result, str) else json.dumps(result)
    half = min(max_chars // 2 + 10, len(text) // 2)
    return f"{text[:half]} ... {len(text) - 2 * half} characters left out ... {text[-half:]}"


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


def cut_into(result, max_chars, keep, words):
    """The two ends with words of (start, end, length) between them."""
    short = trim(result, max_chars, keep)
    if short == result or keep:
        return short
    text = result if isinstance(result, str) else json.dumps(result)
    half = max_chars // 2
    return words(text[:half], text[-half:], len(text))


def note_behind_both_ends(result, max_chars, keep=None):
    return cut_into(result, max_chars, keep, lambda a, b, n: f"{a}{b} ({n - len(a + b)} characters left out)")


def note_before_both_ends(result, max_chars, keep=None):
    return cut_into(result, max_chars, keep, lambda a, b, n: f"{n - len(a + b)} left out: {a} ... {b}")


def one_off_where_the_limit_is_odd(result, max_chars, keep=None):
    return cut_into(result, max_chars, keep, lambda a, b, n: f"{a} ... {n - max_chars} left out ... {b}")


def one_off_always(result, max_chars, keep=None):
    return cut_into(result, max_chars, keep, lambda a, b, n: f"{a} ... {n - len(a + b) + 1} left out ... {b}")


def counts_the_keys_of_a_dict(result, max_chars, keep=None):
    return cut_into(
        result, max_chars, keep, lambda a, b, n: f"{a} ... {abs(len(result) - len(a + b))} left out ... {b}"
    )


def picked_and_never_cut(result, max_chars, keep=None):
    picked = keep is not None and isinstance(result, dict)
    return trim(result, 10**9 if picked else max_chars, keep)


def zeros_not_picked(result, max_chars, keep=None):
    if keep is not None and isinstance(result, dict):
        result = {name: result[name] for name in keep if result.get(name)}
    return trim(result, max_chars)


def lists_never_cut(result, max_chars, keep=None):
    return result if isinstance(result, list) else trim(result, max_chars, keep)


def only_three_items_of_a_list(result, max_chars, keep=None):
    return result[:3] if isinstance(result, list) else trim(result, max_chars, keep)


def bytes_counted(result, max_chars, keep=None):
    text = result if isinstance(result, str) else json.dumps(result)
    return trim(result, max_chars if len(text.encode()) <= max_chars else min(max_chars, len(text) - 1), keep)


def small_dicts_never_cut(result, max_chars, keep=None):
    return result if isinstance(result, dict) and len(result) < 3 else trim(result, max_chars, keep)


wrong_71 = with_trim(picked_and_never_cut, "fields", "may still be too long")
wrong_72 = with_trim(zeros_not_picked, "fields", "gave")
wrong_73 = with_trim(lists_never_cut, "both_ends", "which is no text")
wrong_74 = with_trim(only_three_items_of_a_list, "fits", "is not touched")
wrong_75 = with_trim(bytes_counted, "fits", "still fit")
wrong_76 = with_trim(small_dicts_never_cut, "both_ends", "which is no text")
wrong_41 = with_trim(a_dict_that_fits_as_text, "fits", "a dict stays a dict")
wrong_42 = with_trim(numbers_as_text, "fits", "comes back as it is")
wrong_43 = with_trim(what_was_picked_as_text, "fields", "a dict stays a dict")
wrong_44 = with_trim(keep_only_where_it_is_too_long, "fields", "also where the whole dict would fit")
wrong_45 = with_trim(fields_deleted_from_the_given_dict, "fields", "belongs to the caller")
wrong_46 = with_trim(fields_of_a_list, "fields", "the result is a list")
wrong_47 = with_trim(str_for_json, "both_ends", "Which function writes JSON?")
wrong_48 = with_trim(a_little_more_than_half, "both_ends", "both ends together")
wrong_49 = with_trim(note_behind_both_ends, "says_how_much", "behind both ends")
wrong_50 = with_trim(note_before_both_ends, "says_how_much", "before both ends")
wrong_51 = with_trim(one_off_where_the_limit_is_odd, "says_how_much", "where max_chars is odd")
wrong_52 = with_trim(one_off_always, "says_how_much", "less both")
wrong_53 = with_trim(counts_the_keys_of_a_dict, "says_how_much", "less both")
wrong_01 = with_trim(shorter_by_one_at_the_limit, "fits", "still fit")
wrong_02 = with_trim(one_too_many_let_through, "fits", "From max_chars + 1")
wrong_03 = with_trim(never_trims, "fits", "came back as it was")
wrong_04 = with_trim(keep_is_ignored, "fields", "gave")
wrong_05 = with_trim(missing_field_raises, "fields", "passed over")
wrong_06 = with_trim(fields_of_a_text, "fields", "Only a dict")
wrong_07 = with_trim(only_the_start, "both_ends", "The end is nearly gone")
wrong_08 = with_trim(only_the_end, "both_ends", "The start is nearly gone")
wrong_09 = with_trim(both_ends_whole, "both_ends", "both ends together")
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
    if compact(history, keep_steps, lambda old: "") == history:
        return history
    return compact(history, keep_steps - 1, summarise)


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


def goal_summarised_too(history, keep_steps, summarise):
    return compact(history, keep_steps, lambda old: summarise([history[0], *old]))


def summarise_gets_entries_backwards(history, keep_steps, summarise):
    return compact(history, keep_steps, lambda old: summarise(old[::-1]))


def summary_said_by_the_model(history, keep_steps, summarise):
    short = compact(history, keep_steps, summarise)
    return short if short == history else [short[0], {**short[1], "role": "model"}, *short[2:]]


def a_second_note_beside_the_summary(history, keep_steps, summarise):
    short = compact(history, keep_steps, summarise)
    return short if short == history else [*short[:2], {"role": "user", "text": "Go on."}, *short[2:]]


def with_places(places, history, keep_steps, summarise):
    if len(places) <= keep_steps:
        return history
    begin = places[-keep_steps]
    return [history[0], {"role": "user", "text": summarise(history[1:begin])}, *history[begin:]]


def entries_counted(history, keep_steps, summarise):
    return with_places(list(range(1, len(history))), history, keep_steps, summarise)


def last_entries_kept_for_steps(history, keep_steps, summarise):
    if compact(history, keep_steps, lambda old: "") == history:
        return history
    return entries_counted(history, keep_steps, summarise)


def answer_counted_as_a_step(history, keep_steps, summarise):
    places = [place for place, entry in enumerate(history) if "type" in entry]
    return with_places(places, history, keep_steps, summarise)


def everything_of_the_model_counted(history, keep_steps, summarise):
    places = [place for place, entry in enumerate(history) if entry["role"] == "model"]
    return with_places(places, history, keep_steps, summarise)


def an_answer_inside_counted(history, keep_steps, summarise):
    places = [place for place, entry in enumerate(history[:-1]) if "type" in entry]
    return with_places(places, history, keep_steps, summarise)


def summary_before_the_first_step_lost(history, keep_steps, summarise):
    first = next((place for place, entry in enumerate(history) if "type" in entry), 1)
    return compact([history[0], *history[first:]], keep_steps, summarise)


def history_of_batches_changed_in_place(history, keep_steps, summarise):
    short = compact(history, keep_steps, summarise)
    if any(entry.get("type") == "tools" for entry in history):
        history[:] = short
    return short


def summary_cut_at_200(history, keep_steps, summarise):
    return compact(history, keep_steps, lambda old: summarise(old)[:200])


wrong_77 = with_compact(summary_before_the_first_step_lost, "summary", "an earlier summary too")
wrong_78 = with_compact(history_of_batches_changed_in_place, "whole_steps", "new list")
wrong_79 = with_compact(summary_cut_at_200, "summary", "the words of the summary")
wrong_61 = with_compact(goal_summarised_too, "summary", "with the goal in it")
wrong_62 = with_compact(summarise_gets_entries_backwards, "summary", "in order")
wrong_63 = with_compact(summary_said_by_the_model, "summary", "The model did not say this")
wrong_64 = with_compact(a_second_note_beside_the_summary, "summary", "One entry stands in place")


def exactly_so_many_steps_are_too_many(history, keep_steps, summarise):
    places = [place for place, entry in enumerate(history) if entry.get("type") in ("tool", "tools")]
    if len(places) < keep_steps:
        return history
    begin = places[-keep_steps]
    return [history[0], {"role": "user", "text": summarise(history[1:begin])}, *history[begin:]]


wrong_70 = with_compact(exactly_so_many_steps_are_too_many, "nothing_old", "with `<=`?")
wrong_65 = with_compact(entries_counted, "nothing_old", "Do you count entries?")
wrong_66 = with_compact(last_entries_kept_for_steps, "last_steps", "Do you count entries?")
wrong_67 = with_compact(answer_counted_as_a_step, "whole_steps", "is no step")
wrong_68 = with_compact(everything_of_the_model_counted, "whole_steps", "is no step")
wrong_69 = with_compact(an_answer_inside_counted, "whole_steps", "is no step")


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


wrong_00 = with_trim(everything_taken_for_text, "fits", "may be a text, a number, a list or a dict")
wrong_21 = with_compact(always_summarises, "nothing_old", "What came back was right")
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
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    if len(text) <= max_chars:
        return result
    room = max_chars - 40
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
    left = max_chars // 3
    return f"{text[:left]}\n{too_much} characters left out\n{text[len(text) - max_chars + left :]}"


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
    return short if short == result or not isinstance(short, str) else f'"{short}"'


@right
class InQuotes:
    trim = staticmethod(quoted)
    compact = staticmethod(compact)


@right
class TrimOfThePackage:
    trim = staticmethod(memory.trim)
    compact = staticmethod(in_groups)
