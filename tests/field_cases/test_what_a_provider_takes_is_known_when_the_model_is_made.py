"""A tool is written as the provider takes it, or making the model raises with tool, parameter and reason.

After fastcore 798, openai-agents-python 302 and 4752 (schemas), OpenHands 4838, chatlas 35, sentry-mcp 106
(descriptions).
"""

import dataclasses
import json
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field

from agentlib import tool
from agentlib.providers import anthropic, openai

MODULES = {"chat": openai, "responses": openai.Responses(), "anthropic": anthropic}
each = pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)


def offered(module, made):
    (offer,) = module.tools_from([made])
    return offer.get("function", offer)


def schema_of(module, made):
    offer = offered(module, made)
    return offer.get("parameters") or offer["input_schema"]


def taking(hint, **default):
    def move(to):
        """Move."""

    move.__annotations__["to"] = hint
    if default:
        move.__defaults__ = (default["default"],)
    return move


def arrays_in(schema):
    if isinstance(schema, dict):
        if schema.get("type") == "array":
            yield schema
        for value in schema.values():
            yield from arrays_in(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from arrays_in(value)


@dataclasses.dataclass
class Route:
    stops: list[tuple[int, int]]
    via: "tuple[str, int] | None" = None


class Pair(BaseModel):
    both: tuple[str, int]


# --- lists ------------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize(
    ("hint", "good"),
    [
        (tuple[int, int], [1, 2]),
        (tuple[str, int], ["a", 2]),
        (tuple[()], []),
        (tuple[int, ...], [1, 2, 3]),
        (list[tuple[int, str]], [[1, "a"]]),
        (dict[str, tuple[int, int]], {"a": [1, 2]}),
        (tuple[int, int] | None, [1, 2]),
        (Route, {"stops": [[1, 2]]}),
        (Pair, {"both": ["a", 1]}),
        (list, ["x"]),
        (tuple, ["x"]),
        (set[int], [1]),
        (list[list[list]], [[["x"]]]),
    ],
    ids=str,
)
def test_each_list_in_a_schema_says_what_its_items_are(module, hint, good):
    schema = schema_of(module, taking(hint))
    arrays = list(arrays_in(schema))
    assert arrays or hint is Any
    for array in arrays:
        assert isinstance(array["items"], dict), array
        assert "prefixItems" not in array
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"to": good}, schema)


def test_the_places_of_a_pair_keep_their_number_and_their_order_in_words():
    schema = schema_of(openai, taking(tuple[str, int]))["properties"]["to"]
    assert (schema["minItems"], schema["maxItems"]) == (2, 2)
    assert schema["description"] == 'In this order: {"type":"string"}, {"type":"integer"}.'
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([1], schema)


# --- what cannot be offered ---------------------------------------------------------------------------


@each
def test_a_schema_of_ones_own_that_is_no_object_is_refused_with_the_tool(module):
    made = dataclasses.replace(tool(taking(int)), schema={"anyOf": [{"type": "object"}]})
    with pytest.raises(ValueError, match="Tool move: it cannot be offered: its arguments are an object"):
        module.tools_from([made])


@pytest.mark.parametrize("name", ["größe", "x" * 65])
def test_a_parameter_whose_name_is_refused_is_named_when_the_model_is_made(name):
    place: dict[str, Any] = {}
    exec(f"def measure({name}: int):\n    'Measure.'", place)
    with pytest.raises(ValueError, match=f'Tool measure: its parameter "{name}" cannot be offered'):
        anthropic.model(None, "m", [place["measure"]])
    assert openai.model(None, "m", [place["measure"]])


# --- descriptions -------------------------------------------------------------------------------------


def described(words):
    made = taking(int)
    made.__doc__ = words
    return made


@each
@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("Looks. " * 200, "Looks. " * 143 + "Looks."),
        ("A long one, " * 200, None),
        ("x" * 3_000, "x" * 1_012),
        ("Version 1.2 of it is v1.2.3, " * 100, None),
        ("寻找。" * 500, "寻找。" * 337),
    ],
    ids=["sentences", "no end", "one word", "points in words", "Chinese"],
)
def test_a_long_description_is_cut_behind_a_sentence_with_a_note(module, words, kept):
    text = offered(module, described(words))["description"]
    assert len(text) <= 1_024
    assert text.endswith(" [shortened]")
    assert kept is None or text == kept + " [shortened]"
    assert " ".join(words.split()).startswith(text.removesuffix(" [shortened]"))
    assert len(text) > 500


