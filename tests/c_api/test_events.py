"""PJRT_Event and PJRT_Error."""

from __future__ import annotations

import ctypes
import threading
import time

import pytest

from tests.c_api.pjrt import CONSTANTS, Api, PjrtError

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


@pytest.fixture
def event(api: Api):
    handle = api.call("PJRT_Event_Create").event
    yield handle
    api.call("PJRT_Event_Destroy", event=handle)


def _set(api: Api, event: int, code: str = "OK", message: bytes = b"") -> None:
    text = ctypes.create_string_buffer(message)
    api.call(
        "PJRT_Event_Set",
        event=event,
        error_code=CONSTANTS["PJRT_Error_Code_" + code],
        error_message=ctypes.addressof(text),
        error_message_size=len(message),
    )


def test_an_event_is_ready_once_it_is_set(api: Api, event: int) -> None:
    assert not api.call("PJRT_Event_IsReady", event=event).is_ready
    _set(api, event)
    assert api.call("PJRT_Event_IsReady", event=event).is_ready
    api.call("PJRT_Event_Error", event=event)
    api.call("PJRT_Event_Await", event=event)


def test_await_blocks_until_another_thread_sets(api: Api, event: int) -> None:
    timer = threading.Timer(0.05, _set, (api, event))
    start = time.monotonic()
    timer.start()
    api.call("PJRT_Event_Await", event=event)
    assert time.monotonic() - start > 0.04
    timer.join()


def test_an_error_keeps_its_code_and_message_each_time(api: Api, event: int) -> None:
    _set(api, event, "RESOURCE_EXHAUSTED", b"no memory for 3 GB")
    for function in ("PJRT_Event_Await", "PJRT_Event_Error", "PJRT_Event_Await"):
        with pytest.raises(PjrtError, match="no memory for 3 GB") as error:
            api.call(function, event=event)
        assert error.value.code == CONSTANTS["PJRT_Error_Code_RESOURCE_EXHAUSTED"]


def test_the_error_of_an_event_that_is_not_ready_is_refused(api: Api, event: int) -> None:
    with pytest.raises(PjrtError, match="not ready"):
        api.call("PJRT_Event_Error", event=event)


def test_setting_twice_is_refused(api: Api, event: int) -> None:
    _set(api, event)
    with pytest.raises(PjrtError, match="set before"):
        _set(api, event)


@pytest.mark.parametrize("first", ["callback", "set"])
def test_a_callback_runs_once_whenever_it_was_registered(api: Api, event: int, first: str) -> None:
    seen = []

    @_CALLBACK
    def callback(error, user):
        seen.append((str(api.take(error)) if error else "", user))

    def register():
        return api.call(
            "PJRT_Event_OnReady",
            event=event,
            callback=ctypes.cast(callback, ctypes.c_void_p).value,
            user_arg=42,
        )

    if first == "callback":
        register()
        assert seen == []
        _set(api, event, "ABORTED", b"given up")
    else:
        _set(api, event, "ABORTED", b"given up")
        register()
    assert seen == [("given up", 42)]


def test_an_event_may_be_destroyed_while_a_callback_waits(api: Api, client) -> None:
    """A buffer's event is destroyed by JAX as soon as its callback is registered."""
    import numpy as np

    done = threading.Event()

    @_CALLBACK
    def callback(error, user):
        api.destroy_error(error)
        done.set()

    buffer = client.put(np.ones(1 << 20, np.float32))
    event = api.call("PJRT_Buffer_ReadyEvent", buffer=buffer).event
    api.call(
        "PJRT_Event_OnReady", event=event, callback=ctypes.cast(callback, ctypes.c_void_p).value
    )
    api.call("PJRT_Event_Destroy", event=event)
    assert done.wait(10)
    client.destroy(buffer)
