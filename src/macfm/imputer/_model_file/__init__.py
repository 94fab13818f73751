"""Model files: safetensors and checked JSON, no pickle and no torch.

``pack`` and ``replace_file`` write one, ``open_model`` reads it, ``describe_model``
tells what is inside.
"""

from macfm.imputer._model_file._container import (
    VERSION,
    ModelFileError,
    pack,
    read,
    replace_file,
)
from macfm.imputer._model_file._contents import ModelContents
from macfm.imputer._model_file._describe import describe_model
from macfm.imputer._model_file._open import open_model, reading

__all__ = [
    "VERSION",
    "ModelContents",
    "ModelFileError",
    "describe_model",
    "open_model",
    "pack",
    "read",
    "reading",
    "replace_file",
]
