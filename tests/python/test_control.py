"""Control flow on every supported release: who claims bodies, and what they capture."""

import graphs
import numpy as np
import pytest
from conftest import MINOR, PATCH, close, on_cpu, session
from graphs import BOOL, INT64, constant, model, node, value
from onnx import helper

pytestmark = pytest.mark.skipif((MINOR, PATCH) < (23, 1), reason="this release has no plugins, or runs graphs whole only")

# From here on a fused node gets the values that only bodies in it read.
CAPTURES = MINOR >= 27
# From here on the bodies of nodes that are left to the CPU are cut into partitions.
CUTS = (MINOR, PATCH) >= (24, 4)

X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


def body(name, nodes, outputs, inputs=()):
    return helper.make_graph(nodes, name, list(inputs), outputs)


def choice(then, otherwise, before=(), constants=()):
    """y = flag ? then : otherwise over x; the nodes of the branches make `t` and `e`."""
    return model(
        [
            *before,
            node(
                "If",
                "flag",
                "chosen",
                then_branch=body("then", then, [value("t", ["n", 4])]),
                else_branch=body("else", otherwise, [value("e", ["n", 4])]),
            ),
            node("Relu", "chosen", "y"),
        ],
        [value("x", ["n", 4]), value("flag", [], BOOL)],
        [value("y", ["n", 4])],
        [constant("half", np.array(0.5, np.float32)), *constants],
    )


def check_choice(made, then, otherwise):
    for flag in (True, False, True):
        found = made.run(None, {"x": X, "flag": np.array(flag)})[0]
        close(found, np.maximum(then if flag else otherwise, 0))


def test_captured_node_outputs_and_constants(mlx):
    made = session(graphs.branches(borders=False), mlx, whole=True)
    for sign in (1, -1):
        x = sign * np.abs(X)
        close(made.run(None, {"x": x})[0], graphs.branches_of(x))


@pytest.mark.parametrize("read_elsewhere", (True, False))
def test_captured_graph_inputs(mlx, read_elsewhere):
    before = [node("Mul", "x half", "smaller")] if read_elsewhere else [node("Mul", "half half", "smaller")]
    source = choice([node("Add", "x smaller", "t")], [node("Sub", "x smaller", "e")], before)
    made = session(source, mlx, whole=read_elsewhere or CAPTURES)
    smaller = X * np.float32(0.5) if read_elsewhere else np.float32(0.25)
    check_choice(made, X + smaller, X - smaller)
    if not read_elsewhere and not CAPTURES and MINOR >= 24:
        assert "If" in on_cpu(made)


def test_a_branch_may_hand_on_an_outer_value_or_make_a_constant(mlx):
    source = choice(
        [node("Identity", "before", "t")],
        [node("ConstantOfShape", "shape", "e", value=constant("v", np.array([3], np.float32)))],
        [node("Mul", "x half", "before"), node("Shape", "x", "shape")],
    )
    check_choice(session(source, mlx, whole=True), X * np.float32(0.5), np.full((3, 4), 3, np.float32))


def test_names_of_one_branch_mean_nothing_in_the_other(mlx):
    source = choice(
        [node("Add", "x x", "same"), node("Abs", "same", "t")],
        [node("Mul", "x half", "same"), node("Neg", "same", "e")],
        [node("Sub", "x half", "unused")],
    )
    check_choice(session(source, mlx, whole=True), np.abs(X + X), -(X * np.float32(0.5)))


def test_values_that_only_a_body_of_the_cpu_reads(mlx):
    through = [*graphs.through_sequence("made", "back"), node("Add", "back half", "t")]
    source = choice(
        through,
        [node("Sub", "made half", "e")],
        [node("Mul", "x half", "made")],
        [graphs.FIRST],
    )
    made = session(source, mlx)
    half = np.float32(0.5)
    check_choice(made, X * half + half, X * half - half)
    if MINOR >= 24:
        assert "If" in on_cpu(made)
        assert ("Sub" in on_cpu(made)) != CUTS


def doubling(carried):
    """A Loop that doubles `carried` while its sum is below `limit`, and scans the sums."""
    made = node(
        "Loop",
        carried,
        "last sums",
        body=body(
            "double",
            [
                node("Add", "value value", "next"),
                node("ReduceSum", "next", "sum", keepdims=0),
                node("Less", "sum limit", "more"),
            ],
            [value("more", [], BOOL), value("next", ["n", 4]), value("sum", [])],
            [value("trip", [], INT64), value("going", [], BOOL), value("value", ["n", 4])],
        ),
    )
    made.input[:] = ["count", "", carried]
    return made


