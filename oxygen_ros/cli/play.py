"""Play a bag onto live topics with its timing; commands go to /recorded/... unless --commands."""
import select
import signal
import sys
import threading


def add_arguments(parser):
    parser.add_argument('bag', help='folder of a bag, or one .mcap or .db3 file')
    parser.add_argument('--rate', type=float, default=1.0, help='bag seconds a second')
    parser.add_argument('--loop', action='store_true', help='start again at the end')
    parser.add_argument('--start', type=float, default=0.0, metavar='S', help='seconds to skip at the beginning')
    parser.add_argument('--topics', nargs='+', metavar='TOPIC', help='play these only')
    parser.add_argument('--clock', type=float, nargs='?', const=100.0, default=0.0, metavar='HZ',
                        help='publish /clock from the bag, for nodes with use_sim_time (100 where no number is given)')
    parser.add_argument('--remap', nargs='+', default=[], metavar='FROM:=TO', help='publish under another name')
    parser.add_argument('--commands', action='store_true',
                        help='publish commands and node outputs under their own names: a robot may move')
    parser.add_argument('--wait', type=float, default=3.0, metavar='S', help='longest wait for subscribers')


def remaps(texts):
    """Pairs of `from:=to`; ValueError with a sentence for anything else."""
    pairs = []
    for text in texts:
        source, separator, target = text.partition(':=')
        if not (separator and source.startswith('/') and target.startswith('/')):
            raise ValueError(f'--remap wants /from:=/to, got {text!r}')
        pairs.append((source, target))
    return tuple(pairs)


def toggle_on_space(player, ended):
    """Pause and go on with the space key, where there is a terminal."""
    import termios
    import tty
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        while not ended.is_set():
            if select.select([sys.stdin], [], [], 0.2)[0] and sys.stdin.read(1) == ' ':
                player.paused.clear() if player.paused.is_set() else player.paused.set()
                print('paused' if player.paused.is_set() else 'playing', flush=True)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def run(arguments):
    from oxygen_ros.bag.read import Bag
    try:
        with Bag(arguments.bag) as bag:
            return play(bag, arguments)
    except ValueError as error:
        print(f'play: {error}', file=sys.stderr)
        return 1


def play(bag, arguments):
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from oxygen_ros.bag.play import Player
    from oxygen_ros.bag.play_names import PlayOptions
    options = PlayOptions(
        rate=arguments.rate, loop=arguments.loop, start_s=arguments.start, clock_hz=arguments.clock,
        topics=tuple(arguments.topics) if arguments.topics else None, remap=remaps(arguments.remap),
        aside=not arguments.commands)
    rclpy.init(args=arguments.ros_arguments, signal_handler_options=SignalHandlerOptions.NO)
    node, ended, keys = rclpy.create_node('player'), threading.Event(), None
    try:
        player = Player(node, bag, options)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: player.stop())
        for name, why in player.refused.items():
            print(f'play: {name} is left out: {why}', file=sys.stderr)
        for name, target in player.names.items():
            print(f'{bag.topics[name].count:8d}  {name}' + (f' -> {target}' if target != name else ''), flush=True)
        player.wait_for_subscribers(arguments.wait)
        if sys.stdin.isatty():
            keys = threading.Thread(target=toggle_on_space, args=(player, ended), daemon=True)
            keys.start()
            print('space pauses, ctrl-C ends', flush=True)
        player.play()
        late = sorted(player.lateness_s) or [0.0]
        print(f'{player.published} messages, late by {late[len(late) // 2] * 1e3:.1f} ms (p50), '
              f'{late[int(len(late) * 0.99)] * 1e3:.1f} ms (p99)')
        player.close()
        return 0
    finally:
        ended.set()
        if keys:
            keys.join()
        node.destroy_node()
        rclpy.shutdown()
