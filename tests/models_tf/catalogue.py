"""The models. One enters here, once; tests take it from `MODELS`."""

from __future__ import annotations

from types import ModuleType

from tests.models_tf import (
    convnext,
    ctc_speech,
    densenet,
    detection,
    dqn,
    efficientnet_v2,
    gan,
    mobilenet_v3,
    ragged_text,
    recurrent,
    resnet50,
    sparse_embeddings,
    transformer,
    unet,
    vae,
)

APPLICATIONS = (resnet50, mobilenet_v3, efficientnet_v2, densenet, convnext)
OTHERS = (
    transformer,
    recurrent,
    unet,
    vae,
    gan,
    dqn,
    sparse_embeddings,
    ragged_text,
    ctc_speech,
    detection,
)


def name(model: ModuleType) -> str:
    """Returns what a model is called: its file's name."""
    return model.__name__.rpartition(".")[2]


MODELS = {name(model): model for model in (*APPLICATIONS, *OTHERS)}
