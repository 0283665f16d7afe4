"""What holds for every test: quiet frameworks, caches of the session's own, and validated SPIR-V."""

from __future__ import annotations

import os
import tempfile

# Before any import of JAX or TensorFlow, and inherited by every child process of the tests.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Every module that the tests make goes through spirv-val.
os.environ["ONEXPU_VERIFY_SPIRV"] = "1"
# A cache of our own: a test that needs a warm one warms it, and nothing from the user's cache hides a compile error.
os.environ.setdefault("ONEXPU_CACHE_DIR", tempfile.mkdtemp(prefix="onexpu-test-cache-"))