@each
@pytest.mark.parametrize("length", [1, 1_023, 1_024])
def test_a_description_that_fits_is_left_alone(module, length):
    assert offered(module, described("x" * length))["description"] == "x" * length


@each
def test_the_description_of_a_parameter_is_cut_too(module):
    hint = Annotated[int, Field(description="How many. " * 300)]
    text = schema_of(module, taking(hint))["properties"]["to"]["description"]
    assert len(text) <= 1_024
    assert text.endswith("How many. [shortened]")


# --- strict mode --------------------------------------------------------------------------------------

STRICT_WORDS = {
    "type", "properties", "items", "required", "additionalProperties", "anyOf", "enum", "const", "$ref",
    "$defs", "title", "description", "pattern", "format", "multipleOf", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
}  # fmt: skip


def assert_strict(schema):
    assert set(schema) <= STRICT_WORDS, schema
    assert {"type", "anyOf", "enum", "const", "$ref"} & set(schema), schema
    if schema.get("type") == "object":
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
    if "$ref" in schema:
        assert set(schema) == {"$ref"}
    inside = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    for one in [*inside, *schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]:
        assert_strict(one)


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(9, le=9)


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: set[str] = set()


class Tree(BaseModel):
    name: str
    below: "list[Tree]" = []


STRICT = [
    int, str | None, Literal["a", "b"], list[int], tuple[int, str], set[str], Route, Pair, Tree,
    list[Cat | Dog], Annotated[Cat | Dog, Field(discriminator="kind")],
    Annotated[str, Field(min_length=1, max_length=5)], Annotated[int, Field(ge=1, description="how many")],
]  # fmt: skip


@pytest.mark.parametrize("hint", STRICT, ids=str)
@pytest.mark.parametrize("api", [openai.ChatCompletions, openai.Responses])
def test_strict_mode_gets_the_subset_that_it_reads(api, hint):
    (offer,) = api(strict=True).tools_from([taking(hint)])
    function = offer.get("function", offer)
    assert function["strict"] is True
    assert_strict(function["parameters"])


def test_in_strict_mode_a_parameter_with_a_default_is_required_and_says_the_default():
    (offer,) = openai.Responses(strict=True).tools_from([taking(int, default=5)])
    assert offer["parameters"]["required"] == ["to"]


@pytest.mark.parametrize(
    ("hint", "parameter", "why"),
    [
        (dict[str, int], "to", "any names"),
        (dict, "to", "any names"),
        (Any, "to", "no type"),
        (list, "to", "no type"),
        (list[dict[str, int]], "to", "any names"),
        (dict[str, int] | None, "to", "any names"),
    ],
    ids=str,
)
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_what_strict_mode_cannot_hold_is_said_when_the_model_is_made(api, hint, parameter, why):
    with pytest.raises(
        ValueError, match=f'Tool move: its parameter "{parameter}" cannot.*strict=True.*{why}'
    ):
        openai.model(None, "m", [taking(hint)], api=api, strict=True)
    assert openai.model(None, "m", [taking(hint)], api=api)


def test_a_part_of_a_type_that_strict_mode_cannot_hold_is_named_with_its_parameter():
    class Box(BaseModel):
        labels: dict[str, str]

    with pytest.raises(ValueError, match=r'its parameter "to\.labels" cannot be offered'):
        openai.model(None, "m", [taking(Box)], strict=True)
    with pytest.raises(ValueError, match="Tool total: it cannot be offered"):
        openai.model(None, "m", {"total": lambda **amounts: 1}, strict=True)


def test_without_strict_mode_responses_is_told_so_since_it_takes_silence_for_a_yes():
    (offer,) = openai.Responses().tools_from([taking(int)])
    assert offer["strict"] is False


@each
def test_a_default_that_json_does_not_know_does_not_break_the_request(module):
    hint = Annotated[float, Field(json_schema_extra={"default": float("inf")})]
    json.dumps(module.tools_from([taking(hint)]), allow_nan=False)


def test_an_api_that_does_not_exist_is_said_when_the_model_is_made():
    with pytest.raises(ValueError, match='api is one of chat, responses, but was "assistants"'):
        openai.model(None, "m", [], api="assistants")
