#!/usr/bin/env python3
"""One model, one device, one set of buffers: compiled programs, SYCL kernels and JAX.

Trains a small CNN on scikit-learn's handwritten digits in mixed execution on ``/XPU:0``:

1. ``tf.data`` brings batches to the device (``prefetch_to_device``);
2. ``tf.image.crop_and_resize`` augments them: XLA cannot compile it, so it runs as a built-in
   SYCL kernel;
3. Keras trains, once with ``jit_compile=True`` and once without (auto-clustering and on-demand
   kernels);
4. the activation is a SYCL kernel that this file registers from source, with its gradient;
5. the features go to JAX without a copy, where a jitted head trains with the same kernel;
6. a report says what ran where, what was copied and how long a step took.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax
import jax.numpy as jnp
import keras
import numpy as np
import rich.console
import rich.progress
import rich.table
import sklearn.datasets
import sklearn.model_selection
import tensorflow as tf

import onexpu

BATCH = 64
console = rich.console.Console(width=110)

# ---- 4: one kernel for both frameworks -----------------------------------------------------------

swish = onexpu.sycl_kernel(
    source="""
    template <typename T>
    ONEXPU_KERNEL void swish(const T* x, T* y, float beta) {
      size_t i = onexpu::global_id();
      y[i] = x[i] / (T(1) + sycl::exp(T(-beta) * x[i]));
    }
    """,
    inputs=["x"],
    outputs={"y": onexpu.like("x")},
    attributes={"beta": float},
    dtypes={"T": ["float32"]},
    range=lambda x: x.size,
)

swish_gradient = onexpu.sycl_kernel(
    source="""
    template <typename T>
    ONEXPU_KERNEL void swish_gradient(const T* x, const T* dy, T* dx, float beta) {
      size_t i = onexpu::global_id();
      T s = T(1) / (T(1) + sycl::exp(T(-beta) * x[i]));
      dx[i] = dy[i] * (s + T(beta) * x[i] * s * (T(1) - s));
    }
    """,
    inputs=["x", "dy"],
    outputs={"dx": onexpu.like("x")},
    attributes={"beta": float},
    dtypes={"T": ["float32"]},
    range=lambda x, dy: x.size,
)

swish.defgradient(
    lambda inputs, outputs, cotangents, beta: [swish_gradient(inputs[0], cotangents[0], beta=beta)]
)

# Writes its operand's address: what a kernel sees of a buffer.
address_of = onexpu.sycl_kernel(
    source="""
    ONEXPU_KERNEL void address_of(const float* x, uint32_t* address) {
      uint64_t bits = reinterpret_cast<uint64_t>(x);
      address[0] = uint32_t(bits);
      address[1] = uint32_t(bits >> 32);
    }
    """,
    inputs=["x"],
    outputs={"address": onexpu.array((2,), "uint32")},
    range=lambda x: 1,
)


def reference_swish(x, beta):
    """The same function in TensorFlow's own ops, for the run on TensorFlow's CPU device."""
    return x * tf.sigmoid(beta * x)


# ---- The model -----------------------------------------------------------------------------------


class Swish(keras.layers.Layer):
    """The custom kernel as a Keras layer."""

    def __init__(self, kernel, beta: float = 1.5):
        super().__init__()
        self.kernel = kernel
        self.beta = beta

    def call(self, x):
        """Applies the kernel to a tensor of any shape."""
        return self.kernel(x, beta=self.beta)

    def compute_output_shape(self, input_shape):
        """Returns the shape of the input, which the kernel keeps."""
        return input_shape


def random_boxes(number: tf.Tensor) -> tf.Tensor:
    """[BATCH, 4] f32 crops of at least 88 % of an image a side; the same for the same batch number
    on every device.
    """
    corner = tf.random.stateless_uniform([BATCH, 2], [number, 0], 0.0, 0.12)
    extent = tf.random.stateless_uniform([BATCH, 2], [number, 1], 0.88, 1.0)
    return tf.concat([corner, tf.minimum(corner + extent, 1.0)], axis=1)


def augment(images: tf.Tensor, boxes: tf.Tensor) -> tf.Tensor:
    """Crops, resized back on the device: [n, 8, 8, 1] f32 -> the same."""
    return tf.image.crop_and_resize(images, boxes, tf.range(BATCH), [8, 8])


class DigitsModel(keras.Model):
    """A Keras model whose training step augments its batch on the device before the compiled
    part.
    """

    def __init__(self, activation):
        super().__init__()
        self.convolution_1 = keras.layers.Conv2D(32, 3, padding="same")
        self.convolution_2 = keras.layers.Conv2D(64, 3, padding="same", activation="relu")
        self.pool = keras.layers.MaxPooling2D(2)
        self.activation = Swish(activation)
        self.flatten = keras.layers.Flatten()
        self.hidden = keras.layers.Dense(64, activation="relu")
        self.head = keras.layers.Dense(10)

    def features(self, images):
        """[n, 8, 8, 1] images -> [n, 64] features."""
        x = self.activation(self.convolution_1(images))
        x = self.pool(self.convolution_2(x))
        return self.hidden(self.flatten(x))

    def call(self, images):
        """[n, 8, 8, 1] images -> [n, 10] logits."""
        return self.head(self.features(images))

    def make_train_function(self, force: bool = False):
        """Puts the augmentation before the step that Keras would compile."""
        if self.train_function is not None and not force:
            return
        # A compiled program (jit_compile=True), or a graph of clusters and kernels.
        step = tf.function(
            self.train_step, jit_compile=self.jit_compile or None, reduce_retracing=True
        )

        @tf.function(reduce_retracing=True)
        def augment_and_train(iterator):
            images, boxes, labels = next(iterator)
            return step((augment(images, boxes), labels))

        self.train_function = augment_and_train


class ProgressBar(keras.callbacks.Callback):
    """A progress bar over all steps; remembers what a step takes once everything is compiled."""

    def __init__(self, title: str, steps: int):
        super().__init__()
        self._title, self._steps = title, steps
        self.step_seconds: list[float] = []

    def on_train_begin(self, logs=None):
        """Shows the bar."""
        self._progress = rich.progress.Progress(
            rich.progress.TextColumn("{task.description:<44}"),
            rich.progress.BarColumn(),
            rich.progress.MofNCompleteColumn(),
            rich.progress.TextColumn("loss {task.fields[loss]:.3f}"),
            console=console,
        )
        self._task = self._progress.add_task(self._title, total=self._steps, loss=float("nan"))
        self._progress.start()

    def on_train_batch_begin(self, batch, logs=None):
        """Starts the clock."""
        self._begin = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        """Stops the clock and advances the bar."""
        loss = float(logs["loss"])  # waits for the step
        self.step_seconds.append(time.perf_counter() - self._begin)
        self._progress.update(self._task, advance=1, loss=loss)

    def on_train_end(self, logs=None):
        """Leaves the bar as it is."""
        self._progress.stop()

    @property
    def milliseconds_per_step(self) -> float:
        """The median over the last three quarters of the steps."""
        return 1e3 * float(np.median(self.step_seconds[len(self.step_seconds) // 4 :]))


def train(title: str, device: str, activation, jit_compile: bool, data, epochs: int):
    """Trains one model; returns it with its test accuracy and its milliseconds per step."""
    train_images, train_labels, test_images, test_labels = data
    keras.utils.set_random_seed(7)
    pipeline = (
        tf.data.Dataset.from_tensor_slices((train_images, train_labels))
        .shuffle(len(train_images), seed=1)
        .repeat(epochs)
        .batch(BATCH, drop_remainder=True)
        .enumerate()
        .map(lambda number, batch: (batch[0], random_boxes(number), batch[1]))
        .apply(tf.data.experimental.prefetch_to_device(device))
    )
    steps = epochs * len(train_images) // BATCH
    with tf.device(device):
        model = DigitsModel(activation)
        model.compile(
            optimizer=keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(3e-3, steps)),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=[],
            jit_compile=jit_compile,
        )
        bar = ProgressBar(title, steps)
        model.fit(
            pipeline, steps_per_epoch=steps, epochs=1, shuffle=False, verbose=0, callbacks=[bar]
        )
        logits = model(tf.constant(test_images)).numpy()
    accuracy = float(np.mean(np.argmax(logits, axis=1) == test_labels))
    return model, accuracy, bar.milliseconds_per_step


# ---- 5: the same buffers in JAX ------------------------------------------------------------------


def train_jax_head(
    train_features: jax.Array, train_labels, test_features: jax.Array, test_labels
) -> float:
    """A head of one hidden layer with the same kernel, trained by ``jax.jit``; returns its test
    accuracy.
    """
    keys = jax.random.split(jax.random.key(0), 2)
    width = train_features.shape[1]
    parameters = {
        "w1": jax.random.normal(keys[0], (width, 64)) * width**-0.5,
        "w2": jax.random.normal(keys[1], (64, 10)) * 0.125,
    }

    def logits(p, x):
        return swish(x @ p["w1"], beta=1.5) @ p["w2"]

    def loss(p, x, y):
        return -jnp.take_along_axis(jax.nn.log_softmax(logits(p, x)), y[:, None], axis=1).mean()

    @jax.jit
    def step(p, x, y):
        return jax.tree.map(lambda w, g: w - 0.1 * g, p, jax.grad(loss)(p, x, y))

    labels = jax.device_put(train_labels, jax.devices("xpu")[0])
    for _ in range(300):
        parameters = step(parameters, train_features, labels)
    predicted = np.asarray(jax.jit(logits)(parameters, test_features)).argmax(1)
    return float(np.mean(predicted == test_labels))


def addresses(tensor: tf.Tensor, array: jax.Array) -> dict[str, int]:
    """The device address of one buffer, as each side sees it."""
    low, high = (int(v) for v in np.asarray(address_of(array)))
    return {
        "TensorFlow tensor": onexpu.buffer_address(tensor),
        "custom kernel's argument": low | high << 32,
        "JAX array": array.unsafe_buffer_pointer(),
    }


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=30)
    epochs = parser.parse_args().epochs

    digits = sklearn.datasets.load_digits()
    split = sklearn.model_selection.train_test_split(
        (digits.images[..., None] / 16.0).astype(np.float32),
        digits.target.astype(np.int32),
        test_size=0.4,
        random_state=0,
        stratify=digits.target,
    )
    data = (split[0], split[2], split[1], split[3])

    onexpu.reset_statistics()
    runs = {}
    runs["xpu, jit_compile=True"] = train(
        "xpu: one compiled program a step", "/XPU:0", swish, True, data, epochs
    )
    tf.config.optimizer.set_jit("autoclustering")
    runs["xpu, jit_compile=False"] = train(
        "xpu: clusters, on-demand and SYCL kernels", "/XPU:0", swish, False, data, epochs
    )
    tf.config.optimizer.set_jit(False)
    model = runs["xpu, jit_compile=True"][0]
    with tf.device("/XPU:0"):
        train_features = model.features(tf.constant(data[0]))
        test_features = model.features(tf.constant(data[2]))
    before = onexpu.transfer_statistics()
    shared = onexpu.to_jax(train_features)
    shared_test = onexpu.to_jax(test_features)
    copied = onexpu.transfer_statistics() - before
    seen = addresses(train_features, shared)
    head_accuracy = train_jax_head(shared, data[1], shared_test, data[3])
    transfers = onexpu.transfer_statistics()
    placement = onexpu.placement_report()
    runs["TensorFlow's CPU device"] = train(
        "TensorFlow CPU", "/CPU:0", reference_swish, True, data, epochs
    )

    table = rich.table.Table(title=f"Training on {len(data[0]):,} digits, tested on {len(data[2])}")
    for column in ("run", "test accuracy", "milliseconds per step"):
        table.add_column(column, justify="left" if column == "run" else "right")
    for name, (_, accuracy, milliseconds) in runs.items():
        table.add_row(name, f"{accuracy:.4f}", f"{milliseconds:.2f}")
    table.add_row("JAX head on the shared features", f"{head_accuracy:.4f}", "")
    console.print(table)
    console.print(placement)
    console.print(transfers)

    table = rich.table.Table(title="One buffer (the training features), three views")
    table.add_column("seen by")
    table.add_column("device address")
    for name, address in seen.items():
        table.add_row(name, f"{address:#x}")
    console.print(table)
    console.print(f"Bytes copied by the hand-over to JAX: {copied.total_bytes}")

    # A demonstration that shows something else than it says is a failure.
    accuracies = {name: accuracy for name, (_, accuracy, _) in runs.items()}
    cpu = accuracies["TensorFlow's CPU device"]
    for name, accuracy in accuracies.items():
        if accuracy < 0.97 or abs(accuracy - cpu) > 0.005:
            raise SystemExit(
                f"{name}: accuracy {accuracy:.4f}, expected at least 0.97 and within 0.005 of "
                f"{cpu:.4f}"
            )
    if len(set(seen.values())) != 1 or copied.total_bytes:
        raise SystemExit("the hand-over to JAX was not free of copies")


if __name__ == "__main__":
    main()
