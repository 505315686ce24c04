"""Tests advice on patterns of several kernels for which one fused kernel exists: patterns.py WALLSHIM
Each pattern has a case that gets its advice, and controls that differ in one thing and get none."""
import json

from foreign import run, run_tests, write
from timeline import GEMM, Timeline

CAST = "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(float)>()"
LAYOUT = "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<direct_copy_kernel_cuda(float)> >()"
POW = "void at::native::vectorized_elementwise_kernel<4, at::native::pow_tensor_scalar_kernel_impl<float, float> >()"
MEAN = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float> > >()"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float> >()"
MUL = "void at::native::elementwise_kernel<128, 2, at::native::BinaryFunctor<float, at::native::MulFunctor<float> > >()"
SGD_ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >()"
LIST = "void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<{}>, at::native::{}>()"


def unary(name):
    return f"void at::native::vectorized_elementwise_kernel<4, at::native::{name}(at::TensorIteratorBase&)>()"


RSQRT, SQRT, NEG = unary("rsqrt_kernel_cuda"), unary("sqrt_kernel_cuda"), unary("neg_kernel_cuda")
ADDCMUL, ADDCDIV, LERP = unary("addcmul_cuda_kernel"), unary("addcdiv_cuda_kernel"), unary("lerp_scalar_kernel")
CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 4, 64, 64>()"

RMS_NORM = [(CAST, "aten::copy_"), (POW, "aten::pow"), (MEAN, "aten::mean"), (ADD, "aten::add"), (RSQRT, "aten::rsqrt"),
            (MUL, "aten::mul"), (CAST, "aten::copy_"), (MUL, "aten::mul")]
LAYER_NORM = [(MEAN, "aten::mean"), (ADD, "aten::sub"), (POW, "aten::pow"), (MEAN, "aten::mean"), (ADD, "aten::add"),
              (RSQRT, "aten::rsqrt"), (MUL, "aten::mul"), (MUL, "aten::mul"), (ADD, "aten::add")]
ROPE = [(MUL, "aten::mul"), (NEG, "aten::neg"), (CAT, "aten::cat"), (MUL, "aten::mul"), (ADD, "aten::add")]
ADAMW = [(MUL, "aten::mul_"), (LERP, "aten::lerp_"), (MUL, "aten::mul_"), (ADDCMUL, "aten::addcmul_"), (SQRT, "aten::sqrt"),
         (MUL, "aten::div"), (ADD, "aten::add_"), (ADDCDIV, "aten::addcdiv_")]
SGD = [(MUL, "aten::mul_"), (SGD_ADD, "aten::add_"), (SGD_ADD, "aten::add_")]
FOREACH_ADAMW = [(LIST.format(*words), "aten::_foreach_" + operator) for words, operator in (
    ((1, "BinaryOpScalarFunctor<float>, std::multiplies"), "mul_"), ((2, "TernaryOpScalarFunctor<float>"), "lerp_"),
    ((1, "BinaryOpScalarFunctor<float>, std::multiplies"), "mul_"), ((3, "PointwiseOpScalarFunctor<float>"), "addcmul_"),
    ((1, "UnaryOpFunctor<float>, Sqrt"), "sqrt"), ((1, "BinaryOpScalarListFunctor<float>"), "div_"),
    ((1, "BinaryOpScalarFunctor<float>, std::plus"), "add_"), ((3, "PointwiseOpScalarListFunctor<float>"), "addcdiv_"))]
FUSED_ADAMW = [(LIST.format(4, "FusedAdamMathFunctor<float>"), "aten::_fused_adamw_")]


def steps(*work, operators=True, inside=None, length=100):
    """Five marked steps: for each list of `work`, a product of 2 ms and then these kernels. inside: a range around what
    follows the last product. length: µs of a kernel that does not have its own as a third entry."""
    made, at = Timeline(), 0
    for number in range(5):
        begin = at
        for sequence in work:
            made.kernel(at, 2000, at - 900)
            at += 2000
            if inside and sequence is work[-1]:
                made.range(inside, at - 900, len(sequence) * length - 20)
            for name, operator, *own in sequence:
                lasts = own[0] if own else length
                if operators:
                    made.range(operator, at - 902, 10, "cpu_op")
                made.kernel(at, lasts, at - 900, name=name)
                at += lasts
        made.step(number, begin - 910, at - begin)
    return made


def advice_on(made):
    """The pieces of advice on fusion: name → (text, evidence, saving in µs)."""
    result = run("report", "--json", write(made.trace()))
    assert result.returncode == 0, result.stderr
    device = json.loads(result.stdout)["processes"][0]["devices"][0]
    return {piece["cause"]: (piece["text"], piece["evidence"], piece["saving_ns"] / 1000) for piece in device["advice"]
            if piece["cause"] in ("fusion", "unfused_layer_norm", "unfused_rms_norm", "unfused_rope", "loop_optimizer",
                                 "foreach_optimizer")}


