"""Wording: a validator's error in words that help a model to send the call again, correctly.

Says what the schema asks for, never what the arguments held, except names of properties that are not known.
What is said is bounded, whatever the schema holds. Where a value of the schema may name a tool that the caller may not
see, no value is quoted: JSON escapes and the cut at the bound leave parts of a name that no search finds.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import jsonschema_rs

from pegboard.core.names import compact_json
from pegboard.core.text import one_line

__all__ = ["Wording", "describe", "describe_without_values"]

Wording: TypeAlias = Callable[[jsonschema_rs.ValidationError], str]

_WORD_CHARACTERS = 60
_LISTED = 20
_BRANCHES = 4
_DEEPEST = 3

_Sentences: TypeAlias = Mapping[str, Callable[[Any], str]]

# Error kind -> what it says about "the value"; the rest is the validator's own sentence, in which the arguments' values
# are masked.
_SENTENCES: _Sentences = {
    "required": lambda kind: f"the required property {_word(kind.property)} is missing",
    "additionalProperties": lambda kind: f"unknown {_properties(kind.unexpected)}",
    "unevaluatedProperties": lambda kind: f"unknown {_properties(kind.unexpected)}",
    "type": lambda kind: f"must be of type {' or '.join(kind.types)}",
    "enum": lambda kind: f"must be one of {_words(kind.options)}",
    "const": lambda kind: f"must be {_word(kind.expected_value)}",
    "pattern": lambda kind: f"must match the pattern {_word(kind.pattern)}",
    "format": lambda kind: f"must have the format {_word(kind.format)}",
    "minimum": lambda kind: f"must be at least {_word(kind.limit)}",
    "maximum": lambda kind: f"must be at most {_word(kind.limit)}",
    "exclusiveMinimum": lambda kind: f"must be greater than {_word(kind.limit)}",
    "exclusiveMaximum": lambda kind: f"must be less than {_word(kind.limit)}",
    "multipleOf": lambda kind: f"must be a multiple of {_word(kind.multiple_of)}",
    "minLength": lambda kind: f"must have at least {kind.limit} characters",
    "maxLength": lambda kind: f"must have at most {kind.limit} characters",
    "minItems": lambda kind: f"must have at least {kind.limit} items",
    "maxItems": lambda kind: f"must have at most {kind.limit} items",
    "minProperties": lambda kind: f"must have at least {kind.limit} properties",
    "maxProperties": lambda kind: f"must have at most {kind.limit} properties",
    "uniqueItems": lambda kind: "must not hold the same item twice",
    "contains": lambda kind: "does not hold as many items of a kind as the schema asks for",
    "not": lambda kind: "must not be what the schema excludes",
    "falseSchema": lambda kind: "is not accepted at all",
    "tooManySteps": lambda kind: "cannot be matched with the schema's pattern within bounds",
    "oneOfMultipleValid": lambda kind: "fits several of the alternatives, and must fit exactly one",
    "propertyNames": lambda kind: "has a property whose name the schema does not accept",
    "additionalItems": lambda kind: f"must have at most {kind.limit} items",
    "unevaluatedItems": lambda kind: "has items that the schema does not accept",
}

# The rows that quote texts out of the schema, without them. Numbers and names of properties stay: these are served.
_WITHOUT_VALUES: _Sentences = {
    **_SENTENCES,
    "enum": lambda kind: "is not one of the allowed values",
    "const": lambda kind: "is not the one allowed value",
    "pattern": lambda kind: "does not match the pattern that the schema asks for",
    "format": lambda kind: "does not have the format that the schema asks for",
}


def describe(error: jsonschema_rs.ValidationError) -> str:
    """Say in one clause where the arguments break the schema and what it asks for there."""
    return _describe(error, _DEEPEST, _SENTENCES, lambda error: one_line(error.message, 200))


def describe_without_values(error: jsonschema_rs.ValidationError) -> str:
    """Say it without quoting any value out of the schema."""
    return _describe(error, _DEEPEST, _WITHOUT_VALUES, lambda error: f"does not keep to {error.kind.name!r}")


def _describe(error: jsonschema_rs.ValidationError, deep: int, sentences: _Sentences, otherwise: Wording) -> str:
    where = "".join(f"/{part}" for part in error.instance_path)
    return f"{one_line(where, 200) or 'the arguments'}: {_sentence(error, deep, sentences, otherwise)}"


def _sentence(error: jsonschema_rs.ValidationError, deep: int, sentences: _Sentences, otherwise: Wording) -> str:
    kind: Any = error.kind
    key = _KEY.get(type(kind), kind.name)
    if key in {"anyOf", "oneOf"} and deep:
        branches = [branch[0] for branch in kind.context[:_BRANCHES] if branch]
        firsts = [_describe(first, deep - 1, sentences, otherwise) for first in branches]
        return f"fits none of the {len(kind.context)} alternatives ({_or_more(firsts, len(kind.context), ' | ')})"
    sentence = sentences.get(key)
    return sentence(kind) if sentence else otherwise(error)


# Kinds that share the keyword of another one.
_KEY: Mapping[type, str] = {
    jsonschema_rs.ValidationErrorKind.OneOfMultipleValid: "oneOfMultipleValid",
    jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded: "tooManySteps",
    jsonschema_rs.ValidationErrorKind.RegexEngineFailure: "tooManySteps",
}


def _properties(names: list[str]) -> str:
    return f"{'property' if len(names) == 1 else 'properties'} {_words(names)}"


def _words(values: list[Any]) -> str:
    return _or_more([_word(value) for value in values[:_LISTED]], len(values), ", ")


def _or_more(shown: Iterable[str], total: int, separator: str) -> str:
    listed = list(shown)
    more = total - len(listed)
    return separator.join([*listed, f"and {more} more"] if more > 0 else listed)


def _word(value: Any) -> str:
    return one_line(compact_json(value), _WORD_CHARACTERS)