def doubling_of(x, count, limit):
    sums = []
    while len(sums) < count:
        x = x + x
        sums.append(x.sum(dtype=np.float32))
        if not sums[-1] < limit:
            break
    return x, np.array(sums, np.float32)


def test_loop_with_early_exit_and_without_iterations(mlx):
    source = model(
        [node("Abs", "x", "a"), node("Add", "low low", "limit"), doubling("a")],
        [value("x", ["n", 4]), value("count", [], INT64), value("low", [])],
        [value("last", ["n", 4]), value("sums", ["k"])],
    )
    made = session(source, mlx, whole=True)
    for count, low in ((3, 1e9), (100, 50.0), (0, 1e9), (100, 0.0)):
        feeds = {"x": X, "count": np.array(count, np.int64), "low": np.array(low, np.float32)}
        last, sums = made.run(None, feeds)
        expected, expected_sums = doubling_of(np.abs(X), count, 2 * low)
        close(last, expected)
        close(sums, expected_sums)


def test_scan_backwards_over_columns(mlx):
    source = model(
        [
            node("Mul", "x half", "weighted"),
            node("ReduceSum", "weighted", "start", keepdims=0),
            node(
                "Scan",
                "start weighted",
                "end totals",
                num_scan_inputs=1,
                scan_input_axes=[1],
                scan_input_directions=[1],
                scan_output_axes=[-1],
                body=body(
                    "add",
                    [node("ReduceSum", "column", "s", keepdims=0), node("Add", "total s", "sum"), node("Identity", "sum", "copy")],
                    [value("sum", []), value("copy", [])],
                    [value("total", []), value("column", ["n"])],
                ),
            ),
        ],
        [value("x", ["n", 4])],
        [value("end", []), value("totals", ["m"])],
        [constant("half", np.array(0.5, np.float32))],
    )
    end, totals = session(source, mlx, whole=True).run(None, {"x": X})
    columns = (X * np.float32(0.5)).sum(0)
    expected = columns.sum() + np.cumsum(columns[::-1])
    close(totals, expected.astype(np.float32))
    close(end, totals[-1])


def test_nesting_claims_the_outermost(mlx):
    """An If in a Loop in an If; the innermost reads values of every level."""
    inner = node(
        "If",
        "odd",
        "stepped",
        then_branch=body("grow", [node("Add", "value outer", "g")], [value("g", ["n", 4])]),
        else_branch=body("shrink", [node("Mul", "value half", "s")], [value("s", ["n", 4])]),
    )
    loop = node(
        "Loop",
        "outer",
        "looped",
        body=body(
            "steps",
            [
                node("Mod", "trip two", "rest"),
                node("Equal", "rest one", "odd"),
                inner,
                node("Identity", "going", "more"),
            ],
            [value("more", [], BOOL), value("stepped", ["n", 4])],
            [value("trip", [], INT64), value("going", [], BOOL), value("value", ["n", 4])],
        ),
    )
    loop.input[:] = ["count", "", "outer"]
    source = choice(
        [loop, node("Neg", "looped", "t")],
        [node("Identity", "outer", "e")],
        [node("Add", "x half", "outer")],
        [
            constant("count", np.array(4, np.int64)),
            constant("one", np.array(1, np.int64)),
            constant("two", np.array(2, np.int64)),
        ],
    )
    outer = X + np.float32(0.5)
    looped = outer
    for trip in range(4):
        looped = looped + outer if trip % 2 else looped * np.float32(0.5)
    check_choice(session(source, mlx, whole=True), -looped, outer)


def test_an_error_in_a_body_names_its_node(mlx):
    source = choice(
        [node("Reshape", "before wrong", "t")],
        [node("Identity", "before", "e")],
        [node("Mul", "x half", "before")],
        [constant("wrong", np.array([5, 4], np.int64))],
    )
    made = session(source, mlx, whole=True)
    with pytest.raises(Exception, match="Reshape node 't': a tensor of shape"):
        made.run(None, {"x": X, "flag": np.array(True)})
    found = made.run(None, {"x": X, "flag": np.array(False)})[0]
    close(found, np.maximum(X * np.float32(0.5), 0))
