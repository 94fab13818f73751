"""ReMasker."""

from __future__ import annotations

from typing import Any, ClassVar

from macfm.judge.methods._learned import LearnedMethod


class ReMasker(LearnedMethod):
    """A transformer restores rows of which half is hidden, known cells as well.

    Settings are those of the authors' program; `max_steps` ends training early, on a
    schedule as much shorter. The learning rate is that of batches of 64 rows and grows
    with the batch. Categories are one-hot blocks.
    """

    name: ClassVar[str] = "remasker"
    title: ClassVar[str] = "ReMasker"
    about: ClassVar[str] = "A masked auto-encoder, after Du, Melis and Wang (2024)."
    source: ClassVar[str] = (
        "Du, Melis, Wang: ReMasker: Imputing Tabular Data with Masked Autoencoding. "
        "ICLR 2024"
    )
    model: ClassVar[tuple[str, str]] = ("remasker", "ReMasker")
    authors: ClassVar[dict[str, Any]] = {
        "n_epochs": 600,
        "max_steps": None,
        "batch_size": 64,
        "learning_rate": 1e-3,
        "least_learning_rate": 1e-5,
        "n_warmup_epochs": 40,
        "weight_decay": 0.01,
        "mask_ratio": 0.5,
        "d_token": 32,
        "n_heads": 4,
        "n_encoder_blocks": 6,
        "n_decoder_blocks": 4,
    }
    quick: ClassVar[dict[str, Any]] = {"max_steps": 8_000}

    def network_evaluations_per_row(self) -> int:
        """Return 1, a pass through encoder and decoder."""
        return 1
