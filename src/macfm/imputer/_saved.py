"""A fitted imputer ⇄ a model file."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
import sklearn
import torch
from sklearn.utils.validation import check_is_fitted
from torch import nn

from macfm._version import __version__
from macfm._warn import warn_user
from macfm.flow import (
    MAX_COORDINATES,
    N_KNOTS,
    Calm,
    Ensemble,
    Gaussian,
    GuidedEnsemble,
    make_network,
)
from macfm.imputer._beside import atoms_of
from macfm.imputer._device import resolve_device
from macfm.imputer._model import FittedModel
from macfm.imputer._model_file import (
    VERSION,
    ModelContents,
    open_model,
    pack,
    read,
    reading,
    replace_file,
)
from macfm.imputer._old_words import in_new_words
from macfm.imputer._parameters import EXPERT, READ_OUT, RULES
from macfm.imputer._saved_polish import from_arrays, to_arrays
from macfm.imputer._settings import Settings, resolve
from macfm.table import TableEncoder, is_mask, read_wishes

# What the size of a network follows from; nobody trains beyond these.
_LIMITS = {
    "d_model": 2**16,
    "n_blocks": 2**10,
    "n_heads": 2**10,
    "n_networks": 2**10,
    "n_frequencies": 2**10,
    "mean_steps": 2**10,
}
# Columns times coordinates of a transformer, which keeps a matrix of this size.
_MAX_MEMBER = 2**27
# Follow from the columns, so they are built and not read.
_DERIVED = ("group", "member")
# What models saved before a setting existed were fitted with.
_BEFORE = {
    "guide": False,
    "optimizer": "adamw",
    "atoms": False,
    "scores": False,
    "margins": False,
    "n_trees": 0,
    "hide_one": False,
    "weigh_cells": False,
    "least_fall": 0.0,
    "mean_steps": 1,
}
# Parameters that a model does not depend on.
_FREE = {
    "empty_columns": "keep",
    "handle_unknown": "ignore",
    "add_indicator": False,
    "device": "auto",
    "verbose": False,
}


def save_imputer(imputer: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted imputer into one file, over one that is there."""
    check_is_fitted(imputer)
    try:
        data = pack(*_contents(imputer).to_parts())
        # What is written can be read: the reader's limits are the writer's too.
        _imputer(type(imputer), ModelContents.from_parts(*read(data)))
    except (TypeError, ValueError) as error:
        raise ValueError(f"this imputer cannot be saved: {error}") from error
    replace_file(path, data)


def load_imputer(cls: type, path: str | os.PathLike[str], *, device: str | None) -> Any:
    """Read an imputer of the given class from a file."""
    contents = open_model(path)
    with reading(path):
        imputer = _imputer(cls, contents)
    first = "guide" not in contents.settings  # also if it was read and saved again
    if first and contents.settings.get("mask_input"):
        warn_user(
            f"{os.fspath(path)} holds a model of macfm "
            f"{contents.versions.get('macfm')}, whose network can be misled by holes "
            "that follow a rule; it works as before, but fit it again"
        )
    if device is not None:
        imputer.set_params(device=device)
        RULES["device"].check("device", device)
        resolve_device(device)
    elif imputer.device.startswith("cuda") and not torch.cuda.is_available():
        imputer.set_params(device="auto")
    return imputer


def _contents(imputer: Any) -> ModelContents:
    """Collect what a fitted imputer consists of."""
    model = imputer.model_
    parameters = imputer.get_params(deep=False)
    parameters |= parameters.pop("settings") or {}
    seed = parameters["random_state"]
    if seed is not None and not isinstance(seed, Integral):
        parameters["random_state"] = model.seed  # a generator has no JSON
    if is_mask(parameters["leave"]):
        parameters["leave"] = None  # it speaks of the rows of one table
    network = model.network
    several = isinstance(network, Ensemble | GuidedEnsemble)
    members = network.members if several else [network]
    in_force = imputer.settings_
    settings = model.settings | {"n_rows": model.n_rows}
    if network is not None and _is_old(network):
        del settings["guide"]  # a network of format 1 is saved as such
    return ModelContents(
        parameters=parameters,
        settings=settings,
        read_out={name: in_force[name] for name in READ_OUT},
        encoder=model.encoder,
        networks=[_weights(member) for member in members if member is not None],
        guide=_guide_arrays(network),
        polish=_polish_arrays(network),
        history={str(k): c.to_numpy() for k, c in model.history.items()},
        seed=model.seed,
        n_steps=model.n_steps,
        indicator_features=model.had_holes,
        on_frame=model.on_frame,
        named=hasattr(imputer, "feature_names_in_"),
        output=getattr(imputer, "_sklearn_output_config", {}).get("transform"),
        versions={
            "macfm": __version__,
            "python": platform.python_version(),
            "torch": str(torch.__version__),
            "numpy": np.__version__,
            "pandas": pd.__version__,
            "scikit-learn": sklearn.__version__,
        },
        version=VERSION,
    )


