"""One chaos run: robot, relay, node and recorder; faults one after the other; then the verdict."""
from dataclasses import asdict
import json
from pathlib import Path
import platform
import random
import signal
import time

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger
import yaml

from oxygen_ros.chaos.faults import schedule
from oxygen_ros.chaos.fleet import Fleet
from oxygen_ros.chaos.judge import Allowed, judge, Phase
from oxygen_ros.chaos.relay import RAW, Relay
from oxygen_ros.msg import EngineStatus

START_S = 120.0
CAMERA = 'tight/image_raw'  # what the simulated robot shows of the blocks; the node's first view sees it
FAR_START = 'would jump from'  # the node's words where a plan begins too far from the arm
PAUSE_S = (1.5, 3.0)  # between faults: time in which the arm must be commanding
TEXTS = ('pick up the red block', 'push the blue block to the front', 'touch the green block')
LATCHED = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def settings_of(params_file):
    """(control rate, image topics) of a parameter file of the node."""
    for section in yaml.safe_load(Path(params_file).read_text()).values():
        table = (section or {}).get('ros__parameters', {})
        topics = [value for name, value in table.items() if name.startswith('image.') and name.endswith('.topic')]
        if topics:
            return float(table.get('control_rate_hz', 60.0)), topics
    raise ValueError(f'{params_file} names no image topic')


class Interrupted(Exception):
    """Somebody wants the run to end now."""


