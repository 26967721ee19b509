"""One run of the demo, from the first process to the summary."""
import os
import select
import socket
import sys
import time

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from tqdm import tqdm
import yaml

from oxygen_ros import share, transport
from oxygen_ros.demo import summary
from oxygen_ros.demo.monitor import Monitor
from oxygen_ros.demo.processes import Crashed, Processes

REFRESH_S = 0.2    # of the line in a terminal
LOG_EVERY_S = 2.0  # of the same where the output is a file
SHOW_EVERY = 10    # finished texts of which one is shown
LIVE_TEXT_WIDTH = 44
CAMERA = 'tight/image_raw:=top/image_raw'  # over the blocks the policy's top camera is the near one


def free_domain():
    """A ROS domain that no process of this machine seems to use, so that demos do not meet other robots."""
    for domain in range(31, 101):
        # RTPS: the first participant of a domain listens on port 7410 + 250 * domain.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(('127.0.0.1', 7410 + 250 * domain))
                return domain
            except OSError:
                continue
    return 30


def control_rate_hz(params_file):
    """`control_rate_hz` of the node's parameter file."""
    for section in yaml.safe_load(params_file.read_text()).values():
        rate = (section or {}).get('ros__parameters', {}).get('control_rate_hz')
        if rate is not None:
            return float(rate)
    raise ValueError(f'{params_file} does not set control_rate_hz')