def replaced(sequence, old, new):
    return [(new if name == old else name, operator) for name, operator in sequence]


def test_rms_norm():
    found = advice_on(steps(RMS_NORM, RMS_NORM))
    assert list(found) == ["unfused_rms_norm"], found
    text, evidence, saving = found["unfused_rms_norm"]
    assert "torch.nn.RMSNorm" in text and "instead of 8:" in text, text
    assert evidence.endswith("confirmed by its aten::rsqrt") and evidence.startswith("2 times a step"), evidence
    # A fused kernel takes at most as long as the longest of the 8 kernels.
    assert abs(saving - 2 * 700) < 1, saving


def test_rms_norm_by_names():
    found = advice_on(steps(RMS_NORM, RMS_NORM, operators=False))
    assert list(found) == ["unfused_rms_norm"] and "by names and order" in found["unfused_rms_norm"][1], found


def test_no_rms_norm():
    """No advice on a norm that occurs once in a step, lacks rsqrt, comes from another operator, has a product inside,
    has a fused kernel in place of a piece, or is too short to matter."""
    other = [(name, "aten::native_batch_norm" if name == RSQRT else operator) for name, operator in RMS_NORM]
    for made in (steps(RMS_NORM, []), steps(replaced(RMS_NORM, RSQRT, SQRT), replaced(RMS_NORM, RSQRT, SQRT)),
                 steps(other, other), steps(*[RMS_NORM[:4] + [(GEMM, "aten::mm")] + RMS_NORM[4:]] * 2),
                 steps(RMS_NORM, RMS_NORM, length=2),
                 steps(*[replaced(RMS_NORM, RSQRT, "void vllm::rms_norm_kernel<rsqrt_kernel_cuda>()")] * 2),
                 steps(*[replaced(RMS_NORM, RSQRT, "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_kernel_cuda_0")] * 2)):
        assert "unfused_rms_norm" not in advice_on(made), advice_on(made)


def test_a_layout_is_no_cast():
    """A copy into another layout before the norm is no part of the norm."""
    changed = [(LAYOUT, "aten::copy_")] + RMS_NORM[1:]
    text = advice_on(steps(changed, changed))["unfused_rms_norm"][0]
    assert "instead of 7:" in text, text


def test_layer_norm_is_no_rms_norm():
    found = advice_on(steps(LAYER_NORM, LAYER_NORM))
    assert list(found) == ["unfused_layer_norm"], found
    text, evidence, _ = found["unfused_layer_norm"]
    assert "instead of 9: torch.nn.functional.layer_norm (or group_norm, batch_norm: by its dimensions)" in text, text
    assert evidence.endswith("confirmed by its aten::mean"), evidence


def test_layer_norm_with_a_second_difference():
    """(x - mean) / sqrt(variance + eps), as ConvNeXt and old BERT write it. A sequence with one more addition is no
    norm."""
    written = LAYER_NORM[:4] + [(ADD, "aten::sub"), (ADD, "aten::add"), (SQRT, "aten::sqrt"),
                                (MUL.replace("MulFunctor", "DivFunctor"), "aten::div")] + LAYER_NORM[-2:]
    found = advice_on(steps(written, written))
    assert list(found) == ["unfused_layer_norm"] and "instead of 10:" in found["unfused_layer_norm"][0], found
    longer = written[:4] + [(ADD, "aten::add")] + written[4:]
    assert "unfused_layer_norm" not in advice_on(steps(longer, longer))


def test_rope():
    for order in (ROPE, ROPE[1:3] + ROPE[:1] + ROPE[3:]):
        found = advice_on(steps(order + order, []))
        assert list(found) == ["unfused_rope"], found
        assert "rotary" in found["unfused_rope"][0] and abs(found["unfused_rope"][2] - 2 * 400) < 1, found


def test_no_rope():
    """No advice on a rotary embedding that occurs once in a step, lacks neg, or has a fused kernel in place of a
    piece."""
    for made in (steps(ROPE, []), steps(*[replaced(ROPE, NEG, SQRT)] * 2),
                 steps(*[replaced(ROPE, NEG, "void fused_rope_block_forward<neg_kernel_cuda>()") * 2] * 2)):
        assert "unfused_rope" not in advice_on(made), advice_on(made)


def test_chains_without_a_pattern_keep_their_advice():
    """The control of the rule that no kernel gets advice twice."""
    other = [(MUL, "aten::mul"), (SQRT, "aten::sqrt"), (MUL, "aten::mul")]
    found = advice_on(steps(RMS_NORM, RMS_NORM, other))
    assert sorted(found) == ["fusion", "unfused_rms_norm"] and "sqrt" in found["fusion"][0], found


