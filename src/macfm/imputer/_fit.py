"""From a table to a fitted model, and what must be said on the way."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from macfm._errors import Said
from macfm._warn import warn_user
from macfm._words import count
from macfm.flow import MAX_COORDINATES, GuidedEnsemble
from macfm.imputer._beside import atoms_of, scores_of
from macfm.imputer._input import name_columns, report_empty
from macfm.imputer._model import FittedModel
from macfm.imputer._settings import Settings
from macfm.imputer._training import Trained, train_networks
from macfm.table import (
    Cells,
    Encoded,
    Table,
    TableEncoder,
    TableSchema,
    Wishes,
    read_wishes,
)

_KINDS = ("categorical", "numeric", "ordinal", "bounds", "numeric_transform")


@dataclass(frozen=True)
class Fit:
    """A fitted model, and the table it was fitted to as the model sees it."""

    model: FittedModel
    table: Table
    encoded: Encoded
    wishes: Wishes | None
    to_fill: np.ndarray
    """True where a cell is to be filled, shape (n_samples, n_features)."""
    settings: Settings
    device: torch.device
    out_of_time: bool
    """Whether its networks would have been trained for longer with more time."""

    def fill(self) -> Cells:
        """Return what goes into the holes of the table it was fitted to."""
        return self.model.fill(
            self.table,
            read_out=self.settings.read_out,
            device=self.device,
            wishes=self.wishes,
            encoded=self.encoded,
        )


def fit_model(
    table: Table,
    *,
    parameters: Mapping[str, Any],
    settings: Settings,
    weights: np.ndarray | None,
    seed: int,
    device: torch.device,
    on_frame: bool,
) -> Fit:
    """Understand the columns of a table, encode it and train on it."""
    schema = _schema_of(table, parameters=parameters, settings=settings)
    wishes = wishes_of(schema, table, parameters)
    report_empty(
        schema,
        derived=parameters["derive"],
        empty_columns=parameters["empty_columns"],
    )
    if wishes is not None:
        wishes.check(table)
    encoder = TableEncoder.fit(table, schema)
    encoded = encoder.encode(table)
    wanted = np.array([c.impute for c in schema.columns], dtype=bool)
    to_fill = ~table.observed & wanted
    if wishes is not None and wishes.mask is not None:
        to_fill &= ~wishes.mask
    trained = None
    if encoded.observed.any():
        trained = train_networks(
            encoded.x,
            encoded.observed,
            weights=weights,
            group=encoder.group,
            is_num=encoder.is_num,
            atoms=atoms_of(encoder),
            scores=scores_of(encoder),
            settings=settings,
            seed=seed,
            device=device,
            verbose=parameters["verbose"],
        )
        _tell(trained, schema, to_fill, settings)
    model = FittedModel(
        encoder=encoder,
        network=None if trained is None else trained.network,
        path=settings.path,
        seed=seed,
        settings=settings.values | {"preset": parameters["preset"]},
        history=pd.DataFrame([] if trained is None else trained.history),
        n_steps=0 if trained is None else trained.n_steps,
        had_holes=np.flatnonzero(~table.observed.all(axis=0)),
        n_rows=table.n_rows,
        on_frame=on_frame,
    )
    return Fit(
        model=model,
        table=table,
        encoded=encoded,
        wishes=wishes,
        to_fill=to_fill,
        settings=settings,
        device=device,
        out_of_time=trained is not None and trained.out_of_time,
    )


def _named(parameters: Mapping[str, Any]) -> list[Hashable] | None:
    """Return the columns that are left alone."""
    named: list[Hashable] = []
    for parameter in ("ignore", "id"):
        given = parameters[parameter]
        if isinstance(given, str | bytes):
            raise TypeError(
                f"{parameter} must be a list of column names, got {given!r}"
            )
        named += given or ()
    return named or None


def _schema_of(
    table: Table, *, parameters: Mapping[str, Any], settings: Settings
) -> TableSchema:
    """Understand the columns; what is beside a number must not cost it the guide."""
    schema = TableSchema.infer(
        table,
        **{name: parameters[name] for name in _KINDS},
        max_one_hot=settings.values["max_one_hot"],
        atoms=settings.values["atoms"],
        scores=settings.values["scores"],
        only=parameters["only"],
        ignore=_named(parameters),
    )
    plain = schema.without_scores()  # without a guide nobody reads them
    if settings.network.guide and settings.network.precondition:
        for fewer in (schema, plain, plain.without_atoms()):
            if sum(column.width for column in fewer.columns) <= MAX_COORDINATES:
                return fewer
    return plain


def wishes_of(
    schema: TableSchema, table: Table, parameters: Mapping[str, Any]
) -> Wishes | None:
    """Read `leave` and `derive` for a table; None if they are not used."""
    leave, derive = parameters["leave"], parameters["derive"]
    if leave is None and derive is None:
        return None
    return read_wishes(schema, leave=leave, derive=derive, table=table)


def _tell(
    trained: Trained, schema: TableSchema, to_fill: np.ndarray, settings: Settings
) -> None:
    """Warn of a training that ended early, and of columns that nothing tells of."""
    if trained.interrupted:
        warn_user(
            f"training was interrupted after {trained.n_steps} steps; the best "
            "weights so far are kept"
        )
    if trained.n_diverged:
        warn_user(
            Said(
                f"training diverged {count(trained.n_diverged, 'time')} and went on "
                "from the best weights so far with a smaller step; lower "
                "{learning_rate}",
                learning_rate=settings.values["learning_rate"],
            )
        )
    if trained.starved:
        guided = isinstance(trained.network, GuidedEnsemble)
        warn_user(
            Said(
                f"{{budget}} left time for {trained.n_steps} training steps, too few "
                "to learn from; cells are filled "
                f"{'by the linear guide alone' if guided else 'almost blindly'}",
                budget=settings.values["budget"],
            )
        )
    holed = dict(zip(schema.names, np.any(to_fill, axis=0), strict=True))
    names = [schema.modelled[k].name for k in trained.unknowable]
    names = [name for name in names if holed[name]]
    if names:
        warn_user(
            f"on held-out rows {name_columns(names)} "
            f"{'is' if len(names) == 1 else 'are'} filled no better than by the "
            "mean, so the other columns hardly tell; look at the spread of "
            "sample() before relying on these cells"
        )
