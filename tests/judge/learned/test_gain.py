"""GAIN."""


def test_it_comes_near_to_the_best_on_two_factors(toy):
    # The mean's error is 1; a longer training wanders between 1.2 and 1.5 of the best.
    assert toy.error(toy.fit("gain", n_steps=3_000)) < 1.6 * toy.best


def test_without_reconstruction_it_is_clearly_worse(toy):
    whole, half = (toy.error(toy.fit("gain", n_steps=1_500, alpha=a)) for a in (100, 0))
    assert half > 1.1 * whole