def _is_old(network: nn.Module) -> bool:
    """Whether a network is one of format 1, which was shown two masks."""
    return any(getattr(part, "n_masks", 0) == 2 for part in network.modules())


def _guide_arrays(network: nn.Module | None) -> dict[str, np.ndarray]:
    """Return the guide's parts, and how far networks and calm path are trusted."""
    if not isinstance(network, GuidedEnsemble):
        return {}
    parts = {
        "mean": network.guide.mean,
        "precision": network.guide.precision,
        "trust": network.trust,
    }
    if network.calm is not None:
        parts["calm"] = network.calm.share
    return {name: part.cpu().numpy() for name, part in parts.items()}


def _polish_arrays(network: nn.Module | None) -> dict[str, np.ndarray]:
    """Return trees, shares, spreads and levels of what is added to the networks."""
    polish = network.polish if isinstance(network, GuidedEnsemble) else None
    return {} if polish is None else to_arrays(polish)


def _weights(network: nn.Module) -> dict[str, np.ndarray]:
    """Weights and constants of a network, less what follows from the columns."""
    return {
        name: tensor.detach().cpu().numpy()
        for name, tensor in network.state_dict().items()
        if name.rpartition(".")[2] not in _DERIVED
    }


def _imputer(cls: type, contents: ModelContents) -> Any:
    """Build an imputer from checked contents."""
    trained = _in_new_words(contents.settings)
    preset, n_rows = trained.pop("preset", None), trained.pop("n_rows", None)
    checked = _checked_settings(trained, preset)
    parameters = in_new_words(contents.parameters, quiet=True)
    if parameters.get("method", "") is None:
        del parameters["method"]  # once the preset's
    expert = {n: parameters.pop(n) for n in EXPERT if n in parameters}
    defaults = cls().get_params(deep=False)
    unknown = [name for name in parameters if name not in defaults]
    if unknown:
        raise ValueError(f"unknown parameter {unknown[0]!r}")
    expert = {name: value for name, value in expert.items() if value is not None}
    parameters = defaults | parameters | {"settings": expert or None}
    # A rule or formula that `fit` would refuse is refused here.
    if is_mask(parameters["leave"]):
        raise ValueError("leave must be rules by column")
    wishes = {name: parameters[name] for name in ("leave", "derive")}
    schema = contents.encoder.schema
    read_wishes(schema, **wishes, table=None)
    imputer = cls(**parameters)
    imputer.model_ = FittedModel(
        encoder=contents.encoder,
        network=_network(contents, checked),
        path=checked.path,
        seed=contents.seed,
        settings=checked.values | {"preset": preset},
        history=pd.DataFrame(dict(contents.history)),
        n_steps=contents.n_steps,
        had_holes=contents.indicator_features,
        n_rows=n_rows,
        on_frame=contents.on_frame,
    )
    _keep_read_out(imputer, _in_new_words(contents.read_out))
    imputer.n_features_in_ = len(schema.columns)
    if contents.named:
        if not all(isinstance(name, str) for name in schema.names):
            raise ValueError("named columns must have names that are texts")
        imputer.feature_names_in_ = np.array(schema.names, dtype=object)
    if contents.output is not None:
        imputer.set_output(transform=contents.output)
    return imputer


