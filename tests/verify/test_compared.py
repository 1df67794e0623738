"""What a class says of its arguments where it asks for them."""

import ast

from chainer2torch.verify.models import compared

TEXT = """
def make(model, mode):
    if model == 'small' or model in ('large', 'wide'):
        return TABLE[model]
    if mode == 1:
        return {'a': 1, 'b': 2}[mode]


class Net:
    def __init__(self, model_name, **rest):
        n_layers = rest.get('n_layers')
        if n_layers == 18:
            self.blocks = rest['blocks']
        elif n_layers == 34:
            self.blocks = rest.pop('more', None)
        other.get('not_asked')
"""


def test_constants_and_texts_beside_a_name():
    tree = ast.parse(TEXT)
    assert compared.with_constants(tree, "n_layers") == ["18", "34"]
    assert compared.with_constants(tree, "mode") == ["1", "'a'", "'b'"]
    assert compared.with_constants(tree, "model_name") == []
    assert compared.with_texts(tree, "model_name") == ["'small'", "'large'", "'wide'"]
    assert compared.with_texts(tree, "n") == []


def test_keys_of_what_is_handed_on():
    functions = [node for node in ast.walk(ast.parse(TEXT)) if isinstance(node, ast.FunctionDef)]
    found = {function.name: compared.read_by_name(function) for function in functions}
    assert found == {"make": [], "__init__": ["n_layers", "blocks", "more"]}
