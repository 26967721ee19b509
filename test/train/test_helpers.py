from types import SimpleNamespace

import torch
from torch import nn

from oxygen_ros.train.helpers import Helpers, Places

SIDE, WIDTH, COLOURS = 4, 12, (101, 102, 103)
BATCH = SimpleNamespace(prompt=torch.tensor([[2, 102, 5]]), prompt_mask=torch.ones(1, 3, dtype=torch.bool),
                        answer=torch.zeros(1, 0, dtype=torch.long))


def helpers_with(half_way):
    """Helpers of a stand-in model whose second and third trunk layer give `half_way`."""
    layers = nn.ModuleList(nn.Identity() for _ in range(4))
    model = SimpleNamespace(config=SimpleNamespace(trunk_width=WIDTH, image_size=56, patch=14, depth=4),
                            trunk=SimpleNamespace(layers=layers))
    torch.manual_seed(0)
    helpers = Helpers(model, COLOURS)
    layers[1](half_way), layers[2](half_way)
    return helpers


def test_the_loss_is_small_only_where_the_heads_name_the_true_places():
    blocks = torch.tensor([[[0.10, 0.10], [0.60, 0.35], [0.90, 0.90]]])
    places = Places(blocks, torch.tensor([1]), torch.tensor([[0, 2, 1]]), torch.tensor([[0.3, 0.8]]))
    image, marked = torch.zeros(1, SIDE * SIDE, WIDTH), torch.zeros(1, SIDE * SIDE + 3, WIDTH)
    for colour, (row, column) in enumerate([(0, 0), (2, 1), (3, 3)]):
        inside = places.blocks[0, colour] * SIDE - torch.tensor([row, column]) - 0.5
        image[0, row * SIDE + column, 3 * colour:3 * colour + 3] = torch.tensor([12.0, *inside])
    marked[0, 2 * SIDE + 1, 0] = 12.0
    marked[0, SIDE * SIDE + 1, :2] = 4 * (places.blocks[0, 1] - 0.5)  # the word for the second colour
    for head, (row, column) in enumerate([(0, 0), (3, 3), (2, 1)]):
        marked[0, row * SIDE + column, 4 + head] = 20.0
    marked[0, -1, 7:9] = 4 * (places.gripper - 0.5)
    last = torch.zeros(1, WIDTH)
    last[0, :2] = 4 * (places.blocks[0, 1] - 0.5)

    @torch.no_grad()
    def loss(image, marked, last):
        helpers = helpers_with(marked)
        for layer, rows in ((helpers.shows, 9), (helpers.points, 2), (helpers.named, 1), (helpers.words, 2)):
            layer.weight.zero_(), layer.bias.zero_()
            layer.weight[:rows, :rows] = torch.eye(rows)
        for layer, rows, start in ((helpers.firsts, 3, 4), (helpers.firsts_higher, 3, 4), (helpers.gripper, 2, 7)):
            layer.weight.zero_(), layer.bias.zero_()
            layer.weight[:, start:start + rows] = torch.eye(rows)
        return helpers(BATCH, SimpleNamespace(image=image, last=last), places)

    right = loss(image, marked, last)
    assert right < 1e-2
    assert loss(image.roll(1, 1), marked, last) > 1
    assert loss(image, marked.roll(1, 1), last) > 1
    unsaid = marked.clone()
    unsaid[0, SIDE * SIDE + 1] = 0.0
    assert loss(image, unsaid, last) > 0.1
    assert loss(image, marked, last.roll(1, 1)) > 0.3
    elsewhere = marked.clone()
    elsewhere[0, -1, 7:9] = 0.0
    assert loss(image, elsewhere, last) > 0.3


def test_a_batch_without_any_named_block_has_a_finite_loss():
    helpers = helpers_with(torch.randn(2, 20, WIDTH))
    places = Places(torch.rand(2, 3, 2), torch.tensor([-1, -1]), torch.zeros(2, 3, dtype=torch.long), torch.rand(2, 2))
    batch = SimpleNamespace(prompt=torch.zeros(2, 4, dtype=torch.long), prompt_mask=torch.ones(2, 4, dtype=torch.bool),
                            answer=torch.zeros(2, 0, dtype=torch.long))
    output = SimpleNamespace(image=torch.randn(2, 16, WIDTH), last=torch.randn(2, WIDTH))
    assert torch.isfinite(helpers(batch, output, places))
