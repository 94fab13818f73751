"""Training learns, stops where it is told, and keeps the best weights."""

import itertools
import math
import time
from dataclasses import replace

import pytest
import torch

import macfm.flow._trainer as trainer
from macfm.flow import (
    LossConfig,
    NetworkConfig,
    Path,
    StepConfig,
    TimeLaw,
    TrainConfig,
    hold_out,
    make_network,
    make_schedule,
    make_validation,
    train,
    training,
)
from macfm.flow._trainer import _Best, _LearningRate, _Patience

D = 6
GROUP = torch.arange(D)
LINEAR = make_schedule("linear", gamma=1.0)
CONFIG = TrainConfig(
    batch_size=64,
    max_steps=60,
    max_seconds=None,
    learning_rate=3e-3,
    step=StepConfig(optimizer="adamw", weight_decay=0.0, ema_decay=0.9, clip_norm=1.0),
    warmup_steps=5,
    decay_share=0.3,
    stopping="validation",
    patience=100,
    least_fall=0.0,
    evaluate_every=10,
    hide_rate=(0.1, 0.5),
    hide_one=False,
)
LOSS = LossConfig(
    lambda_stab=0.0, lambda_cons=0.0, eta_cons=0.1, sigma_in=0.0, weigh_cells=False
)


def low_rank_rows(n=400):
    """Rows of rank 2, so that hidden cells can be found from the others."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n, 2, generator=generator) @ torch.randn(2, D, generator=generator)
    observed = torch.rand(n, D, generator=generator) < 0.8
    return torch.where(observed, x / x.std(dim=0), 0.0), observed


def validation_of(x, observed, *, generator):
    return make_validation(
        x,
        observed,
        group=GROUP,
        rules=None,
        move_missing=True,
        t=0.0,
        generator=generator,
    )


def run(
    config=CONFIG,
    rows=None,
    on_evaluation=lambda evaluation, n_steps: None,
    refill=None,
):
    x, observed = rows or low_rank_rows()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = make_network(
            NetworkConfig(
                backbone="mlp",
                d_model=32,
                n_blocks=2,
                n_heads=1,
                dropout=0.0,
                n_masks=1,
                residual=True,
                n_frequencies=2,
                precondition=True,
                guide=False,
            ),
            group=GROUP,
            path=Path(LINEAR, "t"),
            hints=False,
            variance=None,
            waves=None,
        )
        generator = torch.Generator().manual_seed(0)
        trained, held = hold_out(len(x), share=0.1, generator=generator)
        validation = validation_of(x[held], observed[held], generator=generator)
        one = training(
            network,
            x[trained],
            observed[trained],
            weights=None,
            guide=None,
            fills=x[trained][None],
            refill=refill,
            rules=None,
            validation=validation if config.stopping == "validation" else None,
            group=GROUP,
            is_num=torch.ones(D, dtype=torch.bool),
            path=Path(LINEAR, "t"),
            time_law=TimeLaw(beta=None, share_t0=0.5, held_at=0.0),
            config=config,
            loss_config=LOSS,
            generator=generator,
            on_evaluation=on_evaluation,
        )
        [result] = train([one], device=torch.device("cpu"))
    return network, result


def weights(network):
    return torch.cat([p.detach().flatten() for p in network.parameters()])


def test_training_lowers_the_validation_error():
    _, result = run(replace(CONFIG, max_steps=300))
    assert result.history[-1].val_error < 0.6 * result.history[0].val_error
    assert result.n_steps == 300


def test_same_generator_same_weights():
    assert torch.equal(weights(run()[0]), weights(run()[0]))


def test_weights_are_those_of_the_best_evaluation():
    seen = []
    _, result = run(
        replace(CONFIG, stopping="none", max_steps=30),
        on_evaluation=lambda evaluation, n_steps: seen.append(evaluation.step),
    )
    assert seen == [10, 20, 30]
    assert result.best_step == 30
    _, result = run(replace(CONFIG, max_steps=300, learning_rate=0.5, decay_share=0.0))
    scores = {e.step: e.val_error for e in result.history}
    assert scores[result.best_step] == min(scores.values())


def test_decay_keeps_later_weights_unless_they_are_clearly_worse():
    best = _Best(torch.nn.Linear(1, 1))
    rows = torch.linspace(0, 1, 100, dtype=torch.float64)
    noise = torch.randn(100, generator=torch.Generator().manual_seed(0)).double()
    best.offer(1.0, rows, step=1, decaying=False)
    best.offer(1.001, rows + 0.1 * noise, step=2, decaying=False)
    assert best.step == 1
    best.offer(1.001, rows + 0.1 * noise, step=3, decaying=True)
    assert best.step == 3
    best.offer(2.0, rows + 1.0, step=4, decaying=True)
    assert best.step == 3


@pytest.mark.parametrize(
    ("least_fall", "scores", "n_borne"),
    [
        (0.0, [1.0, 0.999, 0.998, 0.998, 0.998], 4),
        (0.1, [1.0, 0.95, 0.91, 0.9], 2),  # 0.9 is not below 0.9
        (0.1, [1.0, 0.95, 0.89, 0.889, 0.888, 0.888, 0.888], 6),  # from there on any
        (0.1, [math.inf, 1.0, 1.0, 1.0], 3),
        (0.1, [-50.0, -54.0, -56.0, -56.0, -56.0], 4),
    ],
)
def test_patience_ends_when_two_scores_in_turn_have_not_fallen_enough(
    least_fall, scores, n_borne
):
    patience = _Patience(replace(CONFIG, patience=2, least_fall=least_fall))
    borne = [not patience.is_lost(score) for score in scores]
    assert borne.index(False) == n_borne
    endless = _Patience(replace(CONFIG, stopping="none", patience=1))
    assert not any(endless.is_lost(1.0) for _ in range(5))


def test_a_table_whose_error_hardly_falls_is_trained_for_less_time():
    config = replace(CONFIG, max_steps=300, patience=2)
    _, long = run(config)
    _, short = run(replace(config, least_fall=0.9))
    assert short.n_steps < long.n_steps


def test_stale_validation_begins_the_decay_and_finishes_it():
    ends = []
    _, result = run(
        replace(CONFIG, max_steps=5000, patience=2, learning_rate=1e-12),
        on_evaluation=lambda evaluation, n_steps: ends.append(n_steps),
    )
    assert ends[0] == 5000
    assert result.n_steps == ends[-1] < 5000
    assert result.history[-1].step == result.n_steps


def test_patience_of_the_objective_needs_no_held_out_rows():
    config = replace(CONFIG, stopping="objective", max_steps=40)
    _, result = run(config)
    assert all(e.val_error != e.val_error for e in result.history)  # NaN
    best = min(result.history, key=lambda e: e.loss)
    assert result.best_step == best.step


def test_time_budget_ends_training_early(monkeypatch):
    ticks = itertools.count()  # a clock that goes by a hundredth when it is looked at
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks) / 100)
    config = replace(CONFIG, max_steps=10**6, max_seconds=3.0, evaluate_every=10**5)
    _, result = run(config)
    assert next(ticks) < 600
    assert result.history[-1].step == result.n_steps
    assert result.history[-1].learning_rate < CONFIG.learning_rate  # it had decayed


@pytest.mark.parametrize(
    ("seconds", "n_refills"), [(None, 3), (60.0, 3), (0.2, 2), (0.03, 0)]
)
def test_holes_are_guessed_again_while_there_is_time(monkeypatch, seconds, n_refills):
    ticks = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks) / 500)
    x, observed = low_rank_rows()
    guesses = []

    def refill(network):
        guesses.append(network)
        return fills

    fills = x[hold_out(len(x), share=0.1, generator=torch.manual_seed(0))[0]][None]
    config = replace(CONFIG, max_seconds=seconds, stopping="none", decay_share=0.0)
    run(config, (x, observed), refill=refill)
    assert len(guesses) == n_refills


def test_interruption_keeps_the_best_so_far():
    config = replace(CONFIG, max_steps=300, learning_rate=0.5, decay_share=0.0)
    errors = {}

    def stop_once_worse(evaluation, n_steps):
        errors[evaluation.step] = evaluation.val_error
        if evaluation.val_error > min(errors.values()):
            raise KeyboardInterrupt

    network, result = run(config, on_evaluation=stop_once_worse)
    assert result.interrupted
    assert result.n_steps == max(errors)
    assert result.best_step == min(errors, key=errors.get) < result.n_steps
    # At a constant rate a run that ends there takes the same steps.
    until_then, _ = run(replace(config, max_steps=result.best_step))
    assert torch.equal(weights(network), weights(until_then))


def test_learning_rate_warms_up_holds_and_decays_to_almost_zero():
    config = replace(CONFIG, max_steps=100, warmup_steps=10, learning_rate=1.0)
    rate = _LearningRate(config)
    assert rate.at(0) == pytest.approx(0.1)
    assert rate.at(9) == rate.at(60) == 1.0
    assert not rate.must_decay(69, seconds=1e9)
    assert rate.must_decay(70, seconds=0.0)
    rate.begin_decay(70)
    assert rate.end == 100
    assert rate.at(85) == pytest.approx(0.5)
    assert rate.at(99) == pytest.approx(1 / 30)


def test_decay_begins_when_it_must_to_end_in_time():
    rate = _LearningRate(replace(CONFIG, max_seconds=10.0, decay_share=0.3))
    assert not rate.must_decay(5, seconds=6.9)
    assert rate.must_decay(5, seconds=7.1)


def test_early_decay_takes_its_share_of_the_steps_so_far():
    rate = _LearningRate(replace(CONFIG, max_steps=1000, decay_share=0.25))
    rate.begin_decay(300)
    assert rate.end == 400


def split(n, share=0.1):
    x = torch.arange(n * D, dtype=torch.float32).view(n, D)
    observed = torch.ones(n, D, dtype=torch.bool)
    generator = torch.Generator().manual_seed(0)
    rows, held = hold_out(n, share=share, generator=generator)
    return x, rows, validation_of(x[held], observed[held], generator=generator)


def test_held_out_rows_are_not_trained_on():
    x, rows, validation = split(200)
    trained = {tuple(row) for row in x[rows].tolist()}
    held = {tuple(row) for row in validation.x.tolist()}
    assert len(held) == 20
    assert trained.isdisjoint(held)
    assert len(trained) + len(held) == 200


def test_at_most_half_of_the_rows_are_held_out():
    _, rows, validation = split(20, share=0.99)
    assert len(rows) == validation.n_rows == 10


def test_hidden_cells_are_counted_once_a_column():
    _, _, validation = split(200)
    assert validation.n_cells == int(validation.masks.tgt.sum())
    assert not (validation.masks.cond & validation.masks.tgt).any()


@pytest.mark.parametrize("n", [1, 2, 7])
def test_tiny_tables_hold_nothing_out(n):
    _, rows, validation = split(n)
    assert validation is None
    assert sorted(rows.tolist()) == list(range(n))


def test_readout_time_avoids_a_schedule_at_rest():
    cosine = make_schedule("cosine", gamma=1.0)
    assert Path(LINEAR, "t").readout_time == 0
    assert Path(cosine, "s").readout_time == 0
    assert Path(cosine, "t").readout_time > 0


def test_fewer_rows_than_a_batch_are_reused():
    rows = tuple(part[:3] for part in low_rank_rows())
    _, result = run(replace(CONFIG, max_steps=5, evaluate_every=5), rows=rows)
    assert result.n_steps == 5


def test_training_steps_back_from_a_loss_that_is_not_finite(monkeypatch):
    loss, calls = trainer.flow_matching_loss, []

    def diverging(*args, **kwargs):
        calls.append(1)
        terms = loss(*args, **kwargs)
        broken = len(calls) == 25
        return replace(terms, total=terms.total * torch.nan) if broken else terms

    monkeypatch.setattr(trainer, "flow_matching_loss", diverging)
    network, result = run(replace(CONFIG, decay_share=0.0))
    assert result.n_diverged == 1
    assert torch.isfinite(weights(network)).all()
    errors = [e.val_error for e in result.history]
    assert not torch.isfinite(torch.tensor(errors[2]))
    assert torch.isfinite(torch.tensor(errors[3:])).all()
    rates = [e.learning_rate for e in result.history]
    assert rates[3] == pytest.approx(rates[1] / 10)


def test_an_interrupt_before_the_first_step_leaves_no_result():
    def never():
        raise KeyboardInterrupt
        yield

    assert train([never(), never()], device=torch.device("cpu")) == [None, None]
