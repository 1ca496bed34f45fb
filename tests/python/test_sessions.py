"""What a session and a Run do with unusual models, options and inputs."""

import graphs
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from child import run_child
from conftest import EP, MINOR, close, cpu_session, options, session

pytestmark = pytest.mark.skipif(MINOR < 23, reason="this release has no plugins")


def sample(rows=3, width=4, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, width)).astype(np.float32)


# A session that logs from `severity` on; what it logs is on stderr.
LOGGED = """
    import conftest, graphs, numpy as np, onnxruntime as ort
    conftest.register()
    so = conftest.options(conftest.devices())
    so.log_severity_level = {severity}
    made = ort.InferenceSession(conftest.as_source(graphs.{model}()), so, enable_fallback=False)
    print("made", flush=True)
    for _ in range(3):
        found = made.run(None, {feeds})[0]
    {check}
"""


def placement(model, feeds, check, severity):
    code = LOGGED.format(model=model, feeds=feeds, check=check, severity=severity)
    lines = run_child(code).stderr.splitlines()
    return [line for line in lines if "MLX: " in line]


def test_a_model_with_nothing_to_claim_runs_on_cpu_with_one_warning():
    feeds = '{"a": np.array(["x", "y"], object), "b": np.array(["1", "2"], object)}'
    (line,) = placement("strings_only", feeds, 'assert list(found) == ["x11", "y22"]', severity=2)
    assert "[W:" in line and "0 of 2 nodes" in line and "StringConcat x2" in line, line


def test_a_claimed_model_says_so_in_one_line():
    feeds, check = '{"x": np.ones((2, 8), np.float32)}', "assert found.shape == (2, 8)"
    (line,) = placement("perceptron", feeds, check, severity=1)
    assert "[I:" in line and "5 of 5 nodes in 1 partition" in line, line
    assert not placement("perceptron", feeds, check, severity=2)


@pytest.mark.parametrize(
    ("key", "setting", "words"),
    (
        ("devise", "cpu", ("'devise'", "device", "claim")),
        ("device", "tpu", ("'device'", "'tpu'", "auto", "gpu", "cpu")),
        ("claim", "", ("'claim'", "auto", "all")),
    ),
)
@pytest.mark.parametrize("as_entry", (False, True))
def test_a_bad_option_is_an_error_that_lists_the_good_ones(mlx, key, setting, words, as_entry):
    given = {"config": {f"ep.mlxexecutionprovider.{key}": setting}} if as_entry else {key: setting}
    with pytest.raises(Exception, match="MLX EP: ") as error:
        session(graphs.perceptron(), mlx, **given)
    assert all(word in str(error.value) for word in words), error.value


def test_options_of_others_are_left_alone(mlx):
    config = {"ep.mlxexecutionprovider.arena.max_mem": "1", "ep.some.devise": "x", "my.own": "y"}
    made = session(graphs.perceptron(), mlx, whole=True, config=config)
    x = sample(2, 8)
    close(made.run(None, {"x": x})[0], graphs.perceptron_of(x))


def test_without_cpu_fallback(mlx):
    session(graphs.perceptron(), mlx, whole=True)
    with pytest.raises(Exception, match="(?i)fallback"):
        session(graphs.mixed(), mlx, whole=True)


def test_a_model_from_bytes_and_from_a_file(mlx, tmp_path):
    model, x = graphs.perceptron(), sample(2, 8)
    path = tmp_path / "model.onnx"
    onnx.save(model, str(path))
    for source in (model, path):
        made = session(source, mlx, whole=True)
        close(made.run(None, {"x": x})[0], graphs.perceptron_of(x))


def external(folder):
    """A model whose weights are in a file beside it."""
    model = graphs.perceptron(64)
    onnx.save(
        model, str(folder / "m.onnx"), save_as_external_data=True, location="m.data", size_threshold=0, convert_attribute=True
    )
    return folder / "m.onnx"


def test_external_data_in_a_file(mlx, tmp_path):
    path, x = external(tmp_path), sample(2, 64)
    made = session(path, mlx, whole=True)
    # The session owns what it needs.
    (tmp_path / "m.data").unlink()
    close(made.run(None, {"x": x})[0], graphs.perceptron_of(x, 64))


def test_external_data_is_missing(mlx, tmp_path):
    path = external(tmp_path)
    (tmp_path / "m.data").unlink()
    with pytest.raises(Exception, match=r"m\.data"):
        session(path, mlx)


