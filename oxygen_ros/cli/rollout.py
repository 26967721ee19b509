"""Evaluate the nano model in closed loop on scenes it was not trained on: success, text, smoothness, as JSON.

By default engine, controller and simulated robot run in this process, in simulated time. With --topics the node is a
process of its own and everything goes over ROS 2 topics, in simulated time that waits for it; either way a run depends
on its seed alone. `--compare A B` plays the same scenes in two modes; `--load N` measures chunks and commands in wall
time under a text of N tokens for every frame.
"""
import json
from pathlib import Path
import sys

MODES = ('oxygen', 'shared', 'isolated')


def add_arguments(parser):
    parser.add_argument('--episodes', type=int, default=50, help='how many (default %(default)s)')
    parser.add_argument('--seed', type=int, default=0, help='which evaluation scenes (default %(default)s)')
    parser.add_argument('--json', type=Path, metavar='FILE', help='file for the figures')
    parser.add_argument('--mode', default='oxygen', choices=MODES, help='of the engine (default %(default)s)')
    parser.add_argument('--drafting', action='store_true', help='earlier answers as drafts; the texts stay the same')
    parser.add_argument('--weights', type=Path, metavar='FILE', help='safetensors file (default: the shipped one)')
    parser.add_argument('--topics', nargs='?', const='lockstep', default='', choices=('lockstep', 'wall'),
                        help='over ROS 2: in simulated time that waits for the node (the default), or in wall time')
    parser.add_argument('--kinds', nargs='+', help='only these kinds of goal, in turn (default: all)')
    parser.add_argument('--frame-s', type=float, default=0.2, help='between two pictures (default %(default)s s)')
    parser.add_argument('--delay-s', type=float, nargs='+', default=[0.0], metavar='S',
                        help='injected inference delay, with --compare one for both modes or one for each')
    parser.add_argument('--longest-s', type=float, default=6.0, help='of an episode (default %(default)s s)')
    parser.add_argument('--questions', type=int, default=2, help='asked an episode (default %(default)s)')
    parser.add_argument('--swap-colour', action='store_true',
                        help='say another colour than is judged: success must fall; without home, which has none')
    parser.add_argument('--threads', type=int, default=1, help='of torch, in one process (default %(default)s)')
    parser.add_argument('--log', type=Path, metavar='FOLDER',
                        help='keep finished episodes there; a run that was stopped goes on with the same command')
    parser.add_argument('--compare', nargs=2, choices=MODES, metavar='MODE',
                        help='paired difference of two modes on the same scenes, with its 95 %% interval')
    parser.add_argument('--measured', type=Path, metavar='FILE',
                        help="with --compare: inject each mode's chunk age from this file of --load")
    parser.add_argument('--load', type=int, metavar='N',
                        help='no episodes: oxygen beside isolated in wall time, a text of N tokens every frame')
    parser.add_argument('--seconds', type=float, default=60.0, help='of --load, a mode (default %(default)s)')
    parser.add_argument('--camera-hz', type=float, default=60.0, help='of --load (default %(default)s)')
    parser.add_argument('--movie', type=Path, metavar='GIF', help='the first episodes with the text over them')
    parser.add_argument('--movie-episodes', type=int, default=6, help='in the GIF (default %(default)s)')


def settings_of(arguments, mode, delay_s):
    from oxygen_ros.rollout.run import Settings
    from oxygen_ros.sim.instructions import KINDS
    kinds = arguments.kinds or [kind for kind in KINDS if not (arguments.swap_colour and kind == 'home')]
    more = {'kinds': tuple(kinds)}
    if arguments.weights:
        more['weights'] = arguments.weights
    return Settings(mode, arguments.seed, arguments.topics, arguments.drafting, arguments.frame_s, delay_s,
                    arguments.longest_s, arguments.questions, swap_colour=arguments.swap_colour,
                    threads=arguments.threads, **more)


def log_file(arguments, mode):
    return arguments.log and arguments.log / f'{mode}.jsonl'


def one_mode(arguments):
    from oxygen_ros.rollout.movie import Movie
    from oxygen_ros.rollout.run import figures, play
    if len(arguments.delay_s) > 1 or arguments.measured:
        raise ValueError('several delays and --measured are for --compare')
    if arguments.movie and (arguments.topics == 'wall' or arguments.log):
        raise ValueError('--movie needs simulated time, and episodes that are played now: leave out --log')
    settings = settings_of(arguments, arguments.mode, arguments.delay_s[0])
    movie = Movie() if arguments.movie else None
    try:
        episodes = play(settings, arguments.episodes, log_file(arguments, arguments.mode), movie,
                        arguments.movie_episodes)
        if movie:
            movie.save(arguments.movie)
    finally:
        if movie:
            movie.close()
    return figures(settings, episodes)


def two_modes(arguments):
    from oxygen_ros.rollout.load import delay_s
    from oxygen_ros.rollout.paired import compare
    from oxygen_ros.rollout.run import figures, play
    modes = arguments.compare
    if len(arguments.delay_s) > 2 or modes[0] == modes[1] or arguments.movie:
        raise ValueError('--compare takes two different modes, one or two delays, and no --movie')
    delays = [arguments.delay_s[0], arguments.delay_s[-1]]
    if arguments.measured:
        try:
            table = json.loads(arguments.measured.read_text())
            delays = [delay_s(table, mode) for mode in modes]
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise ValueError(f'{arguments.measured} does not hold the figures of both modes under load ({error}): '
                             'write it with --load 30 --json FILE') from None
    runs, played = {}, []
    for mode, delay in zip(modes, delays):
        settings = settings_of(arguments, mode, delay)
        played.append(play(settings, arguments.episodes, log_file(arguments, mode)))
        runs[mode] = figures(settings, played[-1])
    return {'episodes': arguments.episodes, 'seed': arguments.seed, 'compare': modes, **compare(*played),
            'modes': runs}


def under_load(arguments):
    import os
    from oxygen_ros.rollout.load import measure
    from oxygen_ros.rollout.run import DRAFT_TOKENS, Settings
    weights = str(arguments.weights or Settings().weights)
    table = {'tokens': arguments.load, 'camera_hz': arguments.camera_hz, 'cores': len(os.sched_getaffinity(0)),
             'modes': {mode: measure(mode, arguments.load, arguments.seconds, weights, arguments.camera_hz,
                                     DRAFT_TOKENS if arguments.drafting else 0)
                       for mode in arguments.compare or ('oxygen', 'isolated')}}
    rates = [figures['chunk_rate_hz'] for figures in table['modes'].values()]
    return {**table, 'chunk_rate_ratio': rates[1] / rates[0]}


def run(arguments):
    import os
    if arguments.topics or arguments.load:
        from oxygen_ros.demo.session import free_domain
        os.environ.setdefault('ROS_DOMAIN_ID', str(free_domain()))  # away from other robots: it publishes /clock
    try:
        if arguments.json and not arguments.json.resolve().parent.is_dir():
            raise ValueError(f'cannot write {arguments.json}: its folder does not exist')
        figures = (under_load if arguments.load else two_modes if arguments.compare else one_mode)(arguments)
    except (ValueError, OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    text = json.dumps(figures, indent=1)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + '\n')
    return 0
