"""The page of the HTTP API has every door, and no other; and the published description has them too."""

from pegboard.gateway.doors import DOORS, Role
from pegboard.gateway.openapi import description
from tests.pages import REFERENCE, tables

HEADINGS = {"For agents": Role.AGENT, "For applications": Role.APPLICATION, "For operators": Role.OPERATOR}


def test_the_page_has_every_door_under_its_role_and_no_other():
    shown = tables(REFERENCE / "http-api.md")
    for heading, role in HEADINGS.items():
        assert list(shown[heading]) == [f"{door.method} {door.path}" for door in DOORS if door.role is role]


def test_the_page_names_whatever_a_door_may_be_asked():
    text = (REFERENCE / "http-api.md").read_text()
    for door in DOORS:
        row = next(line for line in text.splitlines() if f"`{door.method} {door.path}`" in line)
        for name, field in door.said.model_fields.items():
            assert f"`{field.alias or name}`" in row or f" {field.alias or name} " in row, (door.path, name)


def test_the_description_has_every_door_and_each_once():
    found = description()["paths"]
    assert {(path, method) for path in found for method in found[path]} == {(d.path, d.method.lower()) for d in DOORS}
    names = [operation["operationId"] for path in found.values() for operation in path.values()]
    assert len(names) == len(set(names))


def test_operators_doors_are_apart_from_the_others():
    assert all(door.path.startswith("/v1/operator/") is (door.role is Role.OPERATOR) for door in DOORS)
