"""The lifecycle node: from configure to cleanup, services, status."""
import gc
import time

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from std_srvs.srv import Trigger

from oxygen_ros import diagnostics, incompatible, qos
from oxygen_ros.configure import apply_live, configure
from oxygen_ros.control.stops import Stops
from oxygen_ros.listener import Listener, decode, sentence
from oxygen_ros.msg import EngineStatus
from oxygen_ros.params import Parameters
from oxygen_ros.speaker import Speaker
from oxygen_ros.stop_listener import StopListener
from oxygen_ros.timeline import Timeline
from oxygen_ros.worker import EngineThread

HOUSEKEEPING_S = 0.1
FULL_COLLECTION_S = 60
CLOCK_LOG_S = 10.0  # two publishers of /clock make time step at each of their messages
BRAKE_SLACK_S = 0.5  # more than the limits say that braking takes, before commands end


class OxygenNode(LifecycleNode):
    """
    Runs the engine on what the robot sees and commands the joints.

    Every callback costs microseconds: pictures are decoded and the model runs in the engine's thread, joints are
    commanded by the control loop's. `interrupted()` is asked while a transition takes long.
    """

    def __init__(self, interrupted=lambda: False, **arguments):
        super().__init__('oxygen', **arguments)
        self.problem = ''  # why the last transition failed
        self.finished = False  # shut down for good
        self._interrupted = interrupted
        self._parts = None  # from configure to cleanup
        self._speaker = None
        self._listener = None  # from activate to deactivate
        self._tick_timer = None
        self._reported = None
        self._counted = {}
        self._seconds = 0
        self._warned = set()  # inputs whose clock the log was told about
        self.parameters = Parameters(self, self._parameters_changed)
        self.stops = Stops(self._stopped)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._status = self.create_publisher(EngineStatus, '~/status', qos.status())
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', qos.diagnostics())
        for name, serve in (('stop', self._serve_stop), ('resume', self._serve_resume), ('reset', self._serve_reset)):
            self.create_service(Trigger, f'~/{name}', serve)
        self.stop_listener = StopListener(self, self.stops)
        self.create_timer(HOUSEKEEPING_S, self._keep_house, clock=self._steady)
        self.create_timer(1.0, self._each_second, clock=self._steady)
        unknown = self.parameters.unknown()
        if unknown:
            self.get_logger().warning(f'parameters that mean nothing here, are they misspelt? {", ".join(unknown)}')

    @property
    def active(self):
        return self._listener is not None

    @property
    def parts(self):
        """What configure made, None before that."""
        return self._parts

    @property
    def listener(self):
        """The inputs' subscriptions, None while the node is not active."""
        return self._listener

    def start(self):
        """Configure and activate; return why that failed, or ''."""
        for trigger in (self.trigger_configure, self.trigger_activate):
            if trigger() is not TransitionCallbackReturn.SUCCESS:
                return self.problem or 'the transition failed'
        return ''

    def end(self):
        """Hold, and let go of everything, whatever the state; for the end of the process."""
        if not self.finished:
            self.trigger_shutdown()

    # --- lifecycle

    def on_configure(self, state):
        """Check everything, load the model and warm it up; nothing is subscribed before that has succeeded."""
        timeline = Timeline(lambda: self.get_clock().now().nanoseconds, time.monotonic_ns,
                            self.get_parameter('use_sim_time').value)
        worker = EngineThread()
        try:
            transports = {view: self.parameters[f'image.{view}.transport'] for view in self.parameters['views']}
            self._parts = configure(
                self.parameters, timeline, worker, self._wait, self,
                lambda view, data: decode(transports, view, data), self.stops)
            self._speaker = Speaker(self, self._parts, self.parameters['trajectory_points'])
        except Exception as error:  # whatever a library raises, the node stays up and can be configured again
            if self._parts is None:
                worker.close(0.0)
            self._clean_up()
            return self._refuse('configure', sentence(error))
        parts, speaker = self._parts, self._speaker
        parts.runner.sinks, parts.loop.publish = speaker, speaker.command
        # In the engine's thread: the arm holds from the next tick on, housekeeping tells the rest.
        worker.on_failure = lambda error: parts.loop.post('stop', f'the engine failed: {sentence(error)}')
        parts.loop.on_failure = lambda: self._hold(parts)
        self.parameters.configured = True
        gc.collect()
        gc.freeze()  # what was loaded stays, so the collector need not look at it
        gc.disable()  # else it may run in a tick; see _collect
        return self._done()

    def on_activate(self, state):
        """Listen, and command from the first chunk on."""
        if self._parts.failure():
            return self._refuse('activate', self._parts.failure())
        try:
            self._activate(self._parts)
        except Exception as error:  # a QoS override that is none, for instance
            self._hold_and_end('activation failed')
            return self._refuse('activate', sentence(error))
        return self._done()

    def _activate(self, parts):
        now_ns = parts.timeline.now_ns()
        parts.follow_step(parts.timeline.stepped())
        parts.clear_inputs()
        parts.loop.apply()
        parts.loop.controller.activate(now_ns)
        instruction = parts.inputs.instruction
        if instruction.instruction_id:
            parts.loop.post('instruction', instruction.instruction_id, instruction.text, now_ns)
        self.stop_listener.look()
        self.stops.begin(time.monotonic_ns())
        self._listener = Listener(self, self.parameters, parts)
        parts.worker.start(parts.runner.step)
        if parts.timeline.simulated:
            # Simulated time moves by messages that the executor receives, so the tick lives there too.
            self._tick_timer = self.create_timer(parts.loop.period_s, self._simulated_tick)
        else:
            parts.loop.start()

    def on_deactivate(self, state):
        self._hold_and_end('the node was deactivated')
        return self._done()

    def on_cleanup(self, state):
        self._clean_up()
        return self._done()

    def on_shutdown(self, state):
        self._hold_and_end('the node is shutting down')
        self._clean_up()
        self.finished = True
        return self._done()

    def on_error(self, state):
        """Answer to an exception in a transition: hold, let go of everything, be unconfigured."""
        self._hold_and_end('a transition failed')
        self._clean_up()
        return self._done()

    def _done(self):
        self.problem = ''
        self._report()
        return TransitionCallbackReturn.SUCCESS

    def _refuse(self, transition, problem):
        """Say why a transition fails; it can be tried again."""
        self.problem = problem
        self.get_logger().error(f'{transition} failed: {problem}')
        self._report()
        return TransitionCallbackReturn.FAILURE

    def _wait(self, future):
        """Wait for the engine thread, though not through a Ctrl-C."""
        while not future.done():
            if self._interrupted():
                raise RuntimeError('interrupted while the model was loading')
            time.sleep(0.02)
        return future.result()

    def _hold_and_end(self, reason):
        """Brake, say the last command, then stop ticking, listening and thinking."""
        parts, listener = self._parts, self._listener
        self._listener = None
        if listener is None:
            return
        loop = parts.loop
        loop.post('stop', reason)
        loop.come_to_rest(loop.controller.limits.braking_s + BRAKE_SLACK_S)
        if self._tick_timer is not None:
            self.destroy_timer(self._tick_timer)
            self._tick_timer = None
        loop.apply()
        self._hold(parts)
        loop.controller.deactivate()
        listener.close()
        parts.worker.pause()
        parts.worker.call(parts.runner.end)

    def _hold(self, parts):
        """Say the last command there will be, after which nothing moves: a velocity would go on without it."""
        hold = parts.loop.controller.hold_command()
        if hold is not None:
            self._speaker.hold(hold)

    def _clean_up(self):
        parts, speaker = self._parts, self._speaker
        self._parts = self._speaker = None
        self.parameters.configured = False
        if parts is None:
            return
        parts.worker.call(parts.engine.close)
        if not parts.worker.close():
            self.get_logger().warning('the engine thread does not end; it is left behind')
        if speaker is not None:
            speaker.close()
        gc.unfreeze()
        gc.enable()

    def _simulated_tick(self):
        if self._parts.timeline.started:
            self._parts.loop.step()

    # --- stop, resume, reset

    def _stopped(self, reason):
        self.get_logger().warning(f'stopped: {reason}; call ~/resume to go on')
        self._report()

    def _serve_stop(self, request, response):
        self.stops.stop('stopped by service')
        response.success = True
        response.message = 'stopped' if self.active else 'stopped, and so it will be when the node is activated'
        return response

    def _serve_resume(self, request, response):
        response.message = self._why_not_resume()
        response.success = not response.message
        if response.success:
            response.message = 'resumed' if self.stops.reason else 'it was not stopped'
            if self.stops.reason:
                self.stops.resume()
                self._parts.loop.post('resume', self._parts.timeline.now_ns())
                self.get_logger().info('resumed')
                self._report()
        return response

    def _why_not_resume(self):
        if not self.active:
            return 'the node is not active'
        return self.stops.refusal(time.monotonic_ns()) or self._parts.failure()

    def _serve_reset(self, request, response):
        response.success = self.active and not self.stops.reason
        if response.success:
            self._parts.reset(self._parts.timeline.now_ns())
            response.message = 'inputs, chunks and texts are forgotten'
        else:
            response.message = 'stopped; call ~/resume instead' if self.active else 'the node is not active'
        return response

    # --- housekeeping

    def _parameters_changed(self, names):
        if self._parts is not None:
            apply_live(self.parameters, self._parts)

    def _keep_house(self):
        self.stop_listener.look()
        if self.active:
            parts = self._parts
            self.stops.watch(time.monotonic_ns())
            step_s = parts.timeline.stepped()
            if step_s:
                parts.clock_steps += 1
                self.get_logger().warning(
                    f'the clock stepped by {step_s:.3f} s, for the {parts.clock_steps}. time since configure; starting '
                    'again from fresh inputs', throttle_duration_sec=CLOCK_LOG_S,
                    throttle_time_source_type=self._steady)
                parts.follow_step(step_s)
                parts.reset(parts.timeline.now_ns())
            self._speaker.log_refusal()
        if self._state() != self._reported:
            self._report_status()

    def _state(self):
        if self.active:
            return self._parts.state(self._parts.timeline.now_ns())
        stopped = self.stops.reason and f'stopped: {self.stops.reason}; ~/resume goes on, once active'
        return ('inactive' if self._parts else 'unconfigured', '; '.join(filter(None, (self.problem, stopped))))

    def _report_status(self):
        state, detail = self._state()
        if self._reported is None or state != self._reported[0]:
            if state == 'error':
                self.get_logger().error(detail)
            else:
                self.get_logger().info(f'{state}: {detail}' if detail else state)
        self._reported = (state, detail)
        self._status.publish(diagnostics.engine_status(
            self.get_clock().now().nanoseconds, state, detail, self._parts))

    def _collect(self):
        """Collect garbage here and not in a tick: what is young each second, the rest each minute."""
        if self._parts is not None:
            self._seconds += 1
            begun_ns = time.monotonic_ns()
            gc.collect(2 if self._seconds % FULL_COLLECTION_S == 0 else 1)
            self._parts.collections.add(time.monotonic_ns() - begun_ns)

    def _warn_of_inputs(self):
        """Log an input that is not dated by its stamps, once until it is; drop QoS complaints that are over."""
        incompatible.forget_solved(self, self._parts)
        for stream in self._parts.inputs.streams():
            warning = stream.clock_warning()
            if warning and stream.name not in self._warned:
                self.get_logger().warning(warning)
            (self._warned.add if warning else self._warned.discard)(stream.name)

    def _each_second(self):
        self._collect()
        if self.active:
            self._warn_of_inputs()
        self._report()

    def _report(self):
        self._report_status()
        rates, now_s = {}, time.monotonic()
        for stream in self._parts.inputs.streams() if self._parts else ():
            count, since_s = self._counted.get(stream.name, (stream.received, 0.0))
            if now_s - since_s > 0.5:
                rates[stream.name] = (stream.received - count) / (now_s - since_s)
                self._counted[stream.name] = (stream.received, now_s)
        self._diagnostics.publish(diagnostics.diagnostic_array(
            self.get_clock().now().nanoseconds, self.get_fully_qualified_name(), *self._reported, self._parts, rates))
