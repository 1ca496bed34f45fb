"""The cases of the ONNX backend suite: models with inputs and expected outputs."""

import pathlib
import warnings
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")


@dataclass
class Case:
    """`sets` holds pairs of inputs and expected outputs; a value is an array, a list (sequence) or None (empty optional)."""

    name: str
    kind: str
    rtol: float
    atol: float
    source: object

    def model(self):
        return self.source.model or onnx.load(self._folder() / "model.onnx")

    def _folder(self):
        return pathlib.Path(self.source.model_dir)

    def sets(self):
        if self.source.data_sets is not None:
            return [([value(v) for v in given], [value(v) for v in wanted]) for given, wanted in self.source.data_sets]
        graph = self.model().graph
        constant = {i.name for i in graph.initializer}
        inputs = [i for i in graph.input if i.name not in constant]
        found = []
        for folder in sorted(self._folder().glob("test_data_set_*")):
            given = [read(folder / f"input_{i}.pb", v.type) for i, v in enumerate(inputs)]
            wanted = [read(folder / f"output_{i}.pb", v.type) for i, v in enumerate(graph.output)]
            found.append((given, wanted))
        return found


def value(v):
    if isinstance(v, onnx.TensorProto):
        return numpy_helper.to_array(v)
    if isinstance(v, onnx.SequenceProto):
        return numpy_helper.to_list(v)
    if isinstance(v, onnx.OptionalProto):
        return numpy_helper.to_optional(v)
    # Some cases of rank 0 hold numpy's scalars.
    return np.asarray(v) if isinstance(v, np.generic) else v


def read(path, declared):
    """A value in a file, of the type that the model declares."""
    kinds = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}
    proto = kinds.get(declared.WhichOneof("value"), onnx.TensorProto)()
    proto.ParseFromString(path.read_bytes())
    return value(proto)


def load():
    """All cases, by name."""
    with warnings.catch_warnings():
        # Making the expected values overflows here and there, on purpose.
        warnings.simplefilter("ignore")
        found = {}
        for kind in KINDS:
            for source in load_model_tests(kind=kind):
                case = Case(source.name, kind, source.rtol, source.atol, source)
                assert case.name not in found, case.name
                found[case.name] = case
        return found