class Session:
    """
    Runs faults for a time; `say(text)` shows progress.

    `robot` is the command line of the robot. A Ctrl-C or SIGTERM ends the run early, with the figures so far.
    """

    def __init__(self, directory, environment, params_file, limits_file, seed, robot, say=print):
        self.directory, self.environment = Path(directory), environment
        self.params_file, self.allowed = params_file, Allowed.read(limits_file)
        self.rate_hz, self.topics = settings_of(params_file)
        self.seed, self.random, self.say = seed, random.Random(seed), say
        self.robot = robot
        self.phases, self.unrecovered, self.brought_back = [], [], []
        self.status, self._status_s = None, 0.0
        self._interrupted = False
        self._fault_since_ns = None  # start of the fault that is being injected

    def run(self, minutes):
        """Give the figures of a run, as the JSON file has them; RuntimeError where it could not start."""
        from rclpy.executors import SingleThreadedExecutor
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # its own would leave nothing to end the run with
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        node = rclpy.create_node('chaos')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(node)
        node.create_subscription(EngineStatus, 'oxygen/status', self._on_status, LATCHED)
        sources = {topic: topic for topic in self.topics}
        sources[self.topics[0]] = CAMERA
        self.relay = Relay(node, sources, self.random)
        self._services = {name: node.create_client(Trigger, f'oxygen/{name}') for name in ('stop', 'resume', 'reset')}
        self._services['robot'] = node.create_client(Trigger, f'{RAW}/robot/reset')
        self._transition = node.create_client(ChangeState, 'oxygen/change_state')
        record_file = self.directory / 'record.npz'
        try:
            with Fleet(self.directory, self.environment) as self.fleet:
                self.fleet.start('recorder', 'oxygen_ros.chaos.recorder', record_file)
                # Out of the node's hearing; only the commands reach it directly.
                self.fleet.start('robot', 'oxygen_ros', *self.robot, '--ros-args', '-r', f'__ns:=/{RAW}',
                                 '-r', 'joint_command:=/joint_command')
                self.fleet.start('node', 'oxygen_ros', 'node', '--params-file', self.params_file)
                self._bring_up()
                begin_ns, before_mb = time.time_ns(), self.fleet.memory_mb('node')
                try:
                    self._faults(time.monotonic() + minutes * 60)
                except Interrupted:
                    self.say(f'interrupted after {(time.time_ns() - begin_ns) / 60e9:.1f} of {minutes:g} minutes; '
                             'the figures are those so far')
                # A fault that was broken off is not judged, so what came after its start is not calm either.
                end_ns, after_mb = self._fault_since_ns or time.time_ns(), self.fleet.memory_mb('node')
        except Interrupted:
            raise RuntimeError('interrupted before the first fault') from None
        finally:
            node.destroy_node()
            rclpy.try_shutdown()
        (self.directory / 'phases.json').write_text(json.dumps([asdict(phase) for phase in self.phases], indent=1))
        with np.load(record_file) as record:
            verdict = judge(dict(record), self.phases, self.allowed, self.rate_hz, begin_ns, end_ns)
        kinds = [phase.kind for phase in self.phases]
        return {
            'minutes': round((end_ns - begin_ns) / 60e9, 3), 'interrupted': self._interrupted, 'seed': self.seed,
            'faults_injected': len(kinds),
            'by_kind': {kind: kinds.count(kind) for kind in sorted(set(kinds))},
            'unsafe_commands': verdict.unsafe_commands, 'unsafe_by_kind': dict(verdict.unsafe),
            'unsafe_examples': verdict.examples, 'starts_unseen': verdict.starts_unseen,
            'unrecovered': len(self.unrecovered),
            'unrecovered_kinds': self.unrecovered, 'brought_back': len(self.brought_back),
            'commanding_share': round(verdict.commanding_share, 4),
            'ticks_lost': verdict.ticks_lost, 'tick_late_ms_p99': round(verdict.tick_late_ms_p99, 3),
            'memory_mb': {'node_begin': before_mb, 'node_end': after_mb}, 'host': platform.node()}

    # --- the run

    def _bring_up(self):
        self.say('starting robot, node and recorder')
        if not self._until(lambda: self.relay.connected and self.relay.images and self.relay.joint_states, START_S):
            raise RuntimeError(f'not connected within {START_S:.0f} s: {self._words()}')
        self.relay.instruct(TEXTS[0])
        if not self._until(self._running, START_S):
            raise RuntimeError(f'the node does not run within {START_S:.0f} s: {self._words()}')
        self._until(lambda: False, 3.0)

    def _faults(self, end_s):
        faults = schedule(self.random)
        while time.monotonic() < end_s:
            fault = next(faults)
            if fault.heavy and end_s - time.monotonic() < fault.recover_s / 2:
                continue
            self._until(lambda: False, self.random.uniform(*PAUSE_S))
            start_ns = self._fault_since_ns = time.time_ns()
            self._inject(fault)
            end_ns = time.time_ns()
            recovered = self._recovers(fault)
            self.phases.append(Phase(
                fault.kind, start_ns, end_ns,
                None if fault.rest_after_s is None else start_ns + round(fault.rest_after_s * 1e9),
                time.time_ns() if recovered else None))
            self._fault_since_ns = None
            took_s = (time.time_ns() - end_ns) / 1e9
            self.say(f'{len(self.phases):4d} {fault.kind:22} {(end_ns - start_ns) / 1e9:5.1f} s, '
                     + (f'running again after {took_s:.1f} s' if recovered else f'NOT RECOVERED: {self._words()}'))
            if not recovered:
                self.unrecovered.append(fault.kind)
                self._rescue()

    def _inject(self, fault):
        seconds = self.random.uniform(*fault.seconds)
        begin, end = INJECT.get(fault.kind, (None, None))
        self.relay.fault = fault.kind
        repeat = begin(self) if begin else None
        until_s, due_s = time.monotonic() + seconds, 0.0
        while time.monotonic() < until_s:
            if callable(repeat) and time.monotonic() >= due_s:
                due_s = time.monotonic() + 0.02
                repeat()
            self._spin()
        self.relay.fault = ''
        if end:
            end(self)

    def _recovers(self, fault):
        """
        Whether the node runs again within the time.

        Left alone, the arm may come to rest where the policy has never been, and the node refuses a plan that begins
        far from there. That takes a person, who brings the robot back to its start; it is counted.
        """
        if self._until(self._running, fault.recover_s):
            return True
        if self.status is None or FAR_START not in self.status.detail:
            return False
        self.say(f'bringing the robot back: {self.status.detail}')
        self.brought_back.append(fault.kind)
        self._change(Transition.TRANSITION_DEACTIVATE)
        self._call('robot')
        self._forget_status()
        self._change(Transition.TRANSITION_ACTIVATE)
        return self._until(self._running, fault.recover_s)

    def _rescue(self):
        """Bring the node back by hand, so that the rest of the run says something."""
        self.relay.press(False)
        self._call('resume')
        self.relay.instruct(TEXTS[0])
        if not self._until(self._running, 20.0):
            self.fleet.kill('node')
            self.fleet.restart('node')
            self._after_restart()
            self._until(self._running, START_S)

    def _running(self):
        """True where a status newer than a moment ago says so."""
        return self.status is not None and self.status.state == 'running' and time.monotonic() - self._status_s < 2.5

    def _words(self):
        said = f'{self.status.state}: {self.status.detail}' if self.status else 'no status'
        return f'{said}; {self.fleet.dead()}' if self.fleet.dead() else said

    def _on_status(self, message):
        self.status, self._status_s = message, time.monotonic()

    def _on_signal(self, number, frame):
        self._interrupted = True

    def _spin(self):
        if self._interrupted:
            raise Interrupted
        self.executor.spin_once(timeout_sec=0.005)
        self.relay.turn()

    def _until(self, condition, timeout_s):
        """Spin until a condition holds; False where it did not within the time."""
        end_s = time.monotonic() + timeout_s
        while time.monotonic() < end_s:
            self._spin()
            if condition():
                return True
        return False

    def _forget_status(self):
        self.status = None

    # --- acts of single faults

    def _call(self, name):
        client = self._services[name]
        if client.service_is_ready():
            future = client.call_async(Trigger.Request())
            self._until(future.done, 3.0)

    def _change(self, transition):
        if self._transition.service_is_ready():
            request = ChangeState.Request()
            request.transition.id = transition
            future = self._transition.call_async(request)
            self._until(future.done, 10.0)

    def _after_restart(self):
        """A new node knows no instruction: give it again when it listens."""
        self._forget_status()
        self._until(lambda: self.status is not None and self.status.state in ('waiting', 'running'), START_S)
        self._until(lambda: self.relay.connected, 10.0)
        self.relay.instruct(TEXTS[0])

    def _kill_subscriber(self):
        self.fleet.start('bystander', 'oxygen_ros.chaos.recorder', self.directory / 'bystander.npz')
        self._until(lambda: False, 1.5)
        self.fleet.kill('bystander')

    def _load(self):
        for i in range(2):
            self.fleet.start(f'load{i}', 'oxygen_ros.chaos.load')

    def _unload(self):
        for i in range(2):
            self.fleet.kill(f'load{i}')

    def _release(self):
        self.relay.press(False)
        self._until(lambda: False, 0.2)
        self._call('resume')