def test_a_small_pattern_hides_no_large_chain():
    """The kernels that follow a norm get their own advice, with the same figures as without the norm."""
    other = [(MUL, "aten::mul", 150), (SQRT, "aten::sqrt", 150), (MUL, "aten::mul", 150)]
    small = [(*piece, 15) for piece in RMS_NORM]
    with_norm, alone = advice_on(steps(*[small + other] * 2)), advice_on(steps(*[other] * 2))
    assert sorted(with_norm) == ["fusion", "unfused_rms_norm"], with_norm
    assert with_norm["fusion"][2] == alone["fusion"][2] and "3 kernels" in with_norm["fusion"][0], (with_norm, alone)


def test_an_optimizer_in_a_loop():
    found = advice_on(steps(ADAMW * 10, inside="Optimizer.step#AdamW.step"))
    assert list(found) == ["loop_optimizer"], found
    text, _, saving = found["loop_optimizer"]
    assert "torch.optim.AdamW(fused=True), or foreach=True" in text, text
    # Of 8 kernels of 100 µs, one that moves 7 arrays instead of the 4 of addcdiv_ remains.
    assert abs(saving - 10 * (800 - 175)) < 1, saving


def test_adam_in_a_loop_by_names():
    before = ADAMW[:1] + [(MUL, "aten::mul_"), (SGD_ADD, "aten::add_")] + ADAMW[2:]  # as PyTorch did it before lerp_
    for parameter in (ADAMW[1:], before):
        found = advice_on(steps(parameter * 10, operators=False))
        assert list(found) == ["loop_optimizer"], found


def test_sgd_in_a_loop_needs_its_range():
    found = advice_on(steps(SGD * 10, inside="Optimizer.step#SGD.step"))
    assert "torch.optim.SGD(fused=True)" in found["loop_optimizer"][0], found
    for inside in (None, "Optimizer.step#EMAOptimizer.step"):
        assert "loop_optimizer" not in advice_on(steps(SGD * 10, inside=inside))


def test_an_optimizer_without_a_fused_form():
    """Adagrad is fused on CPUs only, so no advice names it."""
    found = advice_on(steps(ADAMW * 10, inside="Optimizer.step#Adagrad.step"))
    assert "torch.optim.AdamW(fused=True)" in found["loop_optimizer"][0], found


def chunks(passes, count):
    """Repeats each pass `count` times, as lists of tensors that take several launches."""
    return [one for one in passes for _ in range(count)]


def test_an_optimizer_in_passes():
    found = advice_on(steps(chunks(FOREACH_ADAMW, 40), inside="Optimizer.step#AdamW.step"))
    assert list(found) == ["foreach_optimizer"], found
    text, _, saving = found["foreach_optimizer"]
    assert "instead of 8: torch.optim.AdamW(fused=True)" in text and "foreach=True" not in text, text
    assert abs(saving - 40 * (800 - 175)) < 1, saving


def test_a_fused_optimizer():
    """No advice on optimizers of one kernel (of PyTorch or of Apex), on one pass of SGD, or on averages of
    parameters."""
    apex = [(LIST.format(4, "AdamFunctor<float>").replace("at::native::", ""), "FusedAdam")]
    plain = [(LIST.format(2, "BinaryOpListAlphaFunctor<float>"), "aten::_foreach_add_")]
    average = FOREACH_ADAMW[:1] + plain
    for passes, name in ((FUSED_ADAMW, "AdamW"), (apex, "FusedAdam"), (plain, "SGD"), (average, "EMAOptimizer")):
        found = advice_on(steps(chunks(passes, 40), inside=f"Optimizer.step#{name}.step"))
        assert not found, found


def test_a_fused_kernel_in_place_of_a_pass():
    """The fused kernel computes the whole update, so the kernels around it are no passes of an optimizer."""
    for name in (FUSED_ADAMW[0][0], FUSED_ADAMW[0][0].replace("FusedAdamMathFunctor", "AdamFunctor")):
        passes = replaced(FOREACH_ADAMW, FOREACH_ADAMW[-1][0], name)
        found = advice_on(steps(chunks(passes, 40), inside="Optimizer.step#AdamW.step"))
        assert "foreach_optimizer" not in found, found


def test_the_first_page_stays_a_page():
    result = run("report", write(steps(RMS_NORM, ROPE + ROPE, RMS_NORM, ADAMW * 10, inside="Optimizer.step#AdamW.step").trace()))
    assert result.returncode == 0 and len(result.stdout.splitlines()) <= 40, result.stdout
    for word in ("RMSNorm", "RoPE", "torch.optim.AdamW"):
        assert word in result.stdout, result.stdout


run_tests(globals())
