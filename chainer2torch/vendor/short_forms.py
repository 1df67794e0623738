"""Helpers of ``native/`` that take the place of those of the same names in ``compat/``.

They take the same arguments and do the same with all that Chainer's programs pass, or raise. So in the native style
``compat.name`` means them, too: in the templates of all rows, and where another helper uses one.
"""

from collections.abc import Collection, Iterable

SHORT_FORMS = frozenset(
    {
        "Bias",
        "ChainList",
        "ChainerLayer",
        "Constant",
        "Convolution2D",
        "DatasetMixin",
        "Deconvolution2D",
        "DilatedConvolution2D",
        "GRU",
        "GoogLeNet",
        "GroupNormalization",
        "Inception",
        "InceptionBN",
        "LSTM",
        "LayerNormalization",
        "NStepBiGRU",
        "NStepBiLSTM",
        "NStepBiRNNReLU",
        "NStepBiRNNTanh",
        "NStepGRU",
        "NStepLSTM",
        "NStepRNNReLU",
        "NStepRNNTanh",
        "NaN",
        "NormalDistribution",
        "PReLU",
        "ParameterLink",
        "ResNet101Layers",
        "ResNet152Layers",
        "ResNet50Layers",
        "ResNetLayers",
        "StatefulGRU",
        "StatelessGRU",
        "StatelessLSTM",
        "SubDataset",
        "TextDataset",
        "VGG16Layers",
        "VGG19Layers",
        "VGGLayers",
        "VolatileTensor",
        "array_dot",
        "array_module",
        "as_initializer",
        "astype",
        "average",
        "average_pooling_nd",
        "backward",
        "cache_or_load_file",
        "cached_download",
        "call_in_mode",
        "check_backward",
        "concat_examples",
        "copy_of",
        "deconvolution_2d",
        "deepcopy",
        "device_name",
        "device_number",
        "eval_mode",
        "get_dataset_directory",
        "get_device",
        "get_item",
        "get_ptb_words",
        "get_ptb_words_vocabulary",
        "initialize_parameter",
        "is_training",
        "kl_divergence",
        "link_attribute",
        "link_children",
        "live",
        "max_pooling_2d",
        "max_pooling_nd",
        "not_migrated",
        "numerical_grad",
        "numpy_methods",
        "on_cpu",
        "own_attribute_name",
        "parameter",
        "parameterize",
        "parse_kwargs",
        "prepare_googlenet",
        "prepare_resnet",
        "prepare_vgg",
        "retry",
        "serialize_part",
        "serialize_summary",
        "set_grad",
        "set_link_attribute",
        "set_train",
        "sum_along",
        "to_cpu",
        "to_device",
        "to_gpu",
        "torch_dtype",
        "train_mode",
        "unpooling_2d",
        "upsampling_2d",
        "using_train",
        "volatile_variable",
        "xp_of",
    }
)
# The names of which the long form is needed, and the words of the projects that need it.
_LONG_WHERE = {
    "backward": {"loss_scale", "loss_scaling", "unchain_backward", "unchain_backward_of"},
    "copy_of": {"init"},
    "deepcopy": {"__deepcopy__", "memo"},
    "live": {"unchain_backward", "unchain_backward_of"},
    **dict.fromkeys(
        ("check_backward", "numerical_grad"), {"detect_nondifferentiable", "diff_atol", "diff_rtol", "center_outputs"}
    ),
    **dict.fromkeys(("VolatileTensor", "volatile_variable"), {"VolatileFlag", "is_volatile"}),
}
# The names of which the long form is needed beside some other helpers: those that ask what a serializer is, say.
LONG_BESIDE = {
    **dict.fromkeys(
        ("serialize_part", "serialize_summary"),
        {"StateReader", "StateWriter", "DictionarySerializer", "NpzDeserializer"},
    ),
    **dict.fromkeys(("check_backward", "numerical_grad"), {"check_double_backward"}),
    **dict.fromkeys(("Constant", "NaN"), {"Initializer"}),  # the base of all initializers, which programs ask for
    "parameterize": {"fix_random", "parameterize_pytest"},
    # programs with other distributions, or divergences of their own
    **dict.fromkeys(
        ("NormalDistribution", "kl_divergence"), {"Distribution", "register_kl", "distribution_cross_entropy"}
    ),
}


def long_where(said: Iterable[str]) -> frozenset[str]:
    """The helpers of which a project that says these words needs the long form."""
    words = frozenset(said)
    return frozenset(name for name, reasons in _LONG_WHERE.items() if words & reasons)


def long_beside(helpers: Collection[str]) -> frozenset[str]:
    """The helpers of which these need the long form."""
    return frozenset(name for name, others in LONG_BESIDE.items() if not others.isdisjoint(helpers))
