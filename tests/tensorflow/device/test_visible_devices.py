"""`tf.config.set_visible_devices` and the device selection of a session's configuration."""

from __future__ import annotations

import process

from tests.exhaustive import exhaustive

TWO = {"ONEXPU_NUM_CPU_DEVICES": "2"}


def test_no_visible_device() -> None:
    program = """
    import tensorflow as tf

    tf.config.set_visible_devices([], "XPU")
    assert [d.device_type for d in tf.config.list_logical_devices()] == ["CPU"]
    assert "CPU" in (tf.ones([2]) + 1).device
    assert tf.config.list_physical_devices("XPU")
    with tf.device("/XPU:0"):  # soft placement
        assert "CPU" in (tf.ones([2]) + 1).device

    @tf.function(jit_compile=True)
    def square(x: tf.Tensor) -> tf.Tensor:
        return x * x

    assert "CPU" in square(tf.ones([2])).device
    """
    process.output_of(program)


@exhaustive
def test_a_keras_model_without_visible_devices() -> None:
    program = """
    import numpy as np
    import tensorflow as tf

    tf.config.set_visible_devices([], "XPU")
    import keras

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.compile("adam", "mse")
    model.fit(np.ones((8, 4)), np.ones((8, 3)), verbose=0)
    assert "CPU" in model.trainable_variables[0].value.device
    """
    process.output_of(program)


@exhaustive
def test_the_rest_of_the_library_without_visible_devices() -> None:
    program = """
    import tensorflow as tf

    import onexpu

    tf.config.set_visible_devices([], "XPU")
    tf.ones([2]) + 1
    onexpu.transfer_statistics()
    print(onexpu.memory_info())
    """
    process.output_of(program)


def test_all_devices_are_visible_by_default() -> None:
    program = """
    import tensorflow as tf

    tf.config.set_visible_devices(tf.config.list_physical_devices("XPU"), "XPU")
    names = [d.name for d in tf.config.list_logical_devices("XPU")]
    assert names == ["/device:XPU:0", "/device:XPU:1"], names
    """
    process.output_of(program, **TWO)


def test_one_of_two_devices() -> None:
    """A device keeps its ordinal."""
    program = """
    import tensorflow as tf

    tf.config.set_visible_devices([tf.config.list_physical_devices("XPU")[{ordinal}]], "XPU")
    assert [d.name for d in tf.config.list_logical_devices("XPU")] == ["/device:XPU:{ordinal}"]
    x = tf.random.uniform([4, 4])
    assert x.device.endswith("XPU:{ordinal}"), x.device
    product = tf.function(tf.matmul, jit_compile=True)(x, x)
    assert product.device.endswith("XPU:{ordinal}"), product.device
    tf.debugging.assert_near(product, tf.matmul(x, x))
    """
    for ordinal in (0, 1):
        process.output_of(program.replace("{ordinal}", str(ordinal)), **TWO)


@exhaustive
def test_configurations_of_sessions() -> None:
    program = """
    import tensorflow as tf

    def devices(config: tf.compat.v1.ConfigProto) -> list[str]:
        with tf.compat.v1.Session(graph=tf.Graph(), config=config) as session:
            return [d.name[-5:] for d in session.list_devices() if d.device_type == "XPU"]

    def config(visible: str = "", **counts: int) -> tf.compat.v1.ConfigProto:
        options = tf.compat.v1.GPUOptions(visible_device_list=visible, allow_growth=True)
        return tf.compat.v1.ConfigProto(device_count=counts, pluggable_device_options=options)

    assert devices(tf.compat.v1.ConfigProto()) == ["XPU:0", "XPU:1"]
    no_gpu = tf.compat.v1.ConfigProto(device_count={"CPU": 1, "GPU": 0})
    assert devices(no_gpu) == ["XPU:0", "XPU:1"]
    assert devices(config()) == ["XPU:0", "XPU:1"]
    assert devices(config(XPU=0)) == []
    assert devices(config(XPU=1)) == ["XPU:0"]
    assert devices(config(XPU=7)) == ["XPU:0", "XPU:1"]
    assert devices(config("XPU:1")) == ["XPU:1"]
    assert devices(config("OTHER:0")) == []
    try:
        devices(config("XPU:2"))
        raise SystemExit("an unknown device was accepted")
    except tf.errors.InvalidArgumentError as error:
        assert "XPU:2" in str(error), error
    """
    process.output_of(program, **TWO)
