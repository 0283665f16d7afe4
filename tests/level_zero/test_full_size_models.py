"""Published models at their published sizes load on GPUs and launch.

GPT-2 small and the U-Net of Stable Diffusion v1.4 are those of `models/`, ResNet-50 is Keras' own.
The driver grants every request for memory. The process needs 1.5 GB, because device memory
that no kernel writes uses no pages.
"""

from __future__ import annotations

import pytest

from tests.exhaustive import exhaustive
from tests.level_zero.lab import Lab, Run

_GIB = 1 << 30
_DEVICES = ("pvc", "dg2", "bmg")

_COMMON = """
import math
import jax, jax.numpy as jnp
import models

class OnDevice:
    '''Draws nothing: weights in bfloat16 on the device, which the host does not hold.'''
    def __init__(self, seed=0): pass
    def normal(self, *shape, deviation=1.0): return jnp.zeros(shape, jnp.bfloat16)
    def near(self, value, *shape): return jnp.zeros(shape, jnp.bfloat16)
    def dense(self, inputs, outputs, gain=1.0): return self.normal(inputs, outputs)
    def convolution(self, size, inputs, outputs, gain=1.0):
        return self.normal(size, size, inputs, outputs)

def weights(model, config):
    model.Weights = OnDevice
    parameters = model.initial_parameters(config)
    print("parameters:", sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(parameters)))
    return parameters
"""

# Radford et al. 2019, 117M: 124,439,808 parameters with tied embeddings. Batches of 8 texts.
_GPT_2_SMALL = """
from models import gpt
from models.optimizers import AdamState

config = gpt.Config(
    vocabulary=50257, context=1024, width=768, heads=12, layers=12, batch=8, prompt=1)
parameters = weights(gpt, config)
state = AdamState(
    jnp.int32(100), *(jax.tree.map(one, parameters) for one in (jnp.zeros_like, jnp.ones_like)))
tokens = jnp.zeros((config.batch, config.context + 1), jnp.int32)
[program] = [one for one in gpt.programs(config) if one.name == "gpt_training"]
step = jax.jit(program.function, donate_argnums=program.donated)
for _ in range(2):
    parameters, state, loss = step(parameters, state, tokens)
    loss.block_until_ready()
print("trained", loss.dtype)
"""

# Rombach et al. 2022, v1.4: latents of 64 x 64 for pictures of 512 x 512, both texts of the
# guidance in one batch.
_STABLE_DIFFUSION_UNET = """
from models import unet

config = unet.Config(
    latent=64, channels=(320, 640, 1280, 1280), blocks=2, heads=8, groups=32, text=77,
    text_width=768, batch=2, steps=1)
parameters = weights(unet, config)
latents = jnp.zeros((2, 64, 64, 4), jnp.bfloat16)
text = jnp.zeros((2, 77, 768), jnp.bfloat16)
[program] = [one for one in unet.programs(config) if one.name == "unet_prediction"]
predicted = jax.jit(program.function)(parameters, latents, jnp.full(2, 500.0), text)
print("predicted", predicted.block_until_ready().shape)
"""

_RESNET_50 = """
import os
import numpy as np
import tensorflow as tf

model = tf.keras.applications.ResNet50(weights=None, classifier_activation=None)
print("parameters:", model.count_params())
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
# Before the step is traced: a step that creates variables asks the device which ones have values,
# and no kernel computes the answer here.
optimizer.build(model.trainable_variables)
model.compile(optimizer, loss, jit_compile=os.environ["ONEXPU_TEST_MODE"] == "jit")
images = np.zeros((32, 224, 224, 3), np.float32)
model.train_on_batch(images, np.zeros(32, np.int32))
print("trained", model.trainable_variables[0].value.device)
"""


def _check(run: Run, parameters: int) -> None:
    run.check()
    assert f"parameters: {parameters}\n" in run.stdout
    assert not run.failed_calls()
    names = [one["name"] for one in run.of("launch")]
    # Products and convolutions are not oneDNN's reference code.
    assert not [name for name in names if name.startswith("ref_")], set(names)


@exhaustive
@pytest.mark.parametrize("device", _DEVICES)
def test_gpt_2_small_trains(lab: Lab, device: str) -> None:
    run = lab.run(device, _COMMON + _GPT_2_SMALL, seconds=900)
    _check(run, 124_439_808)
    assert "trained" in run.stdout
    names = [one["name"] for one in run.of("launch")]
    assert names.count("gemm_kernel") > 2 * 12 * 12, names
    # The logits alone are 0.8 GB, and the scores of attention 0.2 GB a layer.
    assert sum(one["size"] for one in run.of("allocate", kind="device")) > 4 * _GIB


@exhaustive
@pytest.mark.parametrize("device", _DEVICES)
def test_the_unet_of_stable_diffusion_predicts(lab: Lab, device: str) -> None:
    run = lab.run(device, _COMMON + _STABLE_DIFFUSION_UNET, seconds=900)
    _check(run, 859_520_964)
    assert "predicted (2, 64, 64, 4)" in run.stdout
    names = [one["name"] for one in run.of("launch")]
    assert sum("conv" in name for name in names) > 50, names
    assert names.count("gemm_kernel") > 100, names


@exhaustive
@pytest.mark.parametrize("mode", ("graph", "jit"))
@pytest.mark.parametrize("device", _DEVICES)
def test_resnet_50_trains_in_keras(lab: Lab, device: str, mode: str) -> None:
    env = {"ONEXPU_SHIM_COPIES": "1", "ONEXPU_TEST_MODE": mode}
    run = lab.run(device, _RESNET_50, env=env, seconds=900)
    _check(run, 25_636_712)
    assert "device:XPU:0" in run.stdout
    names = [one["name"] for one in run.of("launch")]
    # 53 convolutions, their gradients by weights, and all gradients by images but the first.
    assert sum("conv" in name for name in names) >= 53 * 3 - 1, names