def _in_new_words(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values in force under their present names."""
    told = dict(values)
    # A mean was read from one evaluation, whatever the number of trajectories.
    if "aggregate" in told and told.get("method") == "mean":
        told |= {"aggregate": None, "n_trials": 0}
    told = in_new_words(told, quiet=True)
    told.setdefault("transform_batch_size", EXPERT["transform_batch_size"].default)
    return told


def _keep_read_out(imputer: Any, read_out: Mapping[str, Any]) -> None:
    """Set what a preset would now give another value than when the model was saved."""
    if set(read_out) != set(READ_OUT):
        raise ValueError("read_out has a missing or unknown field")
    now = imputer.settings_
    changed = {n: v for n, v in read_out.items() if now[n] != v}
    if changed:
        imputer.set_params(**changed)
        imputer.settings_  # noqa: B018 - raises for a value out of its range


def _checked_settings(trained: Mapping[str, Any], preset: Any) -> Settings:
    """Return the settings of `fit`, each in its range."""
    is_old = "guide" not in trained
    trained = {**_BEFORE, **trained}
    own = {name: trained[name] for name in ("method", "n_trials", "budget")}
    expert = {name: value for name, value in trained.items() if name not in own}
    unknown = [name for name in expert if name not in EXPERT]
    if unknown:
        raise ValueError(f"unknown setting {unknown[0]!r}")
    absent = [name for name in EXPERT if name not in expert]
    if absent:
        raise ValueError(f"the setting {absent[0]!r} is missing")
    for name, high in _LIMITS.items():
        value = expert.get(name)
        if type(value) is not int or value > high:
            raise ValueError(f"{name} must be an integer up to {high}, got {value!r}")
    checked = resolve({**_FREE, **own, "preset": preset, "settings": expert})
    if is_old and checked.network.n_masks:
        return replace(checked, network=replace(checked.network, n_masks=2))
    return checked


def _network(contents: ModelContents, settings: Settings) -> nn.Module | None:
    """Build the networks around the weights that were read."""
    encoder = contents.encoder
    if not contents.networks:
        return None
    if not encoder.d:
        raise ValueError("there are networks but no column to model")
    if len(contents.networks) > settings.n_networks:
        raise ValueError("there are more networks than n_networks")
    guided = bool(contents.guide)
    # Tables beyond the guide's reach have none although it was asked for.
    wanted = settings.network.guide and settings.network.precondition
    if guided != (wanted and encoder.d <= MAX_COORDINATES):
        raise ValueError("the guide does not fit the settings")
    # Networks without hints know variances. In models saved before, every second one
    # had none.
    told = any("variance" in weights for weights in contents.networks)
    has_hints = [
        guided and ("variance" not in weights if told else k % 2 == 0)
        for k, weights in enumerate(contents.networks)
    ]
    members = [
        _member(encoder, settings, weights, hints=hints).eval()
        for weights, hints in zip(contents.networks, has_hints, strict=True)
    ]
    if guided:
        arrays = dict(contents.guide)
        calm = arrays.pop("calm", None)
        guide, trust = _guide(arrays, d=encoder.d, n_members=len(members))
        network = GuidedEnsemble(guide, members, trust, path=settings.path)
        if calm is not None:
            network.calm = _calm(calm, settings, d=encoder.d)
        if contents.polish:
            atoms = atoms_of(encoder)
            network.polish = from_arrays(
                contents.polish, group=encoder.group, atoms=atoms
            )
        return network.eval()
    if contents.polish:
        raise ValueError("there are trees but no guide")
    return members[0] if len(members) == 1 else Ensemble(members).eval()


def _guide(
    arrays: Mapping[str, np.ndarray], *, d: int, n_members: int
) -> tuple[Gaussian, torch.Tensor]:
    """Build the guide and the trust in the networks from checked arrays."""
    expected = {
        "mean": ((d,), np.dtype(np.float64)),
        "precision": ((d, d), np.dtype(np.float64)),
        "trust": ((n_members, N_KNOTS, d), np.dtype(np.float32)),
    }
    found = {name: (a.shape, a.dtype) for name, a in arrays.items()}
    if found != expected or not all(np.isfinite(a).all() for a in arrays.values()):
        raise ValueError("the guide does not fit the columns")
    parts = {name: torch.from_numpy(a).clone() for name, a in arrays.items()}
    return Gaussian(parts["mean"], parts["precision"]), parts["trust"]


def _calm(share: np.ndarray, settings: Settings, *, d: int) -> Calm:
    """Build the calm path from a checked array."""
    n_steps = settings.values["mean_steps"]
    sound = share.shape == (d,) and share.dtype == np.float32 and n_steps > 1
    if not sound or not ((share >= 0) & (share <= 1)).all():
        raise ValueError("the calm path does not fit the columns")
    return Calm(torch.from_numpy(share).clone(), n_steps=n_steps)


def _member(
    encoder: TableEncoder,
    settings: Settings,
    weights: Mapping[str, np.ndarray],
    *,
    hints: bool,
) -> nn.Module:
    """Build one network; shapes are compared before anything is allocated."""
    config = settings.network
    n_columns = len(encoder.schema.modelled)
    if config.backbone == "transformer" and encoder.d * n_columns > _MAX_MEMBER:
        raise ValueError("too many columns for a transformer")
    # Models saved before took sinusoids of categories' coordinates too.
    waves = [w for name, w in weights.items() if name.endswith("periodic.frequencies")]
    of_all = bool(waves) and len(waves[0]) == encoder.d
    with torch.device("meta"):
        network = make_network(
            config,
            group=torch.from_numpy(encoder.group),
            path=settings.path,
            hints=hints,
            # Models saved before there were any assume 1.
            variance=torch.empty(encoder.d) if "variance" in weights else None,
            waves=None if of_all else torch.from_numpy(encoder.is_num),
        )
    expected = {
        name: tuple(tensor.shape)
        for name, tensor in network.state_dict().items()
        if name.rpartition(".")[2] not in _DERIVED
    }
    found = {name: weight.shape for name, weight in weights.items()}
    if found != expected or any(w.dtype != np.float32 for w in weights.values()):
        raise ValueError("the weights do not fit the settings")
    if not (weights.get("variance", np.ones(1)) > 0).all():
        raise ValueError("a variance is not positive")
    # Cloned into torch's own memory, aligned as after training.
    tensors = {name: torch.from_numpy(w).clone() for name, w in weights.items()}
    network.load_state_dict(tensors, strict=False, assign=True)
    return network
