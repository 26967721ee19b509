"""Train the nano model: on its simulated task from the seed, or with --data further on recordings of a robot.

The task's training is the table of stages in oxygen_ros/train/recipe.py. With --data, a dataset folder in LeRobot
format or bags, the shipped weights are trained further; weights and profile.yaml are written to the folder, for
  oxygen_ros node --ros-args -p checkpoint:=FOLDER/model.safetensors -p profile:=FOLDER/profile.yaml

Stopped at any moment, the same command goes on from where the log ends.
"""
from pathlib import Path
import sys


def add_arguments(parser):
    parser.add_argument('--folder', type=Path, default=Path('recordings/nano'), help='where data and the run live')
    parser.add_argument('--stop-at', type=int, metavar='STEP', help='stop after this step; a later call goes on')
    parser.add_argument('--seed', type=int, default=0, help='of weights and batches (default %(default)s)')
    parser.add_argument('--device', default='cpu', help='where torch computes: cpu (the default), cuda, cuda:1 ...')
    parser.add_argument('--threads', type=int, default=1, help='of torch (default %(default)s)')
    parser.add_argument('--processes', type=int, default=2,
                        help='that record before the first stage, side by side (default %(default)s)')
    data = parser.add_argument_group('on recordings of a robot')
    data.add_argument('--data', type=Path, nargs='+', help='folder of a LeRobot dataset, or bags')
    data.add_argument('--steps', type=int, default=2000, help='training steps (default %(default)s)')
    data.add_argument('--rate', type=float, default=4e-4, help='highest learning rate (default %(default)s)')
    data.add_argument('--batch', type=int, default=32, help='frames a step (default %(default)s)')
    data.add_argument('--begin-with', type=Path, metavar='FILE', help='weights (default: the shipped ones)')
    data.add_argument('--camera', nargs='+', default=[], metavar='VIEW=NAME',
                      help='which camera of the dataset is which view (default: in the order of the dataset)')
    data.add_argument('--config', type=Path,
                      help="for bags: the node's parameter file with their topics (default: config/aloha.yaml)")


def run(arguments):
    import torch

    from oxygen_ros.train.curves import draw
    from oxygen_ros.train.device import check_device

    torch.set_num_threads(arguments.threads)
    try:
        check_device(arguments.device)
        training = (on_data if arguments.data else on_the_task)(arguments)
    except (ValueError, OSError) as error:
        print(f'train: {error}', file=sys.stderr)
        return 2
    draw(training.folder / 'curves.csv', training.folder / 'curves.png')
    print(f'weights: {training.folder / "model.safetensors"}; curves: {training.folder / "curves.png"}')
    if arguments.data:
        print(f'profile: {training.folder / "profile.yaml"}')
    return 0


def on_the_task(arguments):
    """Record and train from the seed; returns the Run."""
    from oxygen_ros.train.recipe import Recipe
    return Recipe(arguments.folder, seed=arguments.seed, processes=arguments.processes,
                  device=arguments.device).go(arguments.stop_at)


def on_data(arguments):
    """Read the recordings and train; returns the Run."""
    from safetensors.torch import load_file
    from tqdm import tqdm

    from oxygen_ros.model.config import CONFIGS
    from oxygen_ros.profile.load import load_profile
    from oxygen_ros.profile.tokenizer import find_tokenizer
    from oxygen_ros.rollout.policy import WEIGHTS
    from oxygen_ros.share import config_file
    from oxygen_ros.train.fine_tune import fine_tune
    from oxygen_ros.train.run import RunConfig

    config, base = CONFIGS['nano'], 'aloha_sim'
    shape = config.image_size, config.horizon, load_profile(base).dt_s
    first = arguments.data[0]
    if (first / 'meta').is_dir():
        from oxygen_ros.train.lerobot_data import read_lerobot
        if len(arguments.data) > 1:
            raise ValueError(f'--data takes one LeRobot dataset or any number of bags, got {len(arguments.data)}')
        recording = read_lerobot(first, *shape, views=dict(camera(text) for text in arguments.camera))
    else:
        from oxygen_ros.train.bag_data import read_bags
        recording = read_bags(arguments.data, arguments.config or config_file('aloha.yaml'), *shape)
    print(f'{len(recording)} frames of {recording.episode.max() + 1} episodes, views {", ".join(recording.views)}, '
          f'{len(recording.joints)} joints')
    training = fine_tune(arguments.folder, recording, base, find_tokenizer('nano'), config,
                         RunConfig(arguments.steps, batch=arguments.batch, rate=arguments.rate, seed=arguments.seed),
                         load_file(arguments.begin_with or WEIGHTS).items(), arguments.device)
    end = min(arguments.stop_at or arguments.steps, arguments.steps)
    with tqdm(total=end, initial=training.step, desc='training', unit='step') as bar:
        training.advance(max(0, end - training.step), bar=bar)
    return training


def camera(text):
    """('view', 'camera') of a text VIEW=CAMERA."""
    view, separator, name = text.partition('=')
    if not separator or not name:
        raise ValueError(f'--camera wants VIEW=NAME, got {text!r}')
    return view, name
