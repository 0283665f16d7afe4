"""The Python functions of the TensorFlow plugin's ops."""

from __future__ import annotations

import functools
import types

from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import _pywrap_python_op_gen


@functools.cache
def ops() -> types.ModuleType:
    """Returns the Python functions of the plugin's ops.

    TensorFlow has loaded the plugin when it was imported, so its ops are in the registry; only
    their Python functions have to be generated.
    """
    every = op_def_pb2.OpList()
    every.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    ours = op_def_pb2.OpList(op=[op for op in every.op if op.name.startswith("Onexpu")])
    attributes = [{a.name for a in op.attr} for op in ours.op if op.name == "OnexpuImport"]
    if attributes != [{"dtype", "shape", "slot"}]:
        raise RuntimeError(
            "onexpu: TensorFlow has not loaded the plugin tensorflow-plugins/libonexpu_tf.so, or "
            "one of another version; reinstall onexpu into the environment that holds TensorFlow"
        )
    module = types.ModuleType("onexpu._interop.tensorflow_ops.generated")
    exec(_pywrap_python_op_gen.GetPythonWrappers(ours.SerializeToString()), module.__dict__)
    return module
