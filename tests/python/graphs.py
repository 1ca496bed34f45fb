"""Small models of the tests, made so that the oldest supported host loads them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, STRING, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING, TensorProto.BOOL
# ONNX Runtime 1.23 reads up to these.
OPSET, IR = 17, 10


def value(name, dims, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


def node(op, inputs, outputs, **attributes):
    """A node that is named like its first output; inputs and outputs in one string each."""
    inputs, outputs = inputs.split(), outputs.split()
    return helper.make_node(op, inputs, outputs, name=outputs[0], **attributes)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model(nodes, inputs, outputs, constants=(), opset=OPSET):
    graph = helper.make_graph(nodes, "main", inputs, outputs, initializer=list(constants))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR)
    onnx.checker.check_model(made)
    return made


def weights(rows, columns, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32) / np.float32(rows**0.5)


def perceptron(width=8, batch="n"):
    """y = softmax(relu((x + b) @ w) @ v): five nodes that no optimiser of the host merges, claimed whole."""
    return model(
        [
            node("Add", "x b", "xb"),
            node("MatMul", "xb w", "h"),
            node("Relu", "h", "r"),
            node("MatMul", "r v", "logits"),
            node("Softmax", "logits", "y", axis=-1),
        ],
        [value("x", [batch, width])],
        [value("y", [batch, width])],
        [
            constant("w", weights(width, width, 1)),
            constant("b", np.linspace(-1, 1, width, dtype=np.float32)),
            constant("v", weights(width, width, 2)),
        ],
    )


def perceptron_of(x, width=8):
    """What `perceptron` computes, in numpy."""
    w, b, v = weights(width, width, 1), np.linspace(-1, 1, width, dtype=np.float32), weights(width, width, 2)
    logits = np.maximum((x + b) @ w, 0) @ v
    e = np.exp(logits - logits.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def through_sequence(source, target):
    """Two nodes that hand a tensor through a sequence, which no tensor execution provider takes."""
    return [
        node("SequenceConstruct", source, f"{target}_sequence"),
        node("SequenceAt", f"{target}_sequence first", target),
    ]


def lookup(rows, width):
    """y = 2 * table[index], with a large table and little work."""
    return model(
        [node("Gather", "table index", "row", axis=0), node("Add", "row row", "y")],
        [value("index", ["n"], INT64)],
        [value("y", ["n", width])],
        [constant("table", np.arange(rows * width, dtype=np.float32).reshape(rows, width))],
    )


def ramp(width):
    """y = relu(x + c) * x: large values and little work."""
    return model(
        [node("Add", "x c", "a"), node("Relu", "a", "r"), node("Mul", "r x", "y")],
        [value("x", ["n", width])],
        [value("y", ["n", width])],
        [constant("c", np.linspace(-1, 1, width, dtype=np.float32))],
    )


FIRST = constant("first", np.array(0, np.int64))


def mixed():
    """z = relu(x + c) through a sequence, times c, minus x: two partitions around nodes of the CPU."""
    return model(
        [
            node("Add", "x c", "a"),
            node("Relu", "a", "r"),
            *through_sequence("r", "s"),
            node("Mul", "s c", "m"),
            node("Sub", "m x", "z"),
        ],
        [value("x", ["n", 4])],
        [value("z", ["n", 4])],
        [constant("c", np.array([1, -2, 3, 0.5], np.float32)), FIRST],
    )


def mixed_of(x):
    c = np.array([1, -2, 3, 0.5], np.float32)
    return np.maximum(x + c, 0) * c - x


def strings_only():
    """A model of which an execution provider for numbers can claim nothing."""
    return model(
        [node("StringConcat", "a b", "c"), node("StringConcat", "c b", "d")],
        [value("a", ["n"], STRING), value("b", ["n"], STRING)],
        [value("d", ["n"], STRING)],
        opset=20,
    )


def branches(borders=True):
    """y = x > 0 in sum ? (x + c) * 2 : x * c, as an If; `borders` puts nodes in its bodies that only the CPU runs."""

    def body(name, op, result):
        nodes = [node(op, "before c", f"{name}_1")]
        last = f"{name}_1"
        if borders:
            nodes += [
                node("SequenceConstruct", last, f"{name}_sequence"),
                node("SequenceAt", f"{name}_sequence first", f"{name}_2"),
            ]
            last = f"{name}_2"
        nodes.append(node("Mul", f"{last} two", result))
        return helper.make_graph(nodes, name, [], [value(result, ["n", 4])])

    return model(
        [
            node("Add", "x c", "before"),
            node("ReduceSum", "x", "sum", keepdims=0),
            node("Greater", "sum zero", "positive"),
            node(
                "If",
                "positive",
                "chosen",
                then_branch=body("then", "Add", "then_result"),
                else_branch=body("otherwise", "Mul", "else_result"),
            ),
            node("Sub", "chosen x", "y"),
        ],
        [value("x", ["n", 4])],
        [value("y", ["n", 4])],
        [
            constant("c", np.array([1, -2, 3, 0.5], np.float32)),
            constant("two", np.array(2, np.float32)),
            constant("zero", np.array(0, np.float32)),
            FIRST,
        ],
    )


def branches_of(x):
    c = np.array([1, -2, 3, 0.5], np.float32)
    before = x + c
    return (before + c if x.sum() > 0 else before * c) * 2 - x


def loop():
    """x doubled and added to itself `count` times, as a Loop whose body hands the value through a sequence."""
    body = helper.make_graph(
        [
            node("Mul", "carried half", "smaller"),
            node("SequenceConstruct", "smaller", "kept"),
            node("SequenceAt", "kept first", "back"),
            node("Add", "back x", "next"),
            node("Identity", "keep_going", "going"),
        ],
        "body",
        [value("iteration", [], INT64), value("keep_going", [], BOOL), value("carried", ["n", 4])],
        [value("going", [], BOOL), value("next", ["n", 4])],
    )
    return model(
        [node("Loop", "count true x", "y_0", body=body), node("Relu", "y_0", "y")],
        [value("x", ["n", 4]), value("count", [], INT64)],
        [value("y", ["n", 4])],
        [constant("half", np.array(0.5, np.float32)), constant("true", np.array(True)), FIRST],
    )


def loop_of(x, count):
    carried = x
    for _ in range(count):
        carried = carried * np.float32(0.5) + x
    return np.maximum(carried, 0)


def chain(width, count):
    """`count` products with one square matrix: a Run of it takes as long as wanted."""
    nodes = [node("MatMul", f"x{i} w", f"x{i + 1}") for i in range(count)]
    return model(
        nodes, [value("x0", [width, width])], [value(f"x{count}", [width, width])], [constant("w", weights(width, width))]
    )
