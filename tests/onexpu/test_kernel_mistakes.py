"""Kernels that compile and would compute something else are rejected with their name and line, in
every way to call them; what is right is accepted."""

from __future__ import annotations

import jax
import numpy as np
import pytest
import tensorflow as tf

import onexpu

ONES = np.ones((2, 4), np.float32)
COPY = (
    "ONEXPU_KERNEL{nd} void copy(const float* x,\n"
    "                        float* y) {{ y[0] = x[0]; }}"
)


def define(source: str = COPY.format(nd=""), **overrides) -> onexpu.SyclKernel:
    arguments = {"inputs": ["x"], "outputs": {"y": onexpu.like("x")}, **overrides}
    return onexpu.sycl_kernel(source, **arguments)


def every_way(kernel: onexpu.SyclKernel, values: np.ndarray = ONES):
    """Calls in both frameworks, eager and compiled, of known shapes and unknown ones."""
    array = jax.device_put(values, jax.devices("xpu")[0])
    yield lambda: kernel(array)
    yield lambda: jax.jit(kernel)(array)
    unknown = [tf.TensorSpec([None] * values.ndim, values.dtype)]
    with tf.device("/XPU:0"):
        tensor = tf.constant(values)
        yield lambda: kernel(tensor)
        for jit_compile in (False, True):
            for signature in (None, unknown):
                run = tf.function(kernel, jit_compile=jit_compile, input_signature=signature)
                yield lambda run=run: run(tensor)


