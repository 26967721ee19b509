"""Train the nano model on the simulated task: demonstrations, run, curves; goes on where it was stopped.

The shipped weights' way: until the policy goes to the right blocks, then with corrections of its own mistakes:
  oxygen_ros train --folder F --stop-at 5000
  oxygen_ros train --folder F --corrections 14
"""
from pathlib import Path


def add_arguments(parser):
    parser.add_argument('--folder', type=Path, default=Path('recordings/nano'), help='where data and the run live')
    parser.add_argument('--shards', type=int, default=34, help='shards of 100 demonstrations (default %(default)s)')
    parser.add_argument('--steps', type=int, default=14000, help='training steps (default %(default)s)')
    parser.add_argument('--stop-at', type=int, help='stop after this step; a later call goes on')
    parser.add_argument('--corrections', type=int, default=0,
                        help='shards driven by the weights so far and labelled by the expert (default %(default)s)')
    parser.add_argument('--corrections-weight', type=int, default=2, help='how often each counts (default %(default)s)')
    parser.add_argument('--batch', type=int, default=32, help='frames a step (default %(default)s)')
    parser.add_argument('--rate', type=float, default=1e-3, help='highest learning rate (default %(default)s)')
    parser.add_argument('--seed', type=int, default=0, help='of weights and batches (default %(default)s)')
    parser.add_argument('--threads', type=int, default=1, help='of torch (default %(default)s)')
    parser.add_argument('--profile', default='aloha_sim', help='profile the model is trained for (default %(default)s)')
    parser.add_argument('--begin-with', type=Path, help='safetensors file whose weights to begin with')
    parser.add_argument('--record-only', action='store_true', help='only make the demonstrations')
    parser.add_argument('--part', type=int, nargs=2, default=(0, 1), metavar=('I', 'N'),
                        help='with --record-only: make every N-th shard from the I-th, for processes side by side')


def run(arguments):
    import torch
    from safetensors.torch import load_file
    from tqdm import tqdm

    from oxygen_ros.model.config import CONFIGS
    from oxygen_ros.profile.load import load_profile
    from oxygen_ros.profile.tokenizer import find_tokenizer
    from oxygen_ros.train.batches import Batches
    from oxygen_ros.train.curves import draw
    from oxygen_ros.train.demonstrations import CORRECTION_SHARD, load, record, shard_path, VALIDATION_SHARD
    from oxygen_ros.train.run import Run, RunConfig
    from oxygen_ros.train.validation import validation_batch

    torch.set_num_threads(arguments.threads)
    config = CONFIGS['nano']
    profile = load_profile(arguments.profile)
    data = arguments.folder / 'data'
    shards = list(range(arguments.shards))
    mine = [VALIDATION_SHARD, *shards][arguments.part[0]::arguments.part[1]]
    record(data, mine, config.image_size, profile.chunk_horizon, profile.dt_s,
           lambda indices: tqdm(indices, desc='demonstrations', unit='shard'))
    if arguments.record_only:
        return 0
    corrections = [CORRECTION_SHARD + k for k in range(arguments.corrections)]
    if not all(shard_path(data, index).exists() for index in corrections):
        from oxygen_ros.rollout.policy import driver, nano_engine
        engine = nano_engine(arguments.folder / 'model.safetensors', profile=arguments.profile, slots=1)
        record(data, corrections, config.image_size, profile.chunk_horizon, profile.dt_s,
               lambda indices: tqdm(indices, desc='corrections', unit='shard'), driver(engine))
    tokenizer = find_tokenizer('nano')
    batches = Batches(load(data, shards + corrections * arguments.corrections_weight), profile, tokenizer)
    held_out = Batches(load(data, [VALIDATION_SHARD]), profile, tokenizer, camera_noise=0)
    begin_with = None if arguments.begin_with is None else load_file(arguments.begin_with).items()
    training = Run(arguments.folder, config,
                   RunConfig(arguments.steps, batch=arguments.batch, rate=arguments.rate, seed=arguments.seed),
                   batches, (held_out, *validation_batch(held_out, 300)), begin_with)
    end = min(arguments.stop_at or arguments.steps, arguments.steps)
    with tqdm(total=end, initial=training.step, desc='training', unit='step') as bar:
        training.advance(max(0, end - training.step), bar=bar)
    draw(training.folder / 'curves.csv', training.folder / 'curves.png')
    print(f'weights: {training.folder / "model.safetensors"}; curves: {training.folder / "curves.png"}')
    return 0
