"""MissDiff."""

from macfm.judge.methods import make_method

SMALL = {
    "width": 64,
    "max_steps": 600,
    "batch_size": 128,
    "learning_rate": 4e-3,
    "cut": 0.7,
    "cut_after": 5,
    "n_levels": 10,
    "n_inner": 8,
    "n_trials": 4,
}


def test_it_comes_near_to_the_best_on_two_factors(toy):
    method = toy.fit("missdiff", **SMALL)
    # Four trials instead of many cost 1.12 by themselves; the mean has 1.9.
    assert toy.error(method) < 1.36 * toy.best


def test_on_a_complete_table_it_is_the_first_round_of_diffputer(toy):
    holes = toy.test.mask(toy.test_hidden).head(100)

    def filled(name, train, **settings):
        small = SMALL | {"max_steps": 20, "n_trials": 1}
        return make_method(name, **small, **settings).fit(train).impute(holes)

    whole, some = toy.train.head(300), toy.train.mask(toy.train_hidden).head(300)
    assert filled("missdiff", whole).equals(filled("diffputer", whole, n_rounds=1))
    assert not filled("missdiff", some).equals(filled("diffputer", some, n_rounds=1))
