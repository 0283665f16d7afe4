"""`tf.distribute.MirroredStrategy` on several XPU devices."""

from __future__ import annotations

import pytest

from tests.exhaustive import every, exhaustive
from tests.jax import process

_PROGRAM = """
import sys
import numpy as np, tensorflow as tf

def fit(strategy):
    tf.keras.utils.set_random_seed(1)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Input((6,)),
                                     tf.keras.layers.Dense(8, activation="tanh"),
                                     tf.keras.layers.BatchNormalization(),
                                     tf.keras.layers.Dense(1)])
        model.compile(tf.keras.optimizers.Adam(0.05), "mse", jit_compile=False)
    random = np.random.default_rng(0)
    x = random.normal(size=(64, 6)).astype(np.float32)
    history = model.fit(x, x[:, :1] * 2, batch_size=16, epochs=3, shuffle=False, verbose=0)
    return history.history["loss"]

strategy = tf.distribute.MirroredStrategy(*sys.argv[2:] and [sys.argv[2:]])
devices = strategy.extended.worker_devices
assert len(devices) == int(sys.argv[1]) and all("XPU" in one for one in devices), devices
losses = fit(strategy)

@tf.function
def total(values):
    per_replica = strategy.run(lambda x: tf.reduce_sum(x) * 2, args=(values,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)

each = strategy.experimental_distribute_values_from_function(
    lambda context: tf.constant([1.0, context.replica_id_in_sync_group]))
count = len(devices)
assert float(total(each)) == 2 * (count + sum(range(count)))
with strategy.scope():
    variable = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)
tf.function(lambda: strategy.run(lambda: variable.assign_add(2.0)))()
assert [float(one) for one in strategy.experimental_local_results(variable)] == [3.0] * count
assert losses[-1] < losses[0], losses
print(losses)
"""


@pytest.mark.parametrize(
    ("count", "named"),
    every(2, ((1, ()), (2, ()), (3, ("XPU:0", "XPU:2"))), unpack=True),
    ids=("one", "two", "named"),
)
def test_it_trains_on_xpu(count: int, named: tuple[str, ...]) -> None:
    expected = len(named) or count
    done = process.run(
        _PROGRAM, str(expected), *named, ONEXPU_DEVICE="cpu", ONEXPU_NUM_CPU_DEVICES=str(count)
    )
    assert done.output.startswith("[")


@exhaustive
def test_hidden_devices_are_not_used() -> None:
    done = process.run(
        """
        import tensorflow as tf
        tf.config.set_visible_devices([], "XPU")
        print(tf.distribute.MirroredStrategy().extended.worker_devices)
        """,
        ONEXPU_DEVICE="cpu",
    )
    assert "CPU:0" in done.output
    assert "XPU" not in done.output


def test_several_workers_are_said_to_train_on_the_cpu() -> None:
    done = process.run(
        """
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
print(strategy.extended.worker_devices)
""",
        ONEXPU_DEVICE="cpu",
    )
    assert "XPU" not in done.output
    assert "MultiWorkerMirroredStrategy trains on the CPU" in done.errors
