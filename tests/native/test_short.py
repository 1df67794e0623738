"""Native helpers stay short: what a project gets for one of them is counted as it is vendored."""

import ast
import sys

import pytest

from chainer2torch.vendor import compat_file

NAMES = sorted(compat_file.helper_names(compat_file.NATIVE))

# lines and definitions that a helper for something of Chainer's own may bring
LONGER = {
    "BatchNormLink": (60, 6),  # the eleven arguments of the link, and first values of its parameters and statistics
    "ParameterStatistics": (60, 7),  # names of parameters and of the module in its parent, Chainer's formulas
    "ExponentialShift": (70, 7),  # settings by Chainer's names, of optimizers of torch.optim, too
    "InverseShift": (70, 7),  # settings by Chainer's names, of optimizers of torch.optim, too
    "LinearShift": (70, 7),  # settings by Chainer's names, of optimizers of torch.optim, too
    "MultistepShift": (70, 7),  # settings by Chainer's names, of optimizers of torch.optim, too
    "PolynomialShift": (70, 7),  # settings by Chainer's names, of optimizers of torch.optim, too
    "StepShift": (70, 7),  # settings by Chainer's names, of optimizers of torch.optim, too
    "WarmupShift": (70, 7),  # settings by Chainer's names, of optimizers of torch.optim, too
    "LSTMGates": (
        100,
        13,
    ),  # its linear layers, the lazy one as well, and their first values, also those that are given
    "LSTM": (120, 15),
    "StatelessLSTM": (110, 15),
    **dict.fromkeys(("GRUGates", "StatelessGRU", "StatefulGRU", "GRU"), (82, 9)),
    "Convolution2D": (71, 9),  # its first values, those of a lazy one as well, which looks for itself
    "Deconvolution2D": (73, 9),
    "DilatedConvolution2D": (85, 10),
    "LinearLink": (62, 8),
    **dict.fromkeys(("GroupNormalization", "LayerNormalization"), (66, 8)),  # what a file gives before the first batch
    "ChainerLayer": (56, 5),
    "Inception": (60, 5),
    "InceptionBN": (75, 5),
    **{
        f"NStep{both}{kind}": (
            100,
            11,
        )  # with first values of all kinds, and layers one by one; some 45 for most programs
        for both in ("", "Bi")
        for kind in ("LSTM", "GRU", "RNN", "RNNTanh", "RNNReLU")
    },
    "params_of": (52, 7),
    "params": (50, 6),  # the walk, and how a Sequential counts
    "parameter_name": (50, 6),
    "numpy_methods": (52, 5),  # a method for each name, which goes where nobody says it
    "name_in_hook": (53, 7),
    "Function": (72, 6),  # both protocols of a program's own functions, on the CPU and a GPU
    "FunctionNode": (70, 5),
    "ArrayModule": (98, 7),
    "array_module": (105, 8),
    "xp_of": (110, 9),
    "Communicator": (70, 5),
    "MultiNodeBatchNormalization": (52, 5),
    "create_multi_node_optimizer": (72, 5),
    "RuledAdam": (252, 19),  # Chainer's interface of optimizers, whose rule a class replaces
    "AdamRule": (252, 19),
    "create_communicator": (80, 5),
    "check_backward": (62, 5),
    "TorchOptimizersByName": (200, 28),
    "HooksByName": (60, 9),
    "LateAdamW": (160, 16),
    "OptimizersByName": (290, 34),  # all of them: a program chooses one by its name
    "IteratorUpdater": (110, 7),  # a clock, what is saved of it
    "Updater": (146, 9),  # a converter, the device that its batches go to, a clock, how a loader is read, its state
    "BatchUpdater": (56, 5),  # devices by number, by name and by None: most programs say one of them
    "StandardBatchUpdater": (120, 12),
    "StandardUpdater": (212, 16),
    "Evaluator": (110, 10),  # the same, the names of what reports, and the mode that copies of the helpers share
    "Trainer": (80, 5),  # triggers that ask the updater
    "Batches": (45, 1),
    "UpdateRule": (72, 6),
    "GradientMethod": (165, 15),  # the interface of the late optimizers
    "OldGradientMethod": (165, 15),
    "SerialIterator": (60, 1),
    "ModelCopies": (96, 11),
    "ParallelBatchUpdater": (187, 18),
    "ParallelUpdater": (283, 22),
    "MultiprocessParallelUpdater": (279, 22),
    "MultithreadIterator": (71, 2),
    # Chainer's own networks, of its names and steps, with what `extract` and `predict` make of images
    **dict.fromkeys(("ResNetLayers", "ResNet50Layers", "ResNet101Layers", "ResNet152Layers"), (217, 15)),
    **dict.fromkeys(("VGGLayers", "VGG16Layers", "VGG19Layers"), (197, 13)),
    "GoogLeNet": (260, 15),
    "MultiprocessIterator": (103, 2),
    "MultiNodeCheckpointer": (90, 8),  # files of every process, which of them all have, and what is removed
    "get_trainer_with_mock_updater": (70, 8),  # a manager whose epochs are of any length
}
# the interface of Chainer's optimizers, as far as a program that says all of its words gets it: a third of it is usual
INTERFACES = {
    "ChainerLayer": 36,
    "ArrayModule": 67,  # NumPy's functions on tensors: what gives views or writes has lines of its own
    "_ArrayMethods": 46,  # NumPy's methods; those that a project asks for are shipped
    "Communicator": 60,
    "Convolution2D": 29,
    "Deconvolution2D": 30,
    "check_backward": 52,  # one recipe, from the direction that is drawn to the comparison
    "LateOptimizer": 62,
    "OldGradientMethod": 33,
    "Trainer": 50,
    "Evaluator": 45,
    "Batches": 45,
    "BatchUpdater": 31,
    "UpdateRule": 30,
    "GoogLeNet": 50,
    "VGGLayers": 36,
    "_VisionModel": 33,
    "SerialIterator": 55,
    "Updater": 43,
    "MultiprocessIterator": 35,
    "ModelCopies": 36,
    "MultiprocessParallelUpdater": 42,
    "MultiNodeCheckpointer": 38,
    "NormalDistribution": 32,  # torch's, with the words that Chainer has for it
}
LATE = (150, 15)


