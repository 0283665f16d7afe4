"""The placement report: ops by the route that they really took."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import onexpu

X = np.random.RandomState(2).rand(4, 4).astype(np.float32)


@pytest.fixture(autouse=True)
def _from_zero() -> None:
    onexpu.reset_statistics()


def test_on_demand_ops_are_counted() -> None:
    with tf.device("/XPU:0"):
        x = tf.constant(X)
        for _ in range(3):
            x = tf.matmul(x, x)
        tf.tanh(x)
    assert onexpu.placement_report().counts["on_demand"] == {"MatMul": 3, "Tanh": 1}


def test_sycl_kernels_are_counted() -> None:
    with tf.device("/XPU:0"):
        tf.where(tf.constant(X) > 0.5)
    assert onexpu.placement_report().counts["sycl_kernel"] == {"Where": 1}


def test_host_ops_of_a_graph_are_counted_by_run() -> None:
    @tf.function
    def function(x: tf.Tensor) -> tf.Tensor:
        return tf.cast(tf.raw_ops.NthElement(input=tf.matmul(x, x), n=0), tf.float32)

    with tf.device("/XPU:0"):
        for _ in range(4):
            function(tf.constant(X))
    report = onexpu.placement_report()
    assert report.counts["host"] == {"NthElement": 4}
    assert report.counts["on_demand"] == {"MatMul": 4}


def test_int32_counters_are_the_hosts() -> None:
    with tf.device("/XPU:0"):
        tf.constant([1, 2]) * tf.constant([3, 4])
    assert onexpu.placement_report().counts["host"] == {"Mul": 1}


def test_ops_inside_of_compiled_functions_are_the_clusters() -> None:
    compiled = tf.function(lambda x: tf.tanh(tf.matmul(x, x) + 1.0), jit_compile=True)

    @tf.function
    def function(x: tf.Tensor) -> tf.Tensor:
        return compiled(x) * 2.0

    with tf.device("/XPU:0"):
        for _ in range(2):
            function(tf.constant(X))
    report = onexpu.placement_report()
    assert report.counts["cluster"] == {"MatMul": 2, "AddV2": 2, "Tanh": 2}
    assert report.counts["on_demand"] == {"Mul": 2}


def test_a_compiled_function_alone_is_a_cluster() -> None:
    compiled = tf.function(lambda x: tf.tanh(tf.matmul(x, x)), jit_compile=True)
    with tf.device("/XPU:0"):
        for _ in range(3):
            compiled(tf.constant(X))
    report = onexpu.placement_report()
    assert report.counts["cluster"] == {"MatMul": 3, "Tanh": 3}
    assert not report.counts["on_demand"] and not report.counts["host"]


def test_automatic_clusters(autoclustering) -> None:
    @tf.function
    def function(x: tf.Tensor) -> tf.Tensor:
        for _ in range(4):
            x = tf.tanh(tf.matmul(x, x) + 1.0)
        return x

    with tf.device("/XPU:0"):
        for _ in range(4):
            function(tf.constant(X))
    report = onexpu.placement_report()
    # The first runs may come before the cluster is compiled; then its ops run one by one.
    assert report.total("cluster") > 0
    assert report.counts["cluster"].keys() == {"MatMul", "AddV2", "Tanh"}


def test_the_report_prints() -> None:
    with tf.device("/XPU:0"):
        tf.tanh(tf.constant(X))
    assert "Tanh 1" in str(onexpu.placement_report())
