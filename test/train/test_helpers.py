from types import SimpleNamespace

import torch

from oxygen_ros.train.helpers import Helpers, Places


def test_the_loss_is_small_only_where_the_heads_name_the_true_places():
    torch.manual_seed(0)
    side, width = 4, 12
    places = Places(torch.tensor([[[0.10, 0.10], [0.60, 0.35], [0.90, 0.90]]]), torch.tensor([1]))
    image = torch.zeros(1, side * side, width)
    cells = [(0, 0), (2, 1), (3, 3)]
    for colour, (row, column) in enumerate(cells):
        inside = places.blocks[0, colour] * side - torch.tensor([row, column]) - 0.5
        image[0, row * side + column, 3 * colour:3 * colour + 3] = torch.tensor([12.0, *inside])
    last = torch.zeros(1, width)
    last[0, :2] = 4 * (places.blocks[0, 1] - 0.5)
    helpers = Helpers(width, side)
    with torch.no_grad():
        helpers.shows.weight.zero_(), helpers.shows.bias.zero_()
        helpers.shows.weight[:9, :9] = torch.eye(9)
        helpers.points.weight.zero_(), helpers.points.bias.zero_()
        helpers.points.weight[:, :2] = torch.eye(2)
        right = helpers(SimpleNamespace(image=image, last=last), places)
        wrong = helpers(SimpleNamespace(image=image.roll(1, 1), last=last.roll(1, 1)), places)
    assert right < 1e-3 and wrong > 1


def test_a_batch_without_any_named_block_has_a_finite_loss():
    helpers = Helpers(12, 4)
    places = Places(torch.rand(2, 3, 2), torch.tensor([-1, -1]))
    assert torch.isfinite(helpers(SimpleNamespace(image=torch.randn(2, 16, 12), last=torch.randn(2, 12)), places))
