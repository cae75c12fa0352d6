"""Arguments made for a schema: what a model that keeps to it could send. A seeded source of chance decides.

Not every schema can be met so (a `not`, an `allOf` that pulls in two directions); what comes out is then no good, and
whoever asked looks at it with a validator.
"""

import re
import string
from random import Random

import jsonschema_rs

__all__ = ["arguments_for", "as_json_schema"]

FORMATS = {
    "date-time": "2026-12-01T09:30:00Z", "time": "09:30:00Z", "date": "2026-12-01", "duration": "P3D",
    "email": "dana@brackenfold.example", "hostname": "brackenfold.example", "ipv4": "192.0.2.7", "ipv6": "2001:db8::7",
    "uuid": "7d444840-9dc0-11d1-b245-5ffdce74fad2", "uri": "https://brackenfold.example/a", "regex": "^a+$",
    "uri-reference": "a/b", "json-pointer": "/a/b",
}  # fmt: skip
EVERY_TYPE = ("string", "number", "integer", "boolean", "array", "object", "null")
DEEPEST = 12


def arguments_for(schema, chance: Random, tries: int = 6):
    """Return arguments that the schema takes, or None where none was found."""
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    for _ in range(tries):
        found = value(schema, schema, chance, 0)
        if isinstance(found, dict) and validator.is_valid(found):
            return found
    return None


def as_json_schema(schema):
    """Return a schema of Gemini's `parameters` as JSON Schema: nullable, and closed as the API is."""
    if isinstance(schema, list):
        return [as_json_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: one if key in {"enum", "default"} else as_json_schema(one) for key, one in schema.items()}
    if isinstance(found.get("properties"), dict) and found.get("type") == "object":
        found["additionalProperties"] = False
    return {"anyOf": [found, {"type": "null"}]} if found.pop("nullable", None) is True else found


def value(schema, root, chance, depth):
    if not isinstance(schema, dict):
        return "anything"
    if "$ref" in schema:
        found = root
        for part in schema["$ref"].removeprefix("#").split("/")[1:]:
            found = found[int(part)] if isinstance(found, list) else found[part.replace("~1", "/").replace("~0", "~")]
        found = found if isinstance(found, dict) else {}
        return value({**found, **{key: one for key, one in schema.items() if key != "$ref"}}, root, chance, depth + 1)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return chance.choice(schema["enum"])
    for keyword in ("anyOf", "oneOf", "allOf"):
        if schema.get(keyword):
            inner = chance.choice(schema[keyword]) if keyword != "allOf" else schema[keyword][0]
            beside = {key: one for key, one in schema.items() if key != keyword}
            return value({**beside, **inner} if isinstance(inner, dict) else beside, root, chance, depth + 1)
    types = schema.get("type", "object" if "properties" in schema else EVERY_TYPE)
    simple = [one for one in ([types] if isinstance(types, str) else types) if depth < DEEPEST or one not in COMPOUND]
    kind = chance.choice(simple or [types] if isinstance(types, str) else simple or list(types))
    return MAKERS[kind](schema, root, chance, depth)


def object_(schema, root, chance, depth):
    required = schema.get("required", [])
    share = 0.5 if depth < 4 else 0.1
    found = {
        name: value(inner, root, chance, depth + 1)
        for name, inner in schema.get("properties", {}).items()
        if name in required or (inner is not False and chance.random() < share)
    }
    rest = schema.get("additionalProperties", True)
    if rest is not False and depth < 3 and chance.random() < 0.3:
        found["another"] = value(rest, root, chance, depth + 1)
    found |= {name: value(rest, root, chance, depth + 1) for name in required if name not in found}
    while len(found) < schema.get("minProperties", 0):
        found[f"more{len(found)}"] = value(rest, root, chance, depth + 1)
    return found


def array(schema, root, chance, depth):
    least = schema.get("minItems", 0)
    count = (
        chance.randint(least, max(least, min(schema.get("maxItems", least + 2), least + 2)))
        if depth < DEEPEST
        else least
    )
    positions = schema.get("prefixItems", [])
    return [
        value(positions[n] if n < len(positions) else schema.get("items", True), root, chance, depth + 1)
        for n in range(max(count, len(positions) if least else 0))
    ]


def number(schema, root, chance, depth):
    low = schema.get("minimum", schema.get("exclusiveMinimum", -10) + ("exclusiveMinimum" in schema) * 0.5)
    high = schema.get("maximum", max(low, schema.get("exclusiveMaximum", low + 20)))
    return round(chance.uniform(low, high), 3)


def integer(schema, root, chance, depth):
    low = schema.get("minimum", schema.get("exclusiveMinimum", -10) + ("exclusiveMinimum" in schema))
    high = schema.get("maximum", schema.get("exclusiveMaximum", max(low, 0) + 21) - 1)
    step = schema.get("multipleOf", 1)
    return int(chance.randint(int(low), max(int(low), int(min(high, low + 50)))) // step * step)


def text(schema, root, chance, depth):
    if schema.get("format") in FORMATS:
        return FORMATS[schema["format"]]
    if "pattern" in schema:
        try:
            return matching(re._parser.parse(schema["pattern"]), chance)
        except (re.error, KeyError):
            return ""
    least = schema.get("minLength", 0)
    most = min(schema.get("maxLength", least + 8), least + 8)
    return "".join(chance.choices(string.ascii_letters + " é漢", k=chance.randint(least, max(least, most))))


def matching(parsed, chance) -> str:
    return "".join(PIECES[str(kind)](what, chance) for kind, what in parsed)


def repeated(what, chance):
    least, most, inner = what
    return "".join(matching(inner, chance) for _ in range(chance.randint(least, min(int(most), least + 4))))


def one_of(what, chance):
    negated = str(what[0][0]) == "NEGATE"
    letters = {letter for kind, one in what if str(kind) != "NEGATE" for letter in CLASSES[str(kind)](one)}
    return chance.choice(sorted(set(string.printable[:95]) - letters if negated else letters))


CATEGORIES = {
    "CATEGORY_DIGIT": string.digits, "CATEGORY_WORD": string.ascii_letters + string.digits + "_", "CATEGORY_SPACE": " ",
    "CATEGORY_NOT_SPACE": string.ascii_letters, "CATEGORY_NOT_DIGIT": string.ascii_letters, "CATEGORY_NOT_WORD": "-!",
}  # fmt: skip
CLASSES = {
    "LITERAL": lambda one: chr(one),
    "RANGE": lambda one: map(chr, range(one[0], one[1] + 1)),
    "CATEGORY": lambda one: CATEGORIES[str(one)],
}
PIECES = {
    "LITERAL": lambda what, chance: chr(what),
    "NOT_LITERAL": lambda what, chance: "a" if what != ord("a") else "b",
    "ANY": lambda what, chance: chance.choice("ab "),
    "AT": lambda what, chance: "",
    "IN": one_of,
    "MAX_REPEAT": repeated,
    "MIN_REPEAT": repeated,
    "SUBPATTERN": lambda what, chance: matching(what[3], chance),
    "BRANCH": lambda what, chance: matching(chance.choice(what[1]), chance),
}
COMPOUND = {"array", "object"}
MAKERS = {
    "string": text,
    "number": number,
    "integer": integer,
    "boolean": lambda schema, root, chance, depth: chance.random() < 0.5,
    "null": lambda schema, root, chance, depth: None,
    "array": array,
    "object": object_,
}
