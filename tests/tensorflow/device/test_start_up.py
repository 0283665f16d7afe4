"""What happens when TensorFlow loads the plugin: devices found or not, foreign flags, a second
copy.
"""

from __future__ import annotations

import pathlib

import tensorflow as tf
from process import output_of, run

import onexpu
from tests.exhaustive import exhaustive

PLUGIN = onexpu.library_directory().parent.parent / "tensorflow-plugins" / "libonexpu_tf.so"


def test_devices_are_listed() -> None:
    assert [d.name for d in tf.config.list_physical_devices("XPU")][0] == "/physical_device:XPU:0"
    assert any("XPU" in d.name for d in tf.config.list_logical_devices())


def test_xpu_is_the_default_device() -> None:
    assert "XPU" in tf.constant([1.0]).device


def test_tensorflow_goes_on_without_any_sycl_device() -> None:
    # A selector that no device of any machine matches.
    done = run(
        """
        import tensorflow as tf
        print(len(tf.config.list_physical_devices("XPU")))
        print(tf.reduce_sum(tf.ones([4])).numpy(), tf.ones([4]).device[-5:])
        """,
        ONEAPI_DEVICE_SELECTOR="cuda:99", TF_CPP_MIN_LOG_LEVEL="0",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "4.0", "CPU:0"]
    lines = [
        line
        for line in done.stderr.splitlines()
        if "onexpu: TensorFlow goes on without XPU" in line
    ]
    assert len(lines) == 1, done.stderr


def test_flags_that_only_jaxlib_knows_do_not_end_the_process() -> None:
    flags = "--xla_cpu_ftz=true --xla_dump_max_hlo_modules=7"
    output = output_of(
        """
        import os, tensorflow as tf
        with tf.device("/XPU:0"):
            y = tf.function(lambda: tf.ones([3]) * 2.0, jit_compile=True)()
        print(y.numpy().tolist())
        print(os.environ["XLA_FLAGS"])
        """,
        XLA_FLAGS=flags,
    )
    assert output.splitlines() == ["[2.0, 2.0, 2.0]", flags]


@exhaustive
def test_both_frameworks_with_a_flag_of_jaxlib() -> None:
    output = output_of(
        """
        import tensorflow as tf
        import jax, jax.numpy as jnp
        with tf.device("/XPU:0"):
            a = tf.function(lambda: tf.ones([3]) * 2.0, jit_compile=True)()
        b = jax.jit(lambda x: x * 2)(jax.device_put(jnp.ones(3), jax.devices("xpu")[0]))
        c = jax.jit(lambda x: x * 2)(jax.device_put(jnp.ones(3), jax.devices("cpu")[0]))
        print(float(a[0]), float(b[0]), float(c[0]))
        """,
        XLA_FLAGS="--xla_cpu_ftz=true",
    )
    assert output.split() == ["2.0", "2.0", "2.0"]


@exhaustive
def test_flags_of_a_file(tmp_path: pathlib.Path) -> None:
    flags = tmp_path / "flags"
    flags.write_text(f"--xla_cpu_ftz=true\n--xla_dump_to='{tmp_path}/a dump'\n")
    output = output_of(
        """
        import tensorflow as tf
        print(tf.function(lambda: tf.ones([3]) * 2.0, jit_compile=True)().numpy().tolist())
        """,
        XLA_FLAGS=str(flags),
    )
    assert output.split("\n")[0] == "[2.0, 2.0, 2.0]"


def test_a_second_copy_stays_unused(tmp_path: pathlib.Path) -> None:
    copy = tmp_path / "libonexpu_tf.so"
    copy.write_bytes(PLUGIN.read_bytes())
    done = run(
        f"""
        import tensorflow as tf
        from tensorflow.python.framework import load_library
        load_library.load_pluggable_device_library({str(copy)!r})
        load_library.load_pluggable_device_library({str(PLUGIN)!r})
        print([d.device_type for d in tf.config.list_physical_devices()])
        with tf.device("/XPU:0"):
            print((tf.ones([2]) * 2.0).numpy().tolist())
        """,
        LD_LIBRARY_PATH=f"{onexpu.library_directory()}:{onexpu.library_directory().parents[3]}",
        TF_CPP_MIN_LOG_LEVEL="0",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["['CPU', 'XPU']", "[2.0, 2.0]"]
    assert "this copy of libonexpu_tf.so stays unused" in done.stderr
