"""Sessions of TensorFlow 1, each with devices of its own, and the tensors that outlive them."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from process import output_of

v1 = tf.compat.v1


def test_a_tensor_may_outlive_its_session() -> None:
    # What a session sends to the host may be released when the session is gone. Without devices
    # that last, one of these sessions in about a hundred ended the process.
    output = output_of(
        """
        import numpy as np, tensorflow as tf
        for i in range(600):
            with tf.Graph().as_default(), tf.compat.v1.Session() as session:
                with tf.device("/XPU:0"):
                    value = tf.constant(np.arange(i % 3, dtype=np.float32)) * 1.0
                session.run(value)
        print("done")
        """
    )
    assert output.split() == ["done"]


def test_sessions_share_no_variables() -> None:
    with tf.Graph().as_default():
        with tf.device("/XPU:0"):
            variable = v1.get_variable("v", initializer=np.float32(3.0), use_resource=True)
            changed = variable.assign_add(1.0)
        with v1.Session() as first, v1.Session() as second:
            for session in (first, second):
                session.run(variable.initializer)
            assert first.run(changed) == 4.0
            assert first.run(changed) == 5.0
            assert second.run(changed) == 4.0


def test_a_session_without_xpu_devices() -> None:
    with tf.Graph().as_default():
        total = tf.reduce_sum(tf.ones([4]))
        with v1.Session(config=v1.ConfigProto(device_count={"XPU": 0})) as session:
            assert not [d.name for d in session.list_devices() if "XPU" in d.name]
            assert session.run(total) == 4.0


def test_a_session_names_its_device_in_full() -> None:
    with v1.Session() as session:
        names = [device.name for device in session.list_devices()]
    assert "/job:localhost/replica:0/task:0/device:XPU:0" in names