class Session:
    """Starts robot and node, gives the instruction, watches, stops, sums up."""

    def __init__(self, directory, instruction, params_file, bag, environment):
        self._directory = directory
        self._instruction = instruction
        self._params_file = params_file or share.config_folder() / 'aloha.yaml'
        self._bag = bag
        environment.setdefault('ROS_DOMAIN_ID', str(free_domain()))
        transport.configure(environment)
        environment['PYTHONUNBUFFERED'] = '1'
        os.environ.update(environment)  # this process subscribes through the same transport
        self._environment = environment

    def run(self, seconds, start_timeout_s, json_file):
        """Run for `seconds` from the first command; return the exit status."""
        try:
            target_hz = control_rate_hz(self._params_file)
        except (OSError, ValueError, AttributeError, yaml.YAMLError) as error:
            print(f'demo: {error}', file=sys.stderr)
            return 2
        rclpy.init()
        node = rclpy.create_node('oxygen_demo')
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        monitor = Monitor(node)
        status, interrupted = 0, False
        try:
            with Processes(self._directory, self._environment) as processes:
                processes.start('sim', 'sim', '--params-file', share.config_file('sim.yaml'),
                                '--ros-args', '-r', CAMERA)
                processes.start('node', 'node', '--params-file', self._params_file)
                if self._bag:
                    processes.start('record', 'record', self._bag, nice=10)  # it queues; the robot does not
                try:
                    self._wait_for_commands(executor, monitor, processes, start_timeout_s)
                    self._watch(executor, monitor, processes, seconds)
                    self._wait_for_last_status(executor, monitor)
                except (KeyboardInterrupt, ExternalShutdownException):
                    interrupted = True
                    print('\ndemo: interrupted, stopping the robot', file=sys.stderr)
            figures = summary.summarise(monitor, target_hz)
        except (Crashed, TimeoutError, ValueError) as error:
            if not interrupted:
                print(f'demo: {error}', file=sys.stderr)
                print(f'demo: the logs are in {self._directory}', file=sys.stderr)
                status = 1
        else:
            summary.write(figures, self._directory / 'summary.json')
            if json_file:
                summary.write(figures, json_file)
            print(summary.screen(figures, monitor, self._directory))
            self._report()
        finally:
            node.destroy_node()
            rclpy.try_shutdown()
        return status

    def _report(self):
        if not self._bag:
            return
        try:
            from oxygen_ros.report.build import report_of_bag
            page = self._directory / 'report.html'
            report_of_bag(self._bag, page)
            print(f'  {"page":<20}{page}')
        except (ImportError, OSError, ValueError) as error:
            print(f'demo: no report: {error}', file=sys.stderr)

    def _wait_for_commands(self, executor, monitor, processes, timeout_s):
        """Give the instruction once the node listens, and return when it commands."""
        print(f'demo: starting the simulated robot and the node; instruction: {self._instruction!r}')
        deadline_s = time.monotonic() + timeout_s
        instructed_s = 0.0
        said, said_s = '', 0.0
        while not monitor.command_times_s:
            executor.spin_once(timeout_sec=0.1)
            processes.check()
            # Said again until the node reports it: the first one may have met other subscribers only. Equal text is
            # no new instruction.
            if monitor.status and not monitor.status.instruction_id and time.monotonic() > instructed_s + 0.5:
                monitor.instruct(self._instruction)
                instructed_s = time.monotonic()
            state = self._state(monitor.status)
            if state != said and time.monotonic() > said_s + 1.0:
                print(f'demo: {state}', flush=True)
                said, said_s = state, time.monotonic()
            if time.monotonic() > deadline_s:
                raise TimeoutError(f'no joint command within {timeout_s:.0f} s; the node says: {state}')

    @staticmethod
    def _state(status):
        if status is None:
            return 'the node is not up yet'
        return f'{status.state}: {status.detail}' if status.detail else status.state

    def _watch(self, executor, monitor, processes, seconds):
        start_s = time.monotonic()
        shown, obeyed = len(monitor.finished_texts), monitor.status.instruction_id if monitor.status else 0
        terminal = sys.stdout.isatty()
        print('demo: running. Type an instruction, or a question ending in "?", and press Enter.'
              if sys.stdin.isatty() else 'demo: running', flush=True)
        refresh_s = REFRESH_S if terminal else LOG_EVERY_S
        with tqdm(total=seconds, bar_format='{bar:12}{n:5.1f}/{total:.0f} s{postfix}', file=sys.stdout,
                  disable=not terminal) as bar:
            refreshed_s = start_s
            while (now_s := time.monotonic()) - start_s < seconds:
                executor.spin_once(timeout_sec=0.05)
                if now_s - refreshed_s < refresh_s:
                    continue
                processes.check()
                typed = self._take_typed_line(monitor)
                if typed:
                    bar.write(f'  {typed}')
                if monitor.status and monitor.status.instruction_id > obeyed:
                    obeyed = monitor.status.instruction_id
                    bar.write(f'  the node follows instruction {obeyed} now')
                for task, text, reason in monitor.finished_texts[shown:]:
                    if shown % SHOW_EVERY == 0 or task == 'question':
                        bar.write(f'  {task}: {text.strip()!r} ({reason})')
                    shown += 1
                line = self._line(monitor)
                if terminal:
                    bar.set_postfix_str(line, refresh=False)
                else:
                    print(f'{now_s - start_s:5.1f} s, {line}', flush=True)
                bar.update(now_s - refreshed_s)
                refreshed_s = now_s

    @staticmethod
    def _line(monitor):
        rate = sum(1 for t in reversed(monitor.command_times_s[-120:]) if t > time.monotonic() - 1.0)
        prefills = monitor.status.prefills if monitor.status else 0
        text = next(reversed(monitor.live.values()), '').strip()
        return (f'{rate:3d} commands/s | {monitor.tokens} tokens | {prefills} prefills | {len(monitor.live)} live | '
                f'{text[-LIVE_TEXT_WIDTH:]}')

    @staticmethod
    def _take_typed_line(monitor):
        """Pass on a line that was typed; what to say of it, or None."""
        if not (sys.stdin.isatty() and select.select([sys.stdin], [], [], 0)[0]):
            return None
        line = sys.stdin.readline().strip()
        if not line:
            return None
        if line.endswith('?'):
            monitor.ask(line)
            return f'asked: {line!r}'
        monitor.instruct(line)
        return f'instructed: {line!r}'

    @staticmethod
    def _wait_for_last_status(executor, monitor):
        """The counters of the newest status belong to this run's end."""
        last = monitor.status
        deadline_s = time.monotonic() + 2.0
        while monitor.status is last and time.monotonic() < deadline_s:
            executor.spin_once(timeout_sec=0.1)
