"""A copy of what may be a Variable holds its values: PyTorch copies no tensor that has a graph."""

from tests.generated import judge, printed_judge, values


def test_a_deep_copy_of_what_an_unknown_model_gives():
    body = "    y = model(xs)\n    other = copy.deepcopy(y)\n    print(F.softmax(other).data[:, 0])\n"
    verdict, detail, text = printed_judge.judged(values.LIBRARY + body)
    assert verdict == judge.SAME, f"{detail}\n{text}"


def test_a_function_of_numpy_takes_what_may_be_a_number():
    body = "    saver = Kept(0)\n    saver.value = model.fc.W.grad\n    print(np.exp(saver.value))\n"
    verdict, detail, text = printed_judge.judged(values.HEAD + body)
    assert verdict == judge.SAME, f"{detail}\n{text}"
