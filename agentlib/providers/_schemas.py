"""A tool's description and schema as a provider takes them, or an error that names what it would refuse."""

import re
from typing import Any

from agentlib.messages import Entry, describe, json_ready, json_text
from agentlib.tools import Tool

__all__ = ["description_of", "parameters_of"]

MAX_DESCRIPTION_CHARS = 1_024
"""What one provider takes (OpenHands 4838, chatlas 35); we keep to it everywhere, so that a tool fits all."""

SHORTENED = " [shortened]"

_SENTENCE_END = re.compile(r"[.!?](?=\s)|[\u3002\uff01\uff1f]")


def description_of(tool: Tool) -> str:
    """Give a tool's description, cut behind a sentence if it is too long."""
    return _cut(tool.description)


def _cut(text: str) -> str:
    if len(text) <= MAX_DESCRIPTION_CHARS:
        return text
    room = MAX_DESCRIPTION_CHARS - len(SHORTENED)
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, room + 1)]
    # A first sentence of a few words ("Note.") says less than half a long one.
    ends = [end for end in ends if room // 2 < end <= room] or [text.rfind(" ", room // 2, room)]
    return text[: ends[-1] if ends[-1] > 0 else room].rstrip() + SHORTENED


def parameters_of(tool: Tool, *, strict: bool = False, names: re.Pattern[str] | None = None) -> Entry:
    """Give the JSON Schema of a tool's arguments, an object with its properties named even if there are none.

    strict: in the subset of OpenAI's strict mode, where every parameter has to be given. names: what a
    provider takes for the name of a property; None = anything.
    Raises ValueError, with tool, parameter and reason, for what cannot be written so.
    """
    return _Writer(tool, strict, names).write_all()


_ONE = {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
_LISTS = {"anyOf", "oneOf", "allOf", "prefixItems"}
_TABLES = {"properties", "patternProperties", "dependentSchemas"}

_STRICT = {
    "type", "properties", "items", "required", "additionalProperties", "anyOf", "enum", "const", "$ref",
    "$defs", "title", "description", "pattern", "format", "multipleOf", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
}  # fmt: skip
"""What strict mode reads. Source: https://platform.openai.com/docs/guides/structured-outputs"""

_NARROWING = {"default", "examples", "deprecated", "discriminator", "minLength", "maxLength", "uniqueItems",
              "minProperties", "maxProperties", "readOnly", "writeOnly"}  # fmt: skip
"""What may be left out: the tool's own check of its arguments knows it."""

_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
"""The formats that strict mode knows."""


class _Writer:
    """Writes the schema of one tool. defs: the types that it names, as far as they have been met."""

    def __init__(self, tool: Tool, strict: bool, names: re.Pattern[str] | None) -> None:
        self.tool, self.strict, self.names = tool, strict, names
        self.given: Entry = {}
        self.defs: Entry = {}

    def write_all(self) -> Entry:
        schema = {"type": "object", "properties": {}, **self.tool.schema}
        odd = [key for key in ("anyOf", "oneOf", "allOf", "enum", "not", "$ref") if key in schema]
        if schema["type"] != "object" or odd:
            raise self.refused("", f"its arguments are an object, but the schema begins with {odd or schema}")
        self.given = {name: schema.pop(name, {}) for name in ("$defs", "definitions")}
        written = self.write(schema, "")
        return {**written, **{name: defs for name, defs in self.defs.items() if defs}}

    def refused(self, where: str, why: str) -> ValueError:
        what = f'its parameter "{where}"' if where else "it"
        mode = " with strict=True" if self.strict else ""
        return ValueError(f"Tool {self.tool.name}: {what} cannot be offered{mode}: {why}.")

    def write(self, schema: Any, where: str) -> Any:
        """Write one schema. where: the parameter that it belongs to, with the way into it."""
        if schema is True or schema == {}:
            if self.strict:
                raise self.refused(where, "it has no type")
            return {}
        if schema is False:
            return {"not": {}}
        if not isinstance(schema, dict):
            raise self.refused(where, f"{describe(schema)} is no schema")
        made: Entry = {}
        for key, value in schema.items():
            if key in _TABLES and isinstance(value, dict):
                made[key] = {name: self.property(name, one, where) for name, one in value.items()}
            elif key in _LISTS and isinstance(value, list):
                made[key] = [self.write(one, where) for one in value]
            elif key == "items" and isinstance(value, list):  # as it was written before 2020
                made["prefixItems"] = [self.write(one, where) for one in value]
            elif key in _ONE and not isinstance(value, bool):
                made[key] = self.write(value, where)
            elif key == "description" and isinstance(value, str):
                made[key] = _cut(value)
            elif key == "$ref":
                made[key] = self.reference(value, where)
            elif not json_ready(value)[2]:  # a default may be a number that JSON does not know
                made[key] = value
        kinds = made.get("type")
        if "array" in (kinds if isinstance(kinds, list) else [kinds]):
            made = self.array(made, where)
        return self.in_strict_mode(made, where) if self.strict else made

    def property(self, name: str, schema: Any, where: str) -> Any:
        place = f"{where}.{name}" if where else name
        if self.names is not None and not self.names.fullmatch(name):
            raise self.refused(place, "its name may hold 1 to 64 letters (a to z), digits, _, . and -")
        return self.write(schema, place)

    def reference(self, target: Any, where: str) -> Any:
        """Write the type that is named here, at the first time; so an error can name the parameter."""
        table, _, name = str(target).removeprefix("#/").partition("/")
        if name in self.given.get(table, {}) and name not in self.defs.setdefault(table, {}):
            self.defs[table][name] = {}  # it may name itself
            self.defs[table][name] = self.write(self.given[table][name], where)
        return target

    def array(self, made: Entry, where: str) -> Entry:
        """Say of all items together what is said of each place: a list without "items" is refused."""
        places, rest = made.pop("prefixItems", []), made.pop("items", None)
        kinds = [*places, rest] if isinstance(rest, dict) and rest else places
        distinct = [kind for number, kind in enumerate(kinds) if kind not in kinds[:number]]
        if not distinct and self.strict and made.get("maxItems") != 0:
            raise self.refused(where, "it does not say of what type its items are")
        if len(distinct) > 1 and places:
            words = f"In this order: {', '.join(map(json_text, places))}."
            made["description"] = _cut(" ".join(filter(None, [made.get("description"), words])))
        several: Entry = {"anyOf": distinct}
        made["items"] = several if len(distinct) > 1 else distinct[0] if distinct else {}
        if self.strict and not distinct:
            made["items"] = {"type": "string"}  # a list that must be empty
        return made

    def in_strict_mode(self, made: Entry, where: str) -> Entry:
        if "$ref" in made:
            return {"$ref": made["$ref"]}  # nothing may stand beside it
        if "oneOf" in made:
            made["anyOf"] = made.pop("oneOf")
        if len(parts := made.get("allOf", [])) == 1:
            del made["allOf"]
            made = {**parts[0], **made}
        if made.get("format") not in _FORMATS:
            made.pop("format", None)
        if not {"type", "anyOf", "enum", "const", "$ref"} & set(made):
            raise self.refused(where, "it has no type")
        free = made.get("additionalProperties", False)
        if made.get("type") == "object" and (free is not False or "properties" not in made):
            raise self.refused(where, "it takes any names, and strict mode wants all of them beforehand")
        if made.get("type") == "object":
            made["additionalProperties"] = False
            made["required"] = list(made["properties"])
        if "default" in made and made["default"] is not None:
            words = f"Usually {json_text(made['default'])}."
            made["description"] = _cut(" ".join(filter(None, [made.get("description"), words])))
        for key in [key for key in made if key not in _STRICT]:
            if key not in _NARROWING:
                raise self.refused(where, f'strict mode has no "{key}"')
            del made[key]
        return made
