"""Evaluate the nano model in closed loop on scenes it was not trained on: success, text, smoothness, as JSON.

Engine, controller and simulated robot run in this process and in simulated time, so that a run depends on its seed
alone; with --topics the robot and the node talk over ROS 2, in real time.
"""
import json
from pathlib import Path
import sys


def add_arguments(parser):
    parser.add_argument('--episodes', type=int, default=50, help='how many (default %(default)s)')
    parser.add_argument('--seed', type=int, default=0, help='which evaluation scenes (default %(default)s)')
    parser.add_argument('--json', type=Path, help='file for the figures')
    parser.add_argument('--mode', default='oxygen', choices=('oxygen', 'shared', 'isolated'), help='of the engine')
    parser.add_argument('--weights', type=Path, help='safetensors file (default: the shipped one)')
    parser.add_argument('--kinds', nargs='+', help='only these kinds of goal, in turn (default: all)')
    parser.add_argument('--frame-s', type=float, default=0.2, help='between two frames (default %(default)s s)')
    parser.add_argument('--delay-s', type=float, default=0.0, help='injected age of a chunk (default %(default)s s)')
    parser.add_argument('--longest-s', type=float, default=6.0, help='of an episode (default %(default)s s)')
    parser.add_argument('--questions', type=int, default=2, help='asked an episode (default %(default)s)')
    parser.add_argument('--swap-colour', action='store_true',
                        help='say another colour than is judged: success must fall')
    parser.add_argument('--topics', action='store_true', help='over ROS 2, with the node in a process of its own')
    parser.add_argument('--threads', type=int, default=1, help='of torch (default %(default)s)')
    parser.add_argument('--movie', type=Path, help='GIF of the first episodes with the text over them')
    parser.add_argument('--movie-episodes', type=int, default=6, help='in the GIF (default %(default)s)')


def in_process(arguments):
    from oxygen_ros.rollout.episode import ClosedLoop, LoopConfig
    from oxygen_ros.rollout.policy import nano_engine, WEIGHTS
    config = LoopConfig(frame_s=arguments.frame_s, delay_s=arguments.delay_s, longest_s=arguments.longest_s,
                        questions=arguments.questions)
    return ClosedLoop(nano_engine(arguments.weights or WEIGHTS, arguments.mode, arguments.seed,
                                  threads=arguments.threads, slots=16, decode_rounds=4), config)


def over_topics(arguments):
    from oxygen_ros.rollout.policy import WEIGHTS
    from oxygen_ros.rollout.topics import TopicLoop
    if arguments.movie or arguments.delay_s:
        raise ValueError('--movie and --delay-s are for the run in one process: leave them out with --topics')
    return TopicLoop(arguments.mode, arguments.seed, arguments.weights or WEIGHTS, arguments.longest_s,
                     arguments.questions)


def run(arguments):
    import numpy as np
    from tqdm import tqdm

    from oxygen_ros.rollout.movie import Movie
    from oxygen_ros.rollout.scores import summary
    from oxygen_ros.sim.instructions import COLOURS, Goal, KINDS
    from oxygen_ros.train.demonstrations import EVALUATION_SEED

    kinds = arguments.kinds or list(KINDS)
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        print(f'kinds {unknown} are unknown; known are: {", ".join(KINDS)}', file=sys.stderr)
        return 2
    movie = Movie() if arguments.movie else None
    try:
        loop = over_topics(arguments) if arguments.topics else in_process(arguments)
    except (ValueError, FileNotFoundError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    episodes = []
    try:
        for i in (bar := tqdm(range(arguments.episodes), desc='episodes', unit='episode')):
            seed = EVALUATION_SEED + arguments.seed * 10_000 + i
            random = np.random.default_rng([seed, 4])
            kind = kinds[i % len(kinds)]
            colour = '' if kind == 'home' else COLOURS[random.integers(3)]
            said = None
            if arguments.swap_colour and colour:
                said = Goal(kind, COLOURS[(COLOURS.index(colour) + 1 + random.integers(2)) % 3]).say(random)
            loop.watch = movie.frame if movie and i < arguments.movie_episodes else None
            episodes.append(loop.run(seed, Goal(kind, colour), said))
            if loop.watch:
                movie.end(episodes[-1].success)
            bar.set_postfix(success=f'{sum(e.success for e in episodes) / len(episodes):.0%}')
        figures = summary(episodes, arguments.seed, arguments.mode)
    finally:
        loop.close()
        if movie:
            movie.close()
    text = json.dumps(figures, indent=1)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + '\n')
    if movie:
        movie.save(arguments.movie)
    return 0
