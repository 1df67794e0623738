"""Helpers of ``native/`` that take the place of those of the same names in ``compat/``.

They take the same arguments and do the same with all that Chainer's programs pass, or raise. So in the native style
``compat.name`` means them, too: in the templates of all rows, and where another helper uses one.
"""

SHORT_FORMS = frozenset(
    {
        "array_module",
        "astype",
        "call_in_mode",
        "device_name",
        "device_number",
        "eval_mode",
        "get_device",
        "is_training",
        "numpy_methods",
        "on_cpu",
        "set_train",
        "to_cpu",
        "to_device",
        "to_gpu",
        "torch_dtype",
        "train_mode",
        "using_train",
        "xp_of",
    }
)
