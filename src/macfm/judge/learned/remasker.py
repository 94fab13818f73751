"""ReMasker: hide cells that are known as well, and restore them from the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from macfm.judge.learned._base import Clock, MinMax, Model, Rows, by_chunks, epoch
from macfm.judge.learned._step import descent, make_optimizer, set_rate
from macfm.judge.learned._tokens import Lots, sine_code


class ReMasker(Model):
    """A masked auto-encoder: cells are tokens of a transformer.

    The loss is mean (x̂ − x)² over the cells that training hides plus the same mean over
    the cells it keeps; holes of the table are in neither.
    """

    def fit(self, rows: Rows, clock: Clock) -> None:
        """Train for all epochs, or for `max_steps`, on one warm-up and cosine."""
        settings, n = self.settings, len(rows)
        self._scale = MinMax.fit(rows, self.columns)
        unit = self._scale.unit(rows.x)
        self.network = MaskedAutoEncoder(rows.x.shape[1], settings).to(self.device)
        optimizer = make_optimizer(
            self.network.parameters(),
            rate=settings["learning_rate"],
            decoupled=True,
            betas=(0.9, 0.95),
            weight_decay=settings["weight_decay"],
        )
        step = descent(self._loss, [optimizer])
        generator = self.generator()
        lots = Lots(self.columns, generator)
        n_steps = settings["n_epochs"] * math.ceil(n / settings["batch_size"])
        n_steps = min(n_steps, settings["max_steps"] or n_steps)
        n_done = 0
        while n_done < n_steps and not (n_done and clock.is_up()):
            for batch in epoch(n, settings["batch_size"], generator):
                if n_done == n_steps or (n_done and clock.is_up()):
                    break
                share = max((n_done + 1) / n_steps, clock.spent())
                set_rate(optimizer, self.learning_rate_at(share))
                observed = rows.observed[batch]
                step(unit[batch], observed, self.keep(observed, lots))
                n_done += 1
        # NOTE[DIFF]: the authors train in half precision, which can overflow, and a
        # well-known copy then gives the half-trained network without a word.
        if not all(weight.isfinite().all() for weight in self.network.parameters()):
            raise FloatingPointError("ReMasker's training diverged")

    def learning_rate_at(self, share: float) -> float:
        """Rise along a line, then fall along a cosine; `share` of training is done."""
        settings = self.settings
        # The rate is that of batches of 64 rows.
        top = settings["learning_rate"] * settings["batch_size"] / 64
        warm = settings["n_warmup_epochs"] / settings["n_epochs"]
        if share < warm:
            return top * share / warm
        low = min(settings["least_learning_rate"], top)
        cosine = math.cos(math.pi * (share - warm) / (1 - warm))
        return low + (top - low) * (1 + cosine) / 2

    def loss(self, unit: Tensor, observed: Tensor, lots: Lots) -> Tensor:
        """Return the loss with cells hidden at random; values in [0, 1]."""
        return self._loss(unit, observed, self.keep(observed, lots))

    def _loss(self, unit: Tensor, observed: Tensor, kept: Tensor) -> Tensor:
        restored = self.network(unit, kept, n_tokens=self._most_kept())
        gap = (restored - unit).square()
        return _mean_at(gap, observed & ~kept) + _mean_at(gap, kept)

    def _n_kept(self) -> int:
        return int(len(self.columns.blocks) * (1 - self.settings["mask_ratio"]))

    def _most_kept(self) -> int:
        """Return the most coordinates that the kept columns can have."""
        widths = sorted(block.stop - block.start for block in self.columns.blocks)
        return sum(widths[len(widths) - self._n_kept() :])

    def keep(self, observed: Tensor, lots: Lots) -> Tensor:
        """Choose the cells that training shows, shape ``(n, d)``."""
        # NOTE[DIFF]: the authors keep a fixed number of cells, of poor rows also holes,
        # which then teach the network that they are 0. Here a row keeps observed cells
        # only, and always hides one of them.
        n_kept = (lots.n_observed(observed) - 1).clamp(max=self._n_kept())
        return lots.choose(observed, n_kept)

    def fill(self, rows: Rows) -> Tensor:
        """Restore every cell from all that are observed, in one pass."""

        def restore(part: Rows) -> Tensor:
            unit = self._scale.unit(part.x)
            return self._scale.back(self.network(unit, part.observed))

        return by_chunks(restore, rows)


class MaskedAutoEncoder(nn.Module):
    """Encode the kept cells, then decode all of them.

    Parameters
    ----------
    d : int
        Coordinates a row.
    settings : mapping
        Widths and numbers of blocks.
    """

    code: Tensor

    def __init__(self, d: int, settings: Mapping[str, Any]) -> None:
        super().__init__()
        width, n_heads = settings["d_token"], settings["n_heads"]
        self.register_buffer("code", sine_code(d, width))
        self.embed = nn.Linear(1, width)
        self.row_token = nn.Parameter(torch.randn(width) * 0.02)
        self.hole_token = nn.Parameter(torch.randn(width) * 0.02)
        self.encoder = nn.ModuleList(
            _Block(width, n_heads) for _ in range(settings["n_encoder_blocks"])
        )
        self.encoded = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width))
        self.decoder = nn.ModuleList(
            _Block(width, n_heads) for _ in range(settings["n_decoder_blocks"])
        )
        self.decoded = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 1))
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor, kept: Tensor, n_tokens: int | None = None) -> Tensor:
        """Restore rows from their kept cells.

        Parameters
        ----------
        x : Tensor, shape (n, d)
            Values in [0, 1]; those that are not kept are not looked at.
        kept : Tensor of bool, shape (n, d)
            True at the cells to go by.
        n_tokens : int, optional
            A number of cells that no row keeps more than; it saves work.

        Returns
        -------
        Tensor, shape (n, d)
            Values in [0, 1].
        """
        # Rows keep different numbers of cells: the kept come first, and the places
        # after them are not attended to.
        order = (~kept).byte().argsort(dim=1, stable=True)[:, :n_tokens]  # (n, k)
        shown = kept.gather(1, order)
        values = torch.where(shown, x.gather(1, order), 0.0)
        tokens = self.embed(values[..., None]) + self.code[order]
        tokens = torch.cat([self.row_token.expand(len(x), 1, -1), tokens], dim=1)
        keys = functional.pad(shown, (1, 0), value=True)[:, None, None]
        for block in self.encoder:
            tokens = block(tokens, keys)
        tokens = self.encoded(tokens)
        cells = self._put_back(tokens[:, 1:], order, shown)
        tokens = torch.cat([tokens[:, :1], cells], dim=1)
        for block in self.decoder:
            tokens = block(tokens, None)
        return (2 * self.decoded(tokens[:, 1:])[..., 0]).sigmoid()  # ½ tanh + ½

    def _put_back(self, tokens: Tensor, order: Tensor, shown: Tensor) -> Tensor:
        """Put tokens at their columns and the hole's token elsewhere, codes added."""
        holes = self.hole_token.expand(len(tokens), len(self.code), -1)
        tokens = torch.where(shown[..., None], tokens, self.hole_token)
        places = order[..., None].expand_as(tokens)
        return holes.scatter(1, places, tokens) + self.code


class _Block(nn.Module):
    """Attention and a hidden layer, each on normalised tokens and added to them."""

    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm = nn.LayerNorm(width)
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.hidden = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Linear(4 * width, width),
        )

    def forward(self, tokens: Tensor, keys: Tensor | None) -> Tensor:
        """Let tokens attend to those where `keys`, shape ``(n, 1, 1, k)``, is True."""
        n, n_tokens, width = tokens.shape
        parts = self.queries_keys_values(self.norm(tokens))
        q, k, v = parts.view(n, n_tokens, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(q, k, v, attn_mask=keys)
        tokens = tokens + self.mix(seen.transpose(1, 2).reshape(n, n_tokens, width))
        return tokens + self.hidden(tokens)


def _mean_at(values: Tensor, chosen: Tensor) -> Tensor:
    """Return the mean over chosen cells, 0 where there is none."""
    total = torch.where(chosen, values, 0.0).sum()
    return total / chosen.sum().clamp(min=1)
