"""GAIN."""


def test_it_learns_two_factors_by_reconstruction(toy):
    whole, half = (toy.error(toy.fit("gain", n_steps=1_500, alpha=a)) for a in (100, 0))
    # The mean's error is 1.9 times the best; longer trainings wander from 1.2 to 1.5.
    assert whole < 1.6 * toy.best
    assert half > 1.1 * whole
