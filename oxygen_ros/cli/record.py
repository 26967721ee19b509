"""Record topics into an mcap bag, until ctrl-C or for some seconds."""
import signal
import sys
import time


def add_arguments(parser):
    parser.add_argument('directory', help='folder of the new bag; must not exist')
    parser.add_argument('topics', nargs='*', help='topics to record (default: all but rosout and parameter events)')
    parser.add_argument('--seconds', type=float, help='stop after this long')
    parser.add_argument('--no-compression', action='store_true', help='less work while recording, a larger file')
    parser.add_argument('--queue-mb', type=int, default=256, help='memory for messages that wait for the disk')


def run(arguments):
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.signals import SignalHandlerOptions

    from oxygen_ros.bag.record import Recorder
    rclpy.init(args=arguments.ros_arguments, signal_handler_options=SignalHandlerOptions.NO)
    stopped = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.append(True))
    node = rclpy.create_node('recorder')
    status = 0
    try:
        recorder = Recorder(node, arguments.directory, arguments.topics or None,
                            compress=not arguments.no_compression, queue_bytes=arguments.queue_mb * 2**20)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        print(f'recording to {arguments.directory}; ctrl-C ends it', flush=True)
        begin_s, told = time.monotonic(), False
        while not stopped and not recorder.failure:
            executor.spin_once(timeout_sec=0.1)
            elapsed_s = time.monotonic() - begin_s
            if arguments.seconds is not None and elapsed_s >= arguments.seconds:
                break
            if not told and elapsed_s > 5 and recorder.missing:
                print(f'still nobody publishes {", ".join(recorder.missing)}', file=sys.stderr, flush=True)
                told = True
        recorder.close()
        for name in sorted(recorder.counts | recorder.dropped):
            lost = f', {recorder.dropped[name]} dropped' if recorder.dropped[name] else ''
            print(f'{recorder.counts[name]:8d}  {name}{lost}')
        for name in recorder.missing:
            print(f'{0:8d}  {name}: nobody published it')
        if not recorder.counts:
            print(f'{arguments.directory} is empty: no message arrived', file=sys.stderr)
            status = 1
    except (ValueError, OSError) as error:
        print(f'record: {error}', file=sys.stderr)
        status = 1
    finally:
        node.destroy_node()
        rclpy.shutdown()
    return status
