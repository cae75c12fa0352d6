"""Catalog files that are one JSON document, as model APIs' tools are kept."""

import json

import pytest

from pegboard.adapters.files import Problem, read_catalog_file
from pegboard.engine.intake import take_in_lines

TOOL = {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {"city": {}}}}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("value", [[TOOL], {"tools": [TOOL]}])
def test_a_file_of_openai_tools_is_read_whole_and_its_tools_are_the_files(tmp_path, value, indent):
    path = tmp_path / "weather.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(value, indent=indent).encode())
    found = read_catalog_file(path)
    entries, refused = take_in_lines([tool.value for tool in found.tools], default_server=found.server)
    assert [entry.tool_id for entry in entries] == ["weather.get_weather"]
    assert entries[0].input_schema == TOOL["parameters"]
    assert refused == found.problems == ()


def test_a_member_that_is_no_object_is_named(tmp_path):
    (tmp_path / "a.json").write_text('[{"name": "a"},\n 7]')
    found = read_catalog_file(tmp_path / "a.json")
    assert found.problems == (Problem(where=f"{tmp_path / 'a.json'}, tool 2", reason="it is not a JSON object"),)
    assert len(found.tools) == 1


@pytest.mark.parametrize("text", ['{"tool_id": "a.b"}', '{"tool_id": "a.b"}\n', '\n\n{"tool_id": "a.b"}\n'])
def test_lines_stay_lines(tmp_path, text):
    (tmp_path / "a.jsonl").write_text(text)
    assert [tool.value for tool in read_catalog_file(tmp_path / "a.jsonl").tools] == [{"tool_id": "a.b"}]


@pytest.mark.parametrize("text", ['[{"name": "a"},', '{"tools": [', "[1, NaN]"])
def test_a_broken_document_is_read_by_lines_and_each_says_what_is_wrong(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    found = read_catalog_file(tmp_path / "a.json")
    assert found.tools == ()
    assert found.problems[0].where.endswith("line 1")
