"""What is inside a model file, for somebody who must judge it."""

from __future__ import annotations

import os
from typing import Any

from macfm._plain import plain
from macfm.imputer._model_file._container import FORMAT
from macfm.imputer._model_file._contents import ModelContents
from macfm.imputer._model_file._open import open_model


def describe_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Tell what a model file holds and what it reveals of the data of `fit`.

    Nothing is built and torch is not needed.

    Parameters
    ----------
    path : path-like
        A file written by `MACFMImputer.save`.

    Returns
    -------
    dict
        JSON types only:

        - ``format``, ``format_version``, ``file_bytes``;
        - ``versions``: of macfm and what it stands on, when the model was saved;
        - ``parameters``: those given to the imputer that are not None, as text where
          JSON has no type for them;
        - ``settings``: the values in force, the preset's included;
        - ``training``: ``seed``, ``n_steps``, ``n_networks``, ``n_weights``,
          ``weight_bytes``, ``seconds`` and ``val_error`` where the history has them;
        - ``columns``: one entry a column, see `TableEncoder.summary`; each says under
          ``reveals`` what it tells of the values of `fit`;
        - ``reveals``: the same for the model as a whole, in sentences.

    Raises
    ------
    ModelFileError
        If the file is not a whole model file of a known version.
    """
    contents = open_model(path)
    return {
        "format": FORMAT,
        "format_version": contents.version,
        "file_bytes": os.path.getsize(path),
        "versions": dict(contents.versions),
        "parameters": {
            name: plain(value)
            for name, value in contents.parameters.items()
            if value is not None
        },
        "settings": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in {**contents.settings, **contents.read_out}.items()
        },
        "training": _training(contents),
        "columns": contents.encoder.summary(),
        "reveals": _reveals(contents),
    }


def _training(contents: ModelContents) -> dict[str, Any]:
    weights = [w for network in contents.networks for w in network.values()]
    facts: dict[str, Any] = {
        "seed": contents.seed,
        "n_steps": contents.n_steps,
        "n_networks": len(contents.networks),
        "n_weights": sum(w.size for w in weights),
        "weight_bytes": sum(w.nbytes for w in weights),
    }
    history = contents.history
    if len(history.get("seconds", ())):
        facts["seconds"] = round(float(history["seconds"].max()), 3)
    if len(history.get("val_error", ())):
        best = float(history["val_error"].min())
        facts["val_error"] = best if best == best else None
    return facts


def _reveals(contents: ModelContents) -> list[str]:
    """Say in sentences what the model as a whole tells of its data."""
    columns = contents.encoder.schema.columns
    of_each = {
        "it lists the categories and, unless they are ordered, how frequent each was": [
            c.categories is not None and c.kind != "constant" for c in columns
        ],
        "it holds the only value": [c.kind == "constant" for c in columns],
        "it holds up to 1,000 values, the smallest and the largest among them": [
            c.transform == "quantile" or c.scores for c in columns
        ],
        "it holds mean and standard deviation": [
            c.transform == "standard" and c.kind != "ordinal" for c in columns
        ],
        "it holds one value near the median": [
            c.kind in ("integer", "datetime", "timedelta") and c.family != "float"
            for c in columns
        ],
        "it holds values that are often repeated, and how often": [
            c.atoms is not None for c in columns
        ],
        "it holds bounds and the observed values nearest to them": [
            c.bounds is not None for c in columns
        ],
    }
    sentences = [f"It holds names and types of {_columns(len(columns))}."]
    if contents.guide:
        sentences.append("It holds how strongly each two columns hang together.")
    sentences += [
        f"Of {_columns(sum(concerned))} {what}."
        for what, concerned in of_each.items()
        if any(concerned)
    ]
    if any(name.startswith("tree.") for name in contents.polish):
        sentences.append(
            "Its trees hold means of as few as two cells of a column: nearly single "
            "values."
        )
    bent = contents.polish.get("margins.place")
    if bent is not None:
        sentences.append(f"Of {_columns(len(bent))} it holds values near 33 quantiles.")
    often = sum(name.endswith(".often") for name in contents.encoder.to_arrays())
    if often:
        sentences.append(
            f"Of {_columns(often)} it holds values that one cell in 200 has, or more."
        )
    if contents.networks:
        sentences.append(
            "It holds no row, but its weights were learned from the rows, and a "
            "network can remember unusual ones."
        )
    return sentences


def _columns(n: int) -> str:
    return "1 column" if n == 1 else f"{n} columns"
