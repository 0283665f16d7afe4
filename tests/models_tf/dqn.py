"""Deep Q-learning (Mnih et al. 2015) of a pole on a cart: environment, replay memory and network
all on the device.

Actions and their targets come from two networks (van Hasselt et al. 2015, arXiv:1509.06461); the
target's weights follow slowly.
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from tests.models_tf.training import Size, Training, minimise, scaled

_CARTS, _CAPACITY, _BATCH, _EPSILON, _DISCOUNT = 8, 40, 16, 0.3, 0.98
_ACTS = 2  # per training step: the memory is filled to a part, then overwritten in a ring

Transition = dict[str, tf.Tensor]


def _move(state: tf.Tensor, action: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """One fiftieth of a second of Barto, Sutton and Anderson's cart (1983), and whether the pole
    fell.
    """
    position, speed, angle, turning = tf.unstack(state, axis=1)
    force = tf.where(action == 1, 10.0, -10.0)
    sine, cosine = tf.sin(angle), tf.cos(angle)
    push = (force + 0.05 * turning * turning * sine) / 1.1
    bend = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1))
    pull = push - 0.05 * bend * cosine / 1.1
    following = [
        position + 0.02 * speed,
        speed + 0.02 * pull,
        angle + 0.02 * turning,
        turning + 0.02 * bend,
    ]
    fallen = (tf.abs(following[0]) > 2.4) | (tf.abs(following[2]) > 0.21)
    return tf.stack(following, axis=1), fallen


class _Replay:
    """A ring of transitions, each a row of a variable."""

    def __init__(self) -> None:
        def rows(dtype: tf.DType, *shape: int) -> tf.Variable:
            return tf.Variable(tf.zeros([_CAPACITY, *shape], dtype), trainable=False)

        self.rows = {
            "state": rows(tf.float32, 4),
            "action": rows(tf.int64),
            "reward": rows(tf.float32),
            "following": rows(tf.float32, 4),
            "fallen": rows(tf.bool),
        }
        self.written = tf.Variable(tf.constant(0, tf.int64), trainable=False)
        self.carts = tf.constant(np.arange(_CARTS))

    def add(self, transitions: Transition) -> None:
        """Takes a transition of each cart."""
        places = (self.written + self.carts) % _CAPACITY
        for name, variable in self.rows.items():
            variable.scatter_update(tf.IndexedSlices(transitions[name], places))
        self.written.assign_add(_CARTS)

    def sample(self, numbers: tf.random.Generator) -> Transition:
        filled = tf.minimum(self.written, _CAPACITY)
        places = numbers.uniform([_BATCH], 0, filled, tf.int64)
        return {name: tf.gather(variable, places) for name, variable in self.rows.items()}


def _network() -> keras.Model:
    """Duelling (Wang et al. 2015, arXiv:1511.06581): the value of a state, and what an action
    adds.
    """
    state = keras.Input((4,))
    x = keras.layers.Dense(32, activation="tanh")(state)
    x = keras.layers.Dense(32, activation="tanh")(x)
    value = keras.layers.Dense(1, dtype=keras.config.floatx())(x)
    advantage = keras.layers.Dense(2, dtype=keras.config.floatx())(x)
    mean = keras.ops.mean(advantage, axis=1, keepdims=True)
    return keras.Model(state, value + advantage - mean)


def build(size: Size) -> Training:
    """Makes agent and environment; a step takes no input."""
    del size  # there is one
    network, target = _network(), _network()
    optimizer = scaled(keras.optimizers.RMSprop(1e-3, epsilon=1e-3, centered=True))
    optimizer.build(network.trainable_variables)
    replay = _Replay()
    numbers = tf.random.Generator.from_seed(9, alg="philox")
    start = np.random.RandomState(9).uniform(-0.05, 0.05, (_CARTS, 4)).astype(np.float32)
    start[::4, 2:] = (
        0.19,
        0.6,
    )  # these poles fall within three moves, whatever is done, and start again
    state = tf.Variable(start, trainable=False)

    def act() -> tf.Tensor:
        """Moves every cart once; returns how many poles fell."""
        before = state.read_value()
        likely = tf.argmax(network(before), axis=1)
        other = numbers.uniform([_CARTS], 0, 2, tf.int64)
        action = tf.where(numbers.uniform([_CARTS]) < _EPSILON, other, likely)
        following, fallen = _move(before, action)
        reward = tf.where(fallen, 0.0, tf.cos(following[:, 2]))
        replay.add(
            {
                "state": before,
                "action": action,
                "reward": reward,
                "following": following,
                "fallen": fallen,
            }
        )
        state.assign(tf.where(fallen[:, None], start, following))
        return tf.math.count_nonzero(fallen)

    def learn() -> tf.Tensor:
        batch = replay.sample(numbers)
        best = tf.argmax(network(batch["following"]), axis=1)
        following = tf.gather(target(batch["following"]), best, batch_dims=1)
        goal = batch["reward"] + tf.where(batch["fallen"], 0.0, _DISCOUNT * following)

        def compute_loss() -> tuple[tf.Tensor, None]:
            values = tf.gather(network(batch["state"]), batch["action"], batch_dims=1)
            return keras.losses.Huber()(goal, values), None

        return minimise(optimizer, network.trainable_variables, compute_loss)[0]

    def step() -> dict[str, tf.Tensor]:
        fallen = tf.add_n([act() for _ in range(_ACTS)])
        loss = learn()
        for slow, fast in zip(target.variables, network.variables, strict=True):
            slow.assign_add(0.05 * (fast.value - slow.value))
        return {"loss": loss, "fallen": fallen}

    variables = [*network.variables, *target.variables, numbers.state, state]
    return Training(
        step=step,
        infer=lambda states: network(states),
        variables=[*variables, *replay.rows.values(), replay.written],
        optimizers=[optimizer],
        batches=[()] * 3,
        inputs=(start,),
    )
