"""`jax.distributed`: one process is a program like any other, several are rejected."""

from __future__ import annotations

import socket

from tests.jax import process


def _port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def test_one_process() -> None:
    """Computes, waits until jaxlib has told the client about its process, and shuts down."""
    program = """
        import sys, time
        import jax
        jax.distributed.initialize(f"127.0.0.1:{sys.argv[1]}", num_processes=1, process_id=0)
        import jax.numpy as jnp
        from jax.experimental import multihost_utils
        assert jax.default_backend() == "xpu"
        assert (jax.process_count(), jax.process_index()) == (1, 0)
        assert float(jnp.arange(4.0).sum()) == 6
        time.sleep(1)
        gathered = multihost_utils.process_allgather(jnp.arange(3.0), tiled=True)
        assert gathered.tolist() == [0.0, 1.0, 2.0], gathered
        multihost_utils.sync_global_devices("end")
        jax.distributed.shutdown()
        print("done")
    """
    done = process.run(program, _port(), JAX_PLATFORMS="xpu")
    assert done.output.split() == ["done"]


def test_two_processes_are_rejected() -> None:
    """The first of the two; the error comes before any exchange with the second."""
    program = """
        import sys
        import jax
        jax.distributed.initialize(f"127.0.0.1:{sys.argv[1]}", num_processes=1, process_id=0)
        from jax._src import distributed
        distributed.global_state.num_processes = 2
        try:
            jax.devices("xpu")
        except RuntimeError as error:
            print(error)
    """
    done = process.run(program, _port(), JAX_PLATFORMS="xpu")
    assert "num_nodes is 2" in done.output and "num_processes=1" in done.output
