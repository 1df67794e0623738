"""Members of Chainer's objects for which there is no rule: what the object became may lack them."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Class, Inst, Kind, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.keeping import later
from chainer2torch.plan.questions.own_members import has_own_member
from chainer2torch.plan.questions.stored import stored

# Members of Chainer's classes for which there is no rule, in any of its versions; any other name is the user's own, and
# was missing before where it is missing now.
_OF_CHAINER = frozenset(
    """
    TimeoutWarning _a_plus_b _adabound_kernel _add_cleanup_hook _after_fork _amsbound_kernel _amsgrad_kernel
    _attr_name _attrs _bar_length _best_value _block_indicator _bounds _check_eps _check_set_up _checks
    _choose_unit _comm _compare _compute_next_value _consumer _conveyor _copy_to _create_uninitialized_parameter
    _data _data_shape _denominator _denominator_key _depth _device _devices _done _dtype _dummy _encoding
    _entries _epoch_size _errors _event1 _event2 _extensions _figsize _file_name _filename _final_elapsed_time
    _finalized _finished_is_tmp _flag_called _flag_first _flag_resumed _fp32_param _fps _function_style _get
    _get_conveyor _get_default_reinterpreted_batch_ndims _get_filter_func _grid _half_k _header _hookable
    _init_states _init_summary _initialize_loop _initialized _interruption_testing _interval_trigger
    _invoke_prefetch _is_gpu _kernel _key _keys _kwds _label_dtype _lines _links _lock _log _log_alpha _log_lam
    _log_len _log_name _log_report _log_scale _log_sigma _logdet_scale _loss_scale_max _loss_scaling_is_dynamic
    _loss_scaling_isnan _loss_scaling_isnan_ever _loss_scaling_multiplier _marker _master _max_trigger
    _maxtasksperchild _memory_hook _mpu_iterators _n _newline _next _next_state _next_time _numerator
    _numerator_key _observer_names _open _original_flag _out _overridden_to_methods _pairs _paths _pbar _period
    _pipes _plot_mean _plot_percentile _plot_std _pool _positions _post_save _post_save_hooks _post_update_hooks
    _postprocess _pre_update_hooks _prefetch_loop _prefix _prepare_parameters _preprocess _prev_flag
    _previous_epoch_detail _previous_iteration _print _process _protocol _pushed_position _queue _random _rate
    _read _reader _recent_timing _reduce _register_hook _repeat _report_data _report_grad _reset_state
    _result_key _root_name _running_stack _samples _savefun _send_message _shuffle _skip_nan_params
    _snapshot_elapsed_time _start_at _started _state _states _statistician _statistics _status_template
    _stepvalue_size _stop_condition _stream _summaries _summary _sync_get _table _task _templates
    _total_acquired_bytes _total_time _total_used_bytes _training_length _trigger _units _update_interval
    _upsampling _use_cleargrads _use_fp32_update _use_loc_scale _use_low_high _variable_style _vars _worker
    _workers _writer _x _x2 _x_key _y_keys _zf _zf_pid _zfs _zipfile _zipfilename _zpaths_accumlens
    accumulate_grads actual alpha_t axis binary_check bounds call_for_each_param check_nan_in_grads clip_grads
    comm compute_grads_hook compute_grads_norm consume create_consumer create_queue create_task create_worker
    current_position default_statistics device device_resident_accept end eps eta expect factor fallback_device
    fan_option file fill_value finalize flush from_array from_chx from_device_id from_fallback_device hooks
    init_state_cpu init_state_gpu initial_alpha invoke_before_training is_elementwise load lower_bound lr mode
    n_power_iteration name noise_func normalize_weight original_weight prepare reshape_W rng sample_gpu
    sample_xp save save_plot_using_module scale send_array sep serialize setup_workers shared_mem table
    threshold timing to_chx to_cpu to_device to_gpu to_intel64 update_core_chainerx update_loss_scale update_one
    update_one_cpu update_one_gpu upper_bound use_cleargrads use_fp32_update use_gamma use_gpu v values
    vector_name weight_decay weight_name xp zero_grads
    """.split()
)
# links and functions have rooms of their own; the members of their classes are the user's more often than Chainer's
ELSEWHERE = ("chainer.Link", "chainer.FunctionNode", "chainer.Variable")


def without_rule(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """Marks ``optimizer.check_nan_in_grads()``: Chainer's own, and no rule says what takes its place."""
    if node.attr not in _OF_CHAINER or not isinstance(node.ctx, ast.Load):
        return
    for kind in options(context.analysis.kind(node.value)):
        owner = _owner(context, kind, node.attr)
        if owner is not None and node.attr not in context.analysis.once(stored):
            row = context.rules.rows[owner]
            if later(context, decisions, node, row, f"{owner}.{node.attr}"):
                return
            decisions.mark(
                node,
                None,
                f"{owner}.{node.attr}",
                "manual",
                f"no rule for this member of {owner.rpartition('.')[2]}; what it became may have none of this name",
                row.code,
            )
            return


def _owner(context: Context, kind: Kind, name: str) -> str | None:
    """Chainer's class from which an object must have a member; None if it may be another's, or needs no rule."""
    cls = kind.cls if isinstance(kind, Inst) else kind.info if isinstance(kind, Class) else None
    if cls is None:
        return None
    classes = context.analysis.mro(cls)
    own = [c for c in classes if isinstance(c, ClassInfo)]
    if any(name in c.methods or name in c.attrs or not _known_bases(context, c) for c in own):
        return None
    theirs = [context.rules.canonical(c) for c in classes if isinstance(c, str) and c.startswith("chainer.")]
    if not theirs or any(context.rules.is_subclass(c, e) for c in theirs for e in ELSEWHERE):
        return None
    if any(context.rules.member(c, name) is not None or context.rules.keeps(c, name) for c in theirs):
        return None
    if has_own_member(context.analysis, context.rules.canonical(cls) if isinstance(cls, str) else cls, name):
        return None
    if isinstance(cls, str) and _has_subclass_with(context, theirs[0], name):
        return None
    return next((c for c in theirs if c in context.rules.rows and context.rules.rows[c].base), None)


def _has_subclass_with(context: Context, cls: str, name: str) -> bool:
    """Whether an object that is at least of Chainer's class may be of one derived from it that has the member."""
    member = f".{name}"
    return any(
        row.endswith(member) and context.rules.is_subclass(row.removesuffix(member), cls) for row in context.rules.rows
    )


def _known_bases(context: Context, cls: ClassInfo) -> bool:
    """Whether all that a class inherits is in sight: a decorator or a base from elsewhere may give it any member."""
    return (
        not cls.node.decorator_list
        and "__getattr__" not in cls.methods
        and all(
            isinstance(b, Class)
            or isinstance(b, Ref)
            and (b.name in context.analysis.libraries or b.name == "builtins.object")
            for base in cls.bases
            for b in options(base)
        )
    )
