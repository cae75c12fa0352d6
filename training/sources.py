"""The data folders as values: tools, labelled tasks, which part each belongs to, and the texts training may see.

Every set is used by the split its README names. Training sees: metatool train, half of sealtools dev, three quarters
of the training halves of stabletoolbench and bfcl, and toucan_mcp texts. Models are chosen on what is kept from those
(metatool dev and the other parts). Test parts are measured once a model is final, and live-mcp, tau2 and agentdojo
are never trained on.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "DEV_SETS",
    "TEST_SETS",
    "Task",
    "TaskSet",
    "Tool",
    "document",
    "head",
    "load_set",
    "load_tools",
    "part_of",
    "parameters",
    "words",
    "written",
]

SPLIT_WORDS = re.compile(r"[^\W_]+", re.UNICODE)
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
HALVED = frozenset({"stabletoolbench", "bfcl"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool as its server declares it."""

    tool_id: str
    namespace: str
    name: str
    description: str
    parameters: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task and, for each of its steps, the tools that do it; most sets have one tool a step."""

    query: str
    steps: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSet:
    """A catalog and the tasks of one part."""

    name: str
    tools: tuple[Tool, ...]
    tasks: tuple[Task, ...]


def words(name: str) -> str:
    """Split an identifier into words: `getUser_v2` becomes `get user v2`.

    >>> words("getUser_v2")
    'get user v2'
    """
    return " ".join(SPLIT_WORDS.findall(CAMEL.sub(" ", name))).casefold()


def head(tool: Tool) -> str:
    """Write namespace and name as words; a namespace that says nothing, or that the name repeats, is left out."""
    name = words(tool.name)
    space = words(tool.namespace)
    return name if not space or space in ("none", "chatgpt plugin") or space in name else f"{space} {name}"


def document(tool: Tool) -> str:
    """Write the text of a tool that is encoded: namespace, name, description and the names of its first parameters."""
    return written(head(tool), tool.description, [name for name, _ in tool.parameters])


def written(start: str, description: str, parameters: Sequence[str]) -> str:
    """Join the parts of a document; the ones that are empty leave no trace."""
    text = f"{start}: {description.strip()}" if description.strip() else start
    return f"{text} Parameters: {', '.join(words(name) for name in parameters[:12])}" if parameters else text


def parameters(schema: object) -> tuple[tuple[str, str], ...]:
    """Read top-level parameter names and descriptions; a schema of any other shape has none."""
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(found, Mapping):
        return ()
    rows = []
    for name, body in found.items():
        text = body.get("description") if isinstance(body, Mapping) else None
        rows.append((str(name), text if isinstance(text, str) else ""))
    return tuple(rows)


def tool_of(tool_id: str, namespace: str, row: Mapping[str, object], schema_key: str) -> Tool:
    text = row.get("description")
    return Tool(
        tool_id=tool_id,
        namespace=namespace,
        name=str(row["name"]),
        description=text if isinstance(text, str) else "",
        parameters=parameters(row.get(schema_key)),
    )


def rows_of(path: Path) -> Iterable[dict[str, object]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def load_tools(data: Path, folder: str) -> tuple[Tool, ...]:
    """Read a folder's catalog in file order."""
    if folder != "live-mcp":
        rows = rows_of(data / folder / "tools.jsonl")
        return tuple(tool_of(str(row["tool_id"]), str(row["namespace"]), row, "input_schema") for row in rows)
    tools = []
    for path in sorted((data / folder / "servers").glob("*.json")):
        listing = json.loads(path.read_text(encoding="utf-8"))
        server = listing["server"]
        tools += [tool_of(f"{server}/{row['name']}", server, row, "inputSchema") for row in listing["tools"]]
    return tuple(tools)


def digit(text: str, place: int) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[place], 16)


def part_of(folder: str, row: Mapping[str, object]) -> str:
    """Name the part a labelled row belongs to: `train`, `dev`, `test` or `none`.

    The halves of bfcl and stabletoolbench go by the first hex digit of each tool's digest (even: training), and a
    task whose tools straddle them belongs to none. Of the training half, a task goes to `dev` if any tool's second
    digit is under 4.
    """
    relevant = [str(tool) for tool in row["relevant"]]  # type: ignore[attr-defined]
    split = str(row["split"])
    if not relevant:
        return "none"
    if folder in HALVED:
        halves = {digit(tool, 0) % 2 for tool in relevant}
        if len(halves) == 2:
            return "none"
        if halves == {1}:
            return "test"
        return "dev" if any(digit(tool, 1) < 4 for tool in relevant) else "train"
    if folder == "sealtools" and split == "dev":
        return "train" if digit(str(row["query_id"]), 0) % 2 else "dev"
    if folder in ("tau2", "agentdojo"):
        return "test"
    return split if split in ("train", "dev") else "test"


def load_set(data: Path, folder: str, part: str) -> TaskSet:
    """Read the tasks of one part, with the whole catalog of their folder."""
    tools = load_tools(data, folder)
    if folder == "live-mcp":
        rows = rows_of(data / folder / "tasks.jsonl") if part == "test" else ()
        tasks = [
            Task(query=str(row["query"]), steps=tuple(frozenset(step) for step in row["acceptable"]))  # type: ignore[attr-defined]
            for row in rows
            if row["acceptable"]  # a few have no right tool: they measure confidence, not ranking
        ]
    else:
        tasks = [
            Task(
                query=str(row["query"]), steps=tuple(frozenset([str(tool)]) for tool in dict.fromkeys(row["relevant"]))
            )  # type: ignore[call-overload]
            for row in rows_of(data / folder / "queries.jsonl")
            if part_of(folder, row) == part
        ]
    return TaskSet(name=f"{folder} {part}", tools=tools, tasks=tuple(tasks))


# Chosen on, and judged on. The last three are only reported.
DEV_SETS = (("metatool", "dev"), ("sealtools", "dev"), ("stabletoolbench", "dev"), ("bfcl", "dev"))
TEST_SETS = (
    ("metatool", "test"),
    ("sealtools", "test"),
    ("stabletoolbench", "test"),
    ("bfcl", "test"),
    ("tau2", "test"),
    ("agentdojo", "test"),
    ("live-mcp", "test"),
)
