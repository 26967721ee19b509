"""Train the nano model on the simulated task: all stages of oxygen_ros/train/recipe.py, from the seed.

Stopped at any moment, the same command goes on: what was recorded is kept, the run from its last 500 steps' end.
"""
from pathlib import Path


def add_arguments(parser):
    parser.add_argument('--folder', type=Path, default=Path('recordings/nano'), help='where data and the run live')
    parser.add_argument('--stop-at', type=int, help='stop after this step; a later call goes on')
    parser.add_argument('--seed', type=int, default=0, help='of weights and batches (default %(default)s)')
    parser.add_argument('--threads', type=int, default=1, help='of torch (default %(default)s)')
    parser.add_argument('--processes', type=int, default=2,
                        help='that record before the first stage, side by side (default %(default)s)')


def run(arguments):
    import torch

    from oxygen_ros.train.curves import draw
    from oxygen_ros.train.recipe import Recipe

    torch.set_num_threads(arguments.threads)
    training = Recipe(arguments.folder, seed=arguments.seed, processes=arguments.processes).go(arguments.stop_at)
    draw(training.folder / 'curves.csv', training.folder / 'curves.png')
    print(f'weights: {training.folder / "model.safetensors"}; curves: {training.folder / "curves.png"}')
    return 0