def no_path_session(path, mlx, add):
    """From bytes: the model has no path, its external data comes from memory."""
    so = options(mlx, config={"session.disable_cpu_ep_fallback": "1"})
    add(so)
    made = ort.InferenceSession(path.read_bytes(), so, enable_fallback=False)
    assert EP in made.get_providers()
    return made


def test_external_data_as_values_in_memory(mlx, tmp_path):
    path, x = external(tmp_path), sample(2, 64)
    names = [i.name for i in onnx.load(str(path), load_external_data=False).graph.initializer]
    arrays = {i.name: onnx.numpy_helper.to_array(i) for i in onnx.load(str(path)).graph.initializer}
    values = [ort.OrtValue.ortvalue_from_numpy(arrays[name]) for name in names]
    (tmp_path / "m.data").unlink()
    made = no_path_session(path, mlx, lambda so: so.add_external_initializers(names, values))
    close(made.run(None, {"x": x})[0], graphs.perceptron_of(x, 64))


@pytest.mark.skipif(
    not hasattr(ort.SessionOptions, "add_external_initializers_from_files_in_memory"), reason="this release lacks the call"
)
def test_external_data_as_a_file_in_memory(mlx, tmp_path):
    path, x = external(tmp_path), sample(2, 64)
    data = (tmp_path / "m.data").read_bytes()
    (tmp_path / "m.data").unlink()
    made = no_path_session(
        path, mlx, lambda so: so.add_external_initializers_from_files_in_memory(["m.data"], [data], [len(data)])
    )
    del data
    close(made.run(None, {"x": x})[0], graphs.perceptron_of(x, 64))


def test_an_initializer_that_is_overridden(mlx):
    """One that is a graph input too is only a default."""
    model = graphs.model(
        [graphs.node("Add", "x c", "s"), graphs.node("Mul", "s k", "y")],
        [graphs.value("x", ["n", 4]), graphs.value("c", [4])],
        [graphs.value("y", ["n", 4])],
        [graphs.constant("c", np.array([1, 2, 3, 4], np.float32)), graphs.constant("k", np.array(2, np.float32))],
    )
    made, x = session(model, mlx, whole=True), sample()
    for _ in range(2):
        close(made.run(None, {"x": x})[0], (x + np.array([1, 2, 3, 4], np.float32)) * 2)
        close(made.run(None, {"x": x, "c": np.full(4, 7, np.float32)})[0], (x + 7) * 2)


def test_inputs_that_do_not_fit_the_model(mlx):
    made, good = session(graphs.perceptron(), mlx, whole=True), sample(2, 8)
    for bad in (sample(2, 7), np.ones((2, 8), np.float64), np.ones(8, np.float32), np.ones((2, 8), np.int64)):
        with pytest.raises(Exception, match="(?i)invalid|unexpected"):
            made.run(None, {"x": bad})
        close(made.run(None, {"x": good})[0], graphs.perceptron_of(good))


def test_an_error_of_mlx_is_the_text_of_the_status(mlx):
    """Shapes that no model can rule out before a Run."""
    model = graphs.model(
        [graphs.node("Mul", "a b", "product"), graphs.node("Add", "product b", "y")],
        [graphs.value("a", ["n"]), graphs.value("b", ["m"])],
        [graphs.value("y", ["k"])],
    )
    made = session(model, mlx, whole=True)
    for _ in range(3):
        with pytest.raises(Exception, match="MLX EP: Mul node 'product': .*broadcast"):
            made.run(None, {"a": np.ones(3, np.float32), "b": np.ones(4, np.float32)})
        found = made.run(None, {"a": np.full(3, 2, np.float32), "b": np.full(3, 5, np.float32)})[0]
        close(found, np.full(3, 15, np.float32))


def test_a_failed_run_does_not_move_the_session_to_the_cpu(mlx):
    """ONNX Runtime's Python falls back for good on the code EP_FAIL, also on releases that no longer do so elsewhere."""
    model = graphs.model(
        [graphs.node("Mul", "a b", "y")],
        [graphs.value("a", ["n"]), graphs.value("b", ["m"])],
        [graphs.value("y", ["k"])],
    )
    made = ort.InferenceSession(model.SerializeToString(), options(mlx))
    with pytest.raises(Exception, match="MLX EP: Mul node 'y': "):
        made.run(None, {"a": np.ones(3, np.float32), "b": np.ones(4, np.float32)})
    assert EP in made.get_providers()
    close(made.run(None, {"a": np.full(3, 2, np.float32), "b": np.ones(3, np.float32)})[0], np.full(3, 2, np.float32))