# -- Dimensions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "range_", "message"),
    [
        (
            "",
            (2, 4),
            r"kernel 'copy' \(line 1\) has 1 dimension, but its range \[2, 4\] has 2. Declare it "
            r"ONEXPU_KERNEL_ND\(2\)",
        ),
        ("", (1, 2, 4), r"has 1 dimension, but its range \[1, 2, 4\] has 3"),
        ("_ND(1)", (2, 4), "has 1 dimension, but"),
        (
            "_ND(2)",
            (8,),
            r"has 2 dimensions, but its range \[8\] has 1. Declare it ONEXPU_KERNEL, or give a "
            r"range of 2",
        ),
        ("_ND(2)", 8, "has 2 dimensions, but"),
        ("_ND(2)", (1, 2, 4), "has 2 dimensions, but"),
        ("_ND(3)", (2, 4), "has 3 dimensions, but"),
        ("_ND(3)", None, "has 3 dimensions, so it needs range="),
    ],
)
def test_dimensions_other_than_the_source_declares(declared: str, range_, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        define(COPY.format(nd=declared), range=range_)


@pytest.mark.parametrize(
    ("declared", "range_"),
    [
        ("", lambda x: x.shape),
        ("_ND(2)", lambda x: x.size),
        ("_ND(3)", lambda x: x.shape),
        ("_ND(2)", lambda x: (1, *x.shape)),
    ],
)
def test_dimensions_that_follow_from_the_inputs(declared: str, range_) -> None:
    for call in every_way(define(COPY.format(nd=declared), range=range_)):
        with pytest.raises(
            ValueError,
            match=r"kernel 'copy' \(line 1\) has . dimensions?, but its range \[.*\] has",
        ):
            call()


@pytest.mark.parametrize(
    ("declared", "asked", "written"),
    [("_ND(2)", "onexpu::global_id()", "1"), ("_ND(2)", "onexpu::global_size()", "1"),
     ("_ND(3)", "onexpu::item()", "1"),
     ("", "onexpu::item<2>()", "2"),
     ("_ND(3)", "sycl::ext::oneapi::this_work_item::get_nd_item<2>()", "2")],
)  # fmt: skip
def test_work_items_of_other_dimensions(declared: str, asked: str, written: str) -> None:
    source = f"ONEXPU_KERNEL{declared} void f(const float* x, float* y) {{\n  auto i = {asked};\n}}"
    with pytest.raises(
        ValueError,
        match=rf"kernel 'f' has . dimensions \(line 1\), but .* on line 2 is of {written}",
    ):
        define(source, range=(1, 1, 1))


def test_sizes_that_are_not_integers(xpu) -> None:
    with pytest.raises(
        ValueError, match=r"the range of kernel 'copy' is \[2.5\]; sizes are integers"
    ):
        define(range=lambda x: x.size / 3.2)(jax.device_put(ONES, xpu))


# -- Parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "overrides", "message"),
    [
        ("ONEXPU_KERNEL void f(const float* w,\n const float* x, float* y) { }",
         {"inputs": ["x", "w"]},
         r"parameter 1 of kernel 'f' is 'w' \(line 1\), but its operand 1 is 'x'. .*: x, w, y"),
        ("ONEXPU_KERNEL void f(const float* x,\n float* b, float* a) { }",
         {"outputs": {"a": onexpu.like("x"), "b": onexpu.like("x")}},
         r"parameter 2 of kernel 'f' is 'b' \(line 2\), but its operand 2 is 'a'"),
        ("ONEXPU_KERNEL void f(const float* x, float* s, float* y) { }",
         {"scratch": {"s": onexpu.array((1,), "float32")}},
         "parameter 2 of kernel 'f' is 's'"),
        ("ONEXPU_KERNEL void f(const float* input, float* y) { }", {},
         "parameter 1 of kernel 'f' is 'input'"),
        ("ONEXPU_KERNEL void f(const float* x,\n const float* y) { }", {},
         r"kernel 'f' cannot write 'y' \(line 2\): its pointer is const, and it is an output"),
        ("ONEXPU_KERNEL void f(const float* x, float* y, const float* s) { }",
         {"scratch": {"s": onexpu.array((1,), "float32")}},
         "cannot write 's'.* it is scratch memory"),
        ("ONEXPU_KERNEL void f(const float* x, float* y, float* z) { }", {},
         r"kernel 'f' \(line 1\) takes pointers for inputs and outputs \(x, y\)"),
        ("ONEXPU_KERNEL void f(const float* x, float a, float* y) { }",
         {"attributes": {"a": float}}, "takes pointers for inputs and outputs"),
    ],
)  # fmt: skip
def test_parameters_that_are_not_the_operands(source: str, overrides, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        define(source, **overrides)


def test_a_kernel_of_a_form_that_is_not_supported() -> None:
    source = (
        "ONEXPU_KERNEL void f(const float* x, float* y) { }\n"
        "ONEXPU_KERNEL void g(const float x[16], float* y) { }"
    )
    message = (
        r"kernel 'g' of the source is not supported \(line 2\): its parameter 'x' is an array; "
        r"operands are pointers: `const float\* x`"
    )
    with pytest.raises(ValueError, match=message):
        define(source, name="g")
    with pytest.raises(ValueError, match="several kernels; name= chooses one of f, g"):
        define(source)
    assert define(source, name="f").name == "f"
    assert onexpu.sycl_module(source).names == ("f",)


@pytest.mark.parametrize(
    "written",
    ["sycl::local_accessor<float, 1> tile;",
     "auto& tile = "
     "*sycl::ext::oneapi::group_local_memory_for_overwrite<float[8]>(onexpu::item().get_group());",
     "auto tile = sycl::ext::oneapi::group_local_memory<float>(onexpu::item().get_group());",
     "float* tile = (float*)sycl::ext::oneapi::experimental::get_work_group_scratch_memory();"],
)  # fmt: skip
def test_local_memory_of_a_form_that_does_not_work(written: str) -> None:
    with pytest.raises(ValueError, match=r"kernel 'f' uses \w+ \(line 3\): .*work_group_static"):
        define(
            f"// local_accessor\nONEXPU_KERNEL void f(const float* x, float* y) {{\n  {written}\n}}"
        )
    with pytest.raises(ValueError, match=r"kernel 'f' uses local_accessor \(line 1\)"):
        define(
            "ONEXPU_KERNEL void f(const float* x, float* y, "
            "sycl::local_accessor<float, 1> tile) { }"
        )


# -- What is accepted ----------------------------------------------------------------------------

# All that needs a compiler, so that it is asked once.
MODULE = """
using real = double;
struct pair { float first, second; };
namespace tuned {
template <typename T, int count, bool is_negative = false>
ONEXPU_KERNEL void repeat(const T* x, T* y) noexcept {
  const T value = x[onexpu::global_id()];
  for (int i = 0; i < count; ++i) y[onexpu::global_id() * count + i] = is_negative ? -value : value;
}
}
template <typename T, int block>
ONEXPU_KERNEL void block_sums(const T* x, T* sums) {
  sycl::ext::oneapi::experimental::work_group_static<T[block]> tile;
  const auto item = onexpu::item();
  const size_t lane = item.get_local_id(0);
  tile[lane] = x[item.get_global_id(0)];
  for (size_t half = block / 2; half > 0; half /= 2) {
    sycl::group_barrier(item.get_group());
    if (lane < half) tile[lane] += tile[lane + half];
  }
  if (lane == 0) sums[item.get_group(0)] = tile[0];
}
ONEXPU_KERNEL void aliased(const real* x, real* y, real a) { y[0] = x[0] + a; }
ONEXPU_KERNEL void swapped(const pair* x, pair* y) {
  y[onexpu::global_id()] = {x[onexpu::global_id()].second, x[onexpu::global_id()].first};
}
"""


@pytest.fixture(scope="module")
def module() -> onexpu.SyclModule:
    return onexpu.sycl_module(MODULE)


def repeat(module: onexpu.SyclModule, **constants) -> onexpu.SyclKernel:
    return module.kernel(
        "tuned::repeat",
        ["x"],
        {"y": onexpu.like("x", shape=lambda x: (x.size * 3,))},
        range=lambda x: x.size,
        constants=constants,
    )


def test_constants_of_a_template(module) -> None:
    values = np.arange(4, dtype=np.float32)
    fixed, late = (
        repeat(module, count=3, is_negative=True),
        repeat(module, count=lambda x: x.size - 1),
    )
    for kernel, sign in ((fixed, -1), (late, 1)):
        for call in list(every_way(kernel, values))[:4]:  # of shapes that are known
            np.testing.assert_array_equal(call(), sign * np.repeat(values, 3))
    assert b"repeat" in fixed.spirv("float32")
    assert (
        late.spirv("float32", count=3) == late.spirv("float32", count=3.0) != fixed.spirv("float32")
    )
    with pytest.raises(
        TypeError, match=r"constants that follow from the inputs \(count\); got \(\)"
    ):
        late.spirv("float32")


def test_constants_need_shapes_that_are_known(module) -> None:
    late = repeat(module, count=lambda x: x.size)
    with (
        pytest.raises(
            TypeError,
            match="constant 'count' of kernel 'tuned::repeat' is an integer that is known when",
        ),
        tf.device("/XPU:0"),
    ):
        tf.function(late, input_signature=[tf.TensorSpec([None], tf.float32)])(tf.ones(3))


@pytest.mark.parametrize(
    ("overrides", "error", "message"),
    [
        (
            {},
            ValueError,
            r"template parameter 'count' \(line 5\) of kernel 'tuned::repeat' has no value: "
            r"constants=",
        ),
        (
            {"constants": {"count": 3, "n": 1}},
            ValueError,
            r"names n, which is not a template parameter of it \(line 6\)",
        ),
        ({"constants": {"count": 3, "T": 1}}, ValueError, "names T, which is a type"),
        (
            {"constants": {"count": 1 << 31}},
            ValueError,
            "count=2147483648 of kernel 'tuned::repeat' does not fit into int32",
        ),
        ({"constants": {"count": 1.5}}, TypeError, "'count' .* is an integer"),
        ({"constants": {"count": int}}, TypeError, "'count' .* is an integer"),
        (
            {"constants": {"count": 3}, "attributes": {"count": int}},
            ValueError,
            "attribute count .* is a template parameter, which constants= gives a value",
        ),
        (
            {"constants": {"count": 3}, "dtypes": {"count": ["int32"]}},
            ValueError,
            "dtypes .* names count",
        ),
    ],
)
def test_constants_that_do_not_fit(module, overrides, error, message: str) -> None:
    with pytest.raises(error, match=message):
        module.kernel("tuned::repeat", ["x"], {"y": onexpu.like("x")}, **overrides)


def test_local_memory(module) -> None:
    values = np.arange(64, dtype=np.float32)
    for block in (8, 32):
        kernel = module.kernel(
            "block_sums", ["x"],
            {"sums": onexpu.like("x", shape=lambda x, block=block: (x.size // block,))},
            range=lambda x: x.size, local_size=block, constants={"block": block},
        )  # fmt: skip
        for call in list(every_way(kernel, values))[:5]:
            np.testing.assert_array_equal(call(), values.reshape(-1, block).sum(1))


def test_types_that_the_source_names(module, xpu) -> None:
    aliased = module.kernel("aliased", ["x"], {"y": onexpu.like("x")}, {"a": "float64"}, range=1)
    with pytest.raises(
        TypeError,
        match=r"'x' of kernel 'aliased' has the type float32; "
        r"the kernel takes another, real \(line 23\)",
    ):
        aliased(jax.device_put(np.ones(1, np.float32), xpu), a=1.0)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(aliased(jax.device_put(np.ones(1), xpu), a=1.0), [2])
    swapped = module.kernel("swapped", ["x"], {"y": onexpu.like("x")}, range=lambda x: x.shape[0])
    np.testing.assert_array_equal(
        swapped(jax.device_put(np.array([[1, 2], [3, 4]], np.float32), xpu)), [[2, 1], [4, 3]]
    )


# -- What the compiled kernel does ---------------------------------------------------------------

# Messages count lines: a kernel that takes two here is one line of the source.
USES = """
float total = 0;
ONEXPU_KERNEL void writes_input(float* x, float* y) { \
  y[onexpu::global_id()] = x[0]; x[onexpu::global_id()] = 1; }
ONEXPU_KERNEL void casts_const(const float* x, float* y) { \
  y[onexpu::global_id()] = 1; const_cast<float*>(x)[1] += 1; }
ONEXPU_KERNEL void only_reads(float* x, float* y) { \
  for (float* p = x; p < x + 1; ++p) y[onexpu::global_id()] = *p; }
ONEXPU_KERNEL void writes_itself(const float* x, float* y) { \
  float z = x[0]; x = &z; y[onexpu::global_id()] = *x; }
ONEXPU_KERNEL void keeps_static(const float* x, float* y) { \
  static float last; y[onexpu::global_id()] = last; last = x[0]; }
ONEXPU_KERNEL void keeps_total(const float* x, float* y) { \
  total += x[0]; y[onexpu::global_id()] = total; }
inline size_t index() { return onexpu::global_id(); }
ONEXPU_KERNEL_ND(2) void drops_rows(const float* x, float* y) { y[index()] = x[index()]; }
ONEXPU_KERNEL_ND(2) void planes(const float* x, float* y) {
  const auto item = onexpu::item<2>();
  const size_t i = item.get_global_id(0) * item.get_global_range(1) + item.get_global_id(1);
  y[i] = 2 * x[i];
}
ONEXPU_KERNEL void flat(const float* x, float* y) {
  y[onexpu::global_id()] = 2 * x[onexpu::global_id()];
}
"""


@pytest.fixture(scope="module")
def uses() -> onexpu.SyclModule:
    return onexpu.sycl_module(USES)


def of_use(uses: onexpu.SyclModule, name: str, **overrides) -> onexpu.SyclKernel:
    return uses.kernel(name, ["x"], **{"outputs": {"y": onexpu.like("x")}, **overrides})


@pytest.fixture(scope="module")
def kernels(uses) -> dict[str, onexpu.SyclKernel]:
    """All kernels of the module, so that they are compiled together."""
    plane = {"drops_rows", "planes"}
    return {
        name: of_use(uses, name, **({"range": lambda x: x.shape} if name in plane else {}))
        for name in uses.names
    }


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "writes_input",
            r"kernel 'writes_input' writes to its input 'x' \(line 3\), which other code may "
            r"hold. Give an output its name",
        ),
        ("casts_const", r"kernel 'casts_const' writes to its input 'x' \(line 4\)"),
        (
            "keeps_static",
            r"kernel 'keeps_static' \(line 7\) writes the variable last, which all its work-items "
            r"and launches share",
        ),
        ("keeps_total", r"kernel 'keeps_total' \(line 8\) writes the variable total"),
        (
            "drops_rows",
            r"kernel 'drops_rows' \(line 10\) reads no work-item id of dimension 0 of its range "
            r"\[2, 4\]",
        ),
    ],
)
def test_kernels_that_write_or_count_wrongly(kernels, name: str, message: str) -> None:
    for call in list(every_way(kernels[name]))[:4]:
        with pytest.raises(ValueError, match=message):
            call()


def test_kernels_that_only_look_wrong(kernels) -> None:
    for name, expected in (
        ("only_reads", ONES),
        ("writes_itself", ONES),
        ("planes", 2 * ONES),
        ("flat", 2 * ONES),
    ):
        for call in list(every_way(kernels[name]))[:4]:
            np.testing.assert_array_equal(call(), expected)


def test_the_same_for_kernels_from_spirv(kernels) -> None:
    def shipped(name: str, **overrides) -> onexpu.SyclKernel:
        entry_point = onexpu.lowered(
            kernels["flat"], jax.ShapeDtypeStruct((2, 4), "float32")
        ).entry_point
        entry_point = entry_point.replace(
            "18__sycl_kernel_flat", f"{14 + len(name)}__sycl_kernel_{name}"
        )
        arguments = {"inputs": {"x": "float32"}, "outputs": {"y": onexpu.like("x")}, **overrides}
        return onexpu.spirv_kernel(kernels["flat"].spirv(), entry_point, **arguments)

    for call in list(every_way(shipped("planes", range=lambda x: x.shape)))[:4]:
        np.testing.assert_array_equal(call(), 2 * ONES)
    for kernel, message in (
        (shipped("planes"), r"reads work-item ids of 2 dimensions, but its range \[8\] has 1"),
        (
            shipped("flat", range=lambda x: x.shape),
            r"reads no work-item id of dimension 0 of its range \[2, 4\]",
        ),
        (shipped("casts_const"), "writes to its input 'x', which"),
        (shipped("keeps_total"), "writes the variable total, which"),
    ):
        for call in list(every_way(kernel))[:4]:
            with pytest.raises(ValueError, match=message):
                call()
