"""Keywords: where schemas stand inside a schema."""

import pytest

from pegboard.core.keywords import DATA, STRUCTURE, SUBSCHEMAS, subschemas


@pytest.mark.parametrize(
    ("schema", "inside"),
    [
        (True, []),
        (None, []),
        ({"properties": {"enum": {"type": "string"}}}, [("properties", "enum", {"type": "string"})]),
        ({"items": [True, {}]}, [("items", "0", True), ("items", "1", {})]),
        ({"not": {}}, [("not", "", {})]),
        ({"enum": [{"not": {}}], "x": {"not": {}}}, []),
    ],
)
def test_the_schemas_directly_inside_are_found_and_nothing_else(schema, inside):
    assert list(subschemas(schema)) == inside


def test_no_keyword_is_of_two_kinds():
    assert not SUBSCHEMAS.keys() & DATA
    assert not SUBSCHEMAS.keys() & STRUCTURE
    assert not DATA & STRUCTURE
