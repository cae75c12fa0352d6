"""MiniLM as an int8 ONNX graph, written node by node.

No exporter is used: the graph is the model of `minilm.py` in onnxruntime's fused operators, so a reader can hold one
beside the other, and the file comes out the same each time. Token ids and an attention mask go in; unit vectors come
out.

Weights are symmetric int8 with a scale for each output column, in 7 bits: an unsigned activation times a signed
weight is summed in pairs in 16 bits on processors without VNNI, and 8-bit weights overflow there (255 * 127 * 2 >
32767). With 7 bits every processor computes the same integers. Activations are quantised while running, over the
whole input: **encode one text a run**, otherwise a text's vector depends on its neighbours.

Source: onnxruntime, "Quantize ONNX models" (reduce_range) and "Contrib operators".
"""

from pathlib import Path

import numpy as np
import onnx
from minilm import EPSILON, HEADS, LAYERS, MiniLM
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

__all__ = ["build"]

FUSED = "com.microsoft"
WEIGHT_LIMIT = 63  # 7 bits, symmetric
TABLE_LIMIT = 127  # an embedding row is only looked up, so it keeps 8 bits


class Graph:
    """Nodes and initialisers being put together."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.values: dict[str, NDArray[np.generic]] = {}

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        self.values[name] = value
        return name

    def node(self, operator: str, inputs: list[str], output: str, domain: str = "", **attributes: object) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def product(self, name: str, source: str, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> str:
        """Multiply by an (outputs, inputs) weight in int8 and add a float bias."""
        scale = np.maximum(np.abs(weight).max(axis=1), 1e-8) / WEIGHT_LIMIT
        levels = np.rint(weight / scale[:, None]).astype(np.int8).T
        inputs = [
            source,
            self.constant(f"{name}.weight", np.ascontiguousarray(levels)),
            self.constant(f"{name}.scale", scale.astype(np.float32)),
            "",
            self.constant(f"{name}.bias", bias),
        ]
        return self.node("DynamicQuantizeMatMul", inputs, name, FUSED)


def arrays_of(model: MiniLM) -> dict[str, NDArray[np.float32]]:
    return {name: tensor.numpy().astype(np.float32) for name, tensor in model.state_dict().items()}


def add_embeddings(graph: Graph, weights: dict[str, NDArray[np.float32]]) -> str:
    """Look up word rows in int8 with a scale a row, add positions and the one token type, normalise."""
    words = weights["words.weight"]
    scale = np.maximum(np.abs(words).max(axis=1, keepdims=True), 1e-8) / TABLE_LIMIT
    graph.constant("words", np.rint(words / scale).astype(np.int8))
    graph.constant("words.scale", scale.astype(np.float32))
    graph.constant("positions", weights["positions.weight"] + weights["types.weight"][0])
    graph.constant("zero", np.array([0], dtype=np.int64))
    graph.constant("one", np.array([1], dtype=np.int64))

    graph.node("Gather", ["words", "input_ids"], "word_levels")
    graph.node("Cast", ["word_levels"], "word_floats", to=TensorProto.FLOAT)
    graph.node("Gather", ["words.scale", "input_ids"], "word_scales")
    graph.node("Mul", ["word_floats", "word_scales"], "word_vectors")
    graph.node("Shape", ["input_ids"], "length", start=1, end=2)
    graph.node("Slice", ["positions", "zero", "length", "zero"], "place_rows")
    graph.node("Unsqueeze", ["place_rows", "zero"], "place_vectors")
    graph.node("Add", ["word_vectors", "place_vectors"], "summed")
    graph.constant("norm.weight", weights["norm.weight"])
    graph.constant("norm.bias", weights["norm.bias"])
    return graph.node("LayerNormalization", ["summed", "norm.weight", "norm.bias"], "layer0", epsilon=EPSILON, axis=-1)


def add_layer(graph: Graph, weights: dict[str, NDArray[np.float32]], number: int, hidden: str) -> str:
    """Attention, sum and norm, two products with gelu between, sum and norm."""

    def given(name: str) -> NDArray[np.float32]:
        return weights[f"layers.{number}.{name}"]

    def normed(name: str, source: str, residual: str) -> str:
        for kind in ("weight", "bias"):
            graph.constant(f"l{number}.{name}.{kind}", given(f"{name}.{kind}"))
        inputs = [source, residual, f"l{number}.{name}.weight", f"l{number}.{name}.bias"]
        return graph.node("SkipLayerNormalization", inputs, f"l{number}.{name}", FUSED, epsilon=EPSILON)

    parts = ("query", "key", "value")
    weight = np.concatenate([given(f"{part}.weight") for part in parts])
    bias = np.concatenate([given(f"{part}.bias") for part in parts])
    graph.product(f"l{number}.parts", hidden, weight, bias)
    names = [f"l{number}.{part}" for part in parts]
    graph.nodes.append(
        helper.make_node("Split", [f"l{number}.parts"], names, name=f"l{number}.split", axis=-1, num_outputs=3)
    )
    mixed = graph.node("MultiHeadAttention", [*names, "", "mask32"], f"l{number}.mixed", FUSED, num_heads=HEADS)
    attended = graph.product(f"l{number}.attended", mixed, given("attended.weight"), given("attended.bias"))
    hidden = normed("attended_norm", attended, hidden)
    inner = graph.product(f"l{number}.inner", hidden, given("inner.weight"), given("inner.bias"))
    curved = graph.node("Gelu", [inner], f"l{number}.gelu", FUSED)
    outer = graph.product(f"l{number}.outer", curved, given("outer.weight"), given("outer.bias"))
    return normed("outer_norm", outer, hidden)


def add_pooling(graph: Graph, hidden: str) -> None:
    """Mean over real tokens, then unit length."""
    graph.node("Cast", ["attention_mask"], "mask_floats", to=TensorProto.FLOAT)
    graph.constant("two", np.array([2], dtype=np.int64))
    graph.node("Unsqueeze", ["mask_floats", "two"], "kept")
    graph.node("Mul", [hidden, "kept"], "kept_hidden")
    graph.node("ReduceSum", ["kept_hidden", "one"], "totals", keepdims=0)
    graph.node("ReduceSum", ["mask_floats", "one"], "counts", keepdims=1)
    graph.node("Div", ["totals", "counts"], "means")
    graph.node("LpNormalization", ["means"], "vectors", axis=1, p=2)


def build(model: MiniLM, path: Path) -> None:
    """Write *model* to *path* as int8 ONNX; the check of onnx passes on it or this raises."""
    graph = Graph()
    weights = arrays_of(model)
    hidden = add_embeddings(graph, weights)
    graph.node("Cast", ["attention_mask"], "mask32", to=TensorProto.INT32)
    for number in range(LAYERS):
        hidden = add_layer(graph, weights, number, hidden)
    add_pooling(graph, hidden)
    rows = ["rows", "tokens"]
    proto = helper.make_graph(
        graph.nodes,
        "minilm",
        [helper.make_tensor_value_info(name, TensorProto.INT64, rows) for name in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["rows", "dimensions"])],
        [numpy_helper.from_array(value, name) for name, value in graph.values.items()],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(FUSED, 1)]
    whole = helper.make_model(proto, opset_imports=opsets, ir_version=10, producer_name="pegboard")
    onnx.checker.check_model(whole)
    path.write_bytes(whole.SerializeToString(deterministic=True))