def _restarted(session):
    session.fleet.restart('node')
    session._after_restart()


# kind -> (act at the start, which may give what is to be repeated 50 times a second; act at the end)
INJECT = {
    'instruction_repeated': (lambda s: lambda: s.relay.instruct(TEXTS[0]), None),
    'instruction_changed': (lambda s: s.relay.instruct(s.random.choice(TEXTS[1:])),
                            lambda s: s.relay.instruct(TEXTS[0])),
    'instruction_empty': (lambda s: s.relay.instruct(' '), lambda s: s.relay.instruct(TEXTS[0])),
    'instruction_bytes': (lambda s: s.relay.instruct(b'put \xff\xfe the block'), None),
    'questions': (lambda s: lambda: s.relay.ask('what do you see?'), None),
    'emergency_stop': (lambda s: s.relay.press(True), Session._release),
    'stop_service': (lambda s: s._call('stop'), lambda s: s._call('resume')),
    'reset_service': (lambda s: s._call('reset'), None),
    'garbage': (lambda s: s.relay.pester, lambda s: (s._release(), s.relay.instruct(TEXTS[0]))),
    'node_paused': (lambda s: s.fleet.signal('node', signal.SIGSTOP), lambda s: s.fleet.signal('node', signal.SIGCONT)),
    'processor_load': (Session._load, Session._unload),
    'subscriber_killed': (Session._kill_subscriber, None),
    'deactivated': (lambda s: s._change(Transition.TRANSITION_DEACTIVATE),
                    lambda s: (s._forget_status(), s._change(Transition.TRANSITION_ACTIVATE))),
    'node_killed': (lambda s: s.fleet.kill('node'), _restarted),
    'robot_killed': (lambda s: s.fleet.kill('robot'), lambda s: s.fleet.restart('robot')),
}
