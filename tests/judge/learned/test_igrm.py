"""IGRM: what it adds to GRAPE."""

import torch

from macfm.judge.learned.igrm import (
    Encoder,
    FriendLayer,
    draw_lot,
    drawn_shares,
    expected_shares,
    likelihoods,
    random_graph,
)

N, WIDTH = 40, 16


def generator():
    return torch.Generator().manual_seed(0)


def states():
    return torch.nn.functional.normalize(torch.rand(N, WIDTH, generator=generator()))


def test_its_parts_have_the_size_of_the_reference():
    friends, encoder = (
        sum(p.numel() for p in part.parameters())
        for part in (FriendLayer(64), Encoder(64, 128, 32))
    )
    assert (friends, encoder) == (12_416, 12_288)


def test_the_random_graph_is_normalised():
    graph = random_graph(N, generator())
    assert torch.equal(graph, graph.T)
    degree = (graph > 0).sum(dim=1).float()
    assert degree.min() >= 1
    assert 1.5 * N < degree.sum() <= 3 * N  # each row, and most edges both ways
    torch.testing.assert_close(graph @ degree.sqrt(), degree.sqrt())


def test_a_row_by_itself_is_coded_as_in_a_graph_without_edges():
    torch.manual_seed(0)
    encoder, rows = Encoder(WIDTH, 12, 6), states()
    torch.testing.assert_close(encoder(rows), encoder(rows, torch.eye(N)))


def test_likelihoods_are_probabilities_and_those_of_new_rows_too():
    codes = torch.rand(N, 6, generator=generator())
    likely = likelihoods(codes)
    assert likely.max() == 1
    torch.testing.assert_close(likely, likely.T)
    torch.testing.assert_close(likelihoods(codes, codes[:3]), likely[:3])
    assert likelihoods(codes, 100 * codes).max() == 1
    assert (likelihoods(torch.zeros(N, 6)) == 0).all()


def test_friendship_is_mutual_and_drawn_with_its_likelihood():
    codes = torch.rand(N, 6, generator=generator())
    likely, source = likelihoods(codes), generator()
    seen = torch.zeros(N, N)
    for _ in range(500):
        shares = drawn_shares(likely, draw_lot(len(likely), source))
        friends = shares > 0
        assert torch.equal(friends, friends.T)
        assert not friends.diagonal().any()
        n_friends = friends.sum(dim=1, keepdim=True)
        torch.testing.assert_close(shares * n_friends, likely * friends)
        seen += friends / 500
    off_diagonal = ~torch.eye(N, dtype=torch.bool)
    assert (seen - likely)[off_diagonal].abs().max() < 0.12  # five standard errors


def test_expected_shares_are_the_mean_of_drawn_ones():
    # A ratio of means is the mean ratio but for terms of one over the number of rows.
    likely, source = likelihoods(torch.rand(300, 6, generator=generator())), generator()
    rows = torch.rand(300, WIDTH, generator=generator())
    drawn = (
        sum(
            drawn_shares(likely, draw_lot(len(likely), source)) @ rows
            for _ in range(100)
        )
        / 100
    )
    torch.testing.assert_close(expected_shares(likely) @ rows, drawn, rtol=0.05, atol=0)


def test_gradients_reach_the_encoder_through_the_weights():
    torch.manual_seed(0)
    encoder, rows = Encoder(WIDTH, 12, 6), states()
    likely = likelihoods(encoder(rows))
    drawn_shares(likely, draw_lot(N, generator())).square().sum().backward()
    assert all(p.grad.abs().sum() > 0 for p in encoder.parameters())


def test_without_its_message_the_friend_layer_is_a_node_layer():
    torch.manual_seed(0)
    layer, rows = FriendLayer(WIDTH), states()
    shares = expected_shares(likelihoods(states()))
    with_friends = layer(rows, shares, rows)
    alone = layer(rows, torch.zeros(N, N), rows)
    assert not torch.allclose(with_friends, alone)
    torch.nn.init.zeros_(layer.message.weight)
    torch.nn.init.zeros_(layer.message.bias)
    assert torch.equal(layer(rows, shares, rows), alone)


def test_the_encoder_learns_in_the_steps_that_draw_and_in_no_other(toy):
    codes = [
        toy.fit(
            "igrm", n_steps=n, redraw_every=3, width=WIDTH, batch_size=64
        ).model_._encoder.first.weight
        for n in (1, 3, 4)
    ]
    assert torch.equal(codes[0], codes[1])
    assert not torch.equal(codes[1], codes[2])


def test_it_learns_two_factors(toy):
    # The mean's error is 1.9 of the best; a longer training comes nearer.
    small = {"n_steps": 400, "batch_size": 64, "width": 32, "n_layers": 2}
    assert toy.error(toy.fit("igrm", learning_rate=2e-3, **small)) < 1.65 * toy.best
