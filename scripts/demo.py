"""Reads the text in a picture: a detection model finds lines, a recognition model reads each.

demo.py PLUGIN MODELS [PICTURE]; see demo.sh.
"""

import contextlib
import os
import pathlib
import re
import sys
import tempfile
import time

import cv2
import numpy as np
import onnxruntime as ort
from PIL import Image, ImageDraw, ImageFont

SAMPLE = [
    (40, 30, 44, "Open models run on Apple MLX"),
    (40, 110, 30, "through a stock ONNX Runtime, with one file"),
    (40, 170, 30, "Order 2041: 3 apples, 12 pears, 7.50 EUR"),
    (40, 240, 38, "The quick brown fox jumps over the lazy dog"),
]


def sample():
    """A page with lines of several sizes, and what they say."""
    page = Image.new("RGB", (960, 320), "white")
    draw = ImageDraw.Draw(page)
    for x, y, size, text in SAMPLE:
        draw.text((x, y), text, fill=(20, 20, 40), font=ImageFont.load_default(size))
    return np.asarray(page)[:, :, ::-1].copy()


@contextlib.contextmanager
def placement_line(name):
    """Of all that ONNX Runtime logs at INFO while a session is made, prints what the EP says of its placement."""
    with tempfile.TemporaryFile() as log:
        kept = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            log.seek(0)
            text = log.read().decode(errors="replace")
    for line in re.findall(r"MLX: .*", text) or [text]:
        print(f"{name}: {line}", flush=True)


class Model:
    """One model on MLX, and on ONNX Runtime's CPU EP for comparison."""

    def __init__(self, path, devices):
        options = ort.SessionOptions()
        options.log_severity_level = 1
        options.add_provider_for_devices(devices, {})
        with placement_line(path.stem):
            self.mlx = ort.InferenceSession(str(path), options)
        self.cpu = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        self.input = self.mlx.get_inputs()[0].name
        self.difference = 0.0
        self.times = {"mlx": [], "cpu": []}

    def __call__(self, x):
        results = {}
        for name, session in (("mlx", self.mlx), ("cpu", self.cpu)):
            session.run(None, {self.input: x})
            start = time.perf_counter()
            results[name] = session.run(None, {self.input: x})[0]
            self.times[name].append(time.perf_counter() - start)
        self.difference = max(self.difference, float(np.abs(results["mlx"] - results["cpu"]).max()))
        return results["mlx"]

    def report(self, name):
        mlx, cpu = (1e3 * float(np.median(self.times[k])) for k in ("mlx", "cpu"))
        print(f"{name}: largest difference to the CPU EP {self.difference:.1e}; median Run {mlx:.1f} ms on MLX, {cpu:.1f} ms on the CPU EP")


def normalised(picture, mean, std):
    """[1, 3, height, width] as the models were trained on."""
    x = (picture.astype(np.float32) / 255 - np.float32(mean)) / np.float32(std)
    return x.transpose(2, 0, 1)[None].astype(np.float32)


def find_lines(detect, picture):
    """Rotated rectangles around lines of text, from top to bottom."""
    height, width = picture.shape[:2]
    scale = min(1.0, 960 / max(height, width))
    size = [max(32, round(side * scale / 32) * 32) for side in (width, height)]
    x = normalised(cv2.resize(picture, size), (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    probability = detect(x)[0, 0]
    contours, _ = cv2.findContours((probability > 0.3).astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    lines = []
    for contour in contours:
        (cx, cy), (w, h), angle = cv2.minAreaRect(contour)
        if min(w, h) < 3:
            continue
        inside = np.zeros(probability.shape, np.uint8)
        cv2.drawContours(inside, [contour], -1, 1, -1)
        if probability[inside > 0].mean() < 0.5:
            continue
        # The model marks a shrunken core of each line: grow it back.
        grow = 1.6 * w * h / (w + h)
        if w < h:
            w, h, angle = h, w, angle - 90
        # Text is taken to stand upright, give or take a quarter turn.
        angle = (angle + 90) % 180 - 90
        fx, fy = width / size[0], height / size[1]
        lines.append(((cx * fx, cy * fy), ((w + grow) * fx, (h + grow) * fy), angle))
    return sorted(lines, key=lambda line: (line[0][1], line[0][0]))


def cut(picture, line):
    """A line turned level, 48 high."""
    centre, (w, h), angle = line
    turn = cv2.getRotationMatrix2D(centre, angle, 1.0)
    turn[:, 2] += np.array([w / 2, h / 2]) - centre
    level = cv2.warpAffine(picture, turn, (round(w), round(h)), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return cv2.resize(level, (max(32, round(48 * w / h)), 48))


def read(recognise, letters, strip):
    """Text and confidence of one line: the best letter per step, repeats and blanks dropped."""
    steps = recognise(normalised(strip, 0.5, 0.5))[0]
    best, sure = steps.argmax(1), steps.max(1)
    keep = (best != 0) & np.concatenate([[True], best[1:] != best[:-1]])
    return "".join(letters[i] for i in best[keep]), float(sure[keep].mean()) if keep.any() else 0.0


def main():
    plugin, models, *rest = sys.argv[1:]
    picture = cv2.imread(rest[0], cv2.IMREAD_COLOR) if rest else sample()
    if picture is None:
        sys.exit(f"error: {rest[0]} is no picture that OpenCV can read")
    ort.register_execution_provider_library("mlx", plugin)
    devices = [d for d in ort.get_ep_devices() if d.ep_name == "MLXExecutionProvider"]
    models = pathlib.Path(models)
    detect, recognise = (Model(models / f"PP-OCRv6_{part}_small.onnx", devices) for part in ("det", "rec"))
    letters = ["", *recognise.cpu.get_modelmeta().custom_metadata_map["character"].split("\n"), " "]

    lines = [read(recognise, letters, cut(picture, line)) for line in find_lines(detect, picture)]
    print(f"\n{len(lines)} lines in {rest[0] if rest else 'the sample picture'}:")
    for text, confidence in lines:
        print(f"  {confidence:4.0%}  {text}")
    print()
    detect.report("detection")
    if lines:
        recognise.report("recognition")
    if not rest and [text for text, _ in lines] != [text for *_, text in SAMPLE]:
        sys.exit("error: the sample picture was not read as it was drawn")


main()
