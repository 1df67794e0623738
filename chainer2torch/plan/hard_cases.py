"""The hard cases: functions in Python that a row of the rules names as its ``function``, and nothing else does.

A case is called for each reference that its row decides on, by the pass ``references``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts import (
    array_memory,
    array_methods,
    buffers,
    chain_lists,
    device_cases,
    distributions,
    idle_settings,
    indices,
    init_scope,
    kernels,
    lazy_layers,
    link_hook_classes,
    link_names,
    native_devices,
    older_versions,
    parameterized_classes,
    passed_functions,
    products,
    run_module,
    scatter_adds,
    sequentials,
    serializing,
    train_modes,
)
from chainer2torch.rules.table import Row

HardCase = Callable[[Context, Decisions, ast.AST, Row], None]
HARD_CASES: Mapping[str, HardCase] = MappingProxyType(
    {
        "array_address": array_memory.array_address,
        "array_memory": array_memory.array_memory,
        "add_persistent": buffers.add_persistent,
        "chain_list": chain_lists.chain_list,
        "init_scope": init_scope.init_scope,
        "initialize_layer": lazy_layers.initialize,
        "inputs_of_functions": array_memory.inputs_of_functions,
        "using_config": train_modes.using_config,
        "collect_parameters": older_versions.collect_parameters,
        "copy_parameters_from": older_versions.copy_parameters_from,
        "parameters": older_versions.parameters,
        "train_value": train_modes.train_value,
        "device_send": device_cases.send,
        "distribution": distributions.distribution,
        "distribution_member": distributions.member,
        "get_item": indices.get_item,
        "idle_setting": idle_settings.idle_setting,
        "native_device": native_devices.device,
        "native_idle": native_devices.idle,
        "native_use": native_devices.use,
        "asked_serializer": serializing.asked_serializer,
        "astype": array_methods.astype,
        "converted_reduction": array_methods.converted_reduction,
        "kernel": kernels.kernel,
        "kl_divergence": distributions.divergence,
        "link_hook": link_hook_classes.link_hook,
        "link_name": link_names.link_name,
        "parameterize": parameterized_classes.parameterize,
        "part_serialize": serializing.part_serialize,
        "parameter_name": link_names.parameter_name,
        "link_serialize": serializing.link_serialize,
        "passed_function": passed_functions.passed_function,
        "product": products.product,
        "register_persistent": buffers.register_persistent,
        "run_module": run_module.run_module,
        "scatter_add": scatter_adds.scatter_add,
        "sequential": sequentials.sequential,
        "serializer_test": serializing.serializer_test,
    }
)