def gather(computed):
    """y = table[index]; `computed` puts arithmetic between the input and the indices."""
    nodes = [graphs.node("Gather", "table i" if computed else "table index", "y", axis=0)]
    if computed:
        # A reduction, so that the indices are not shape arithmetic on the host.
        nodes.insert(0, graphs.node("ReduceSum", "index axes", "i", keepdims=0))
    dims = ["n", 64] if computed else ["n"]
    return graphs.model(
        nodes,
        [graphs.value("index", dims, graphs.INT64)],
        [graphs.value("y", ["n", 3])],
        [
            graphs.constant("table", np.arange(15, dtype=np.float32).reshape(5, 3)),
            graphs.constant("axes", np.array([1], np.int64)),
        ],
    )


TABLE = np.arange(15, dtype=np.float32).reshape(5, 3)


@pytest.mark.parametrize("bad", (5, -6, 1 << 31, 1 << 40, -(1 << 62)))
def test_an_index_of_the_caller_out_of_range(mlx, bad):
    made = session(gather(computed=False), mlx, whole=True)
    for _ in range(2):
        with pytest.raises(Exception, match=f"MLX EP: Gather node 'y': .*{bad}.*4"):
            made.run(None, {"index": np.array([0, bad, 1], np.int64)})
        close(made.run(None, {"index": np.array([0, -1, 4, -5], np.int64)})[0], TABLE[[0, -1, 4, -5]])


def test_a_computed_index_out_of_range_does_no_harm():
    """Nothing outside the table is read: each row is one of the table's."""
    run_child("""
        import conftest, numpy as np, test_sessions as t
        conftest.register()
        made = conftest.session(t.gather(computed=True), conftest.devices(), whole=True)
        for size in (5, 100, 1 << 20, 1 << 31, 1 << 40, -6, -(1 << 40)):
            index = np.zeros((3, 64), np.int64)
            index[1, 0], index[2, 63] = size, 2
            try:
                found = made.run(None, {"index": index})[0]
            except Exception as error:
                assert "out of range" in str(error), error
            else:
                assert (found[0] == t.TABLE[0]).all() and (found[2] == t.TABLE[2]).all()
                assert any((found[1] == row).all() for row in t.TABLE), found
        index = np.zeros((2, 64), np.int64)
        index[:, 5] = 4, -1
        assert (made.run(None, {"index": index})[0] == t.TABLE[[4, -1]]).all()
    """)


def test_inputs_are_not_written_to(mlx):
    """The first node's input has no other reader: MLX may not take its buffer for the result."""
    made = session(graphs.perceptron(256), mlx, whole=True)
    x = sample(512, 256)
    kept = x.copy()
    for _ in range(3):
        close(made.run(None, {"x": x})[0], graphs.perceptron_of(kept, 256))
        assert x.tobytes() == kept.tobytes()


def test_inputs_may_lie_in_read_only_pages(tmp_path):
    """Writing to them would end the process, so that is another one."""
    run_child("""
        import ctypes, mmap, conftest, graphs, numpy as np
        conftest.register()
        made = conftest.session(graphs.perceptron(256), conftest.devices(), whole=True)
        x = np.random.default_rng(0).standard_normal((512, 256)).astype(np.float32)
        pages = mmap.mmap(-1, x.nbytes)
        pages.write(x.tobytes())
        address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), ctypes.c_size_t(x.nbytes), 1) == 0
        binding = made.io_binding()
        binding.bind_input("x", "cpu", 0, np.float32, x.shape, address)
        binding.bind_output("y", "cpu")
        for _ in range(3):
            made.run_with_iobinding(binding)
            conftest.close(binding.copy_outputs_to_cpu()[0], graphs.perceptron_of(x, 256))
        assert bytes(pages) == x.tobytes()
    """)


def test_empty_and_single_inputs(mlx):
    made = session(graphs.perceptron(), mlx, whole=True)
    for rows in (0, 1, 0):
        x = sample(rows, 8)
        close(made.run(None, {"x": x})[0], graphs.perceptron_of(x) if rows else x)


def test_an_output_that_is_an_input_or_a_constant(mlx):
    """ONNX allows both; neither is made by a node."""
    model = graphs.model(
        [graphs.node("Add", "x c", "y")],
        [graphs.value("x", ["n", 4])],
        [graphs.value("y", ["n", 4]), graphs.value("c", [4])],
        [graphs.constant("c", np.array([1, 2, 3, 4], np.float32))],
    )
    made, x = session(model, mlx), sample()
    for found, expected in zip(made.run(None, {"x": x}), cpu_session(model).run(None, {"x": x}), strict=True):
        close(found, expected)
