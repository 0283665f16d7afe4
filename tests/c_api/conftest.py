from __future__ import annotations

import pytest

from tests.c_api.pjrt import Api, Client


@pytest.fixture(scope="session")
def api() -> Api:
    """The table, initialised."""
    api = Api()
    api.call("PJRT_Plugin_Initialize")
    return api


@pytest.fixture(scope="session")
def client(api: Api) -> Client:
    """One client for all tests: the core is one per process in any case."""
    return Client(api)