def code_lines(text):
    """Lines that hold code: no docstrings, comments, imports or blank lines."""
    tree = ast.parse(text)
    tree.body = [node for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    strings = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    rows = {line for top in tree.body for line in range(top.lineno, (top.end_lineno or top.lineno) + 1)}
    lines = text.split("\n")
    return [
        lines[row - 1]
        for row in sorted(rows - strings)
        if lines[row - 1].strip() and not lines[row - 1].strip().startswith("#")
    ]


def closure(name):
    return compat_file.build([name], compat_file.NATIVE)


@pytest.mark.parametrize("name", NAMES)
def test_a_definition_is_at_most_about_twenty_lines_and_brings_little_else(name):
    text = closure(name)
    for node in ast.parse(text).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            assert len(code_lines(ast.unparse(node))) <= INTERFACES.get(node.name, 28), node.name
    most, parts = LONGER.get(name, LATE if name.startswith("Late") else (50, 5))
    if (
        "return filled(layer" in text or "fill_missing_gradients(self)" in text
    ):  # a project gets these or the same lines
        most, parts = most + 12, parts + 1
    assert len(code_lines(text)) <= most
    assert len([node for node in ast.parse(text).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]) <= parts


@pytest.mark.parametrize("name", NAMES)
def test_it_needs_torch_and_numpy_only_and_has_a_docstring_with_its_source(name):
    text = closure(name)
    tree = ast.parse(text)
    modules = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).split(".")[0]
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    assert modules - sys.stdlib_module_names <= {"numpy", "torch", "pytorch_pfn_extras", "ignite"}
    found = [node for node in tree.body if getattr(node, "name", None) == name]
    assert found and any(source in (ast.get_docstring(found[0]) or "") for source in ("chainer", "Chainer", "numpy"))
