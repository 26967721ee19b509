"""From parameters to a configured node; every check that can fail does so here, with one sentence."""
import math
import sys

from oxygen_ros import build
from oxygen_ros.configured import Configured
from oxygen_ros.control.config import ControlConfig
from oxygen_ros.control.controller import Controller
from oxygen_ros.control.limits import JointLimits, urdf_limits
from oxygen_ros.control.stops import Stops
from oxygen_ros.control_loop import ControlLoop
from oxygen_ros.convert import commands
from oxygen_ros.convert.joints import JointMerger
from oxygen_ros.engine.chunk import ActionKind
from oxygen_ros.engine.request import LanguageRequest
from oxygen_ros.frames import FrameRunner, Limits, Task
from oxygen_ros.inputs import Inputs, JointStream, Stream
from oxygen_ros.profile.prompt import suffix_text
from oxygen_ros.profile.units import check_units

MAX_URDF_BYTES = 1 << 24
JOINT_COMMAND = 'joint_command'
CONTROL = ('blend_s', 'ramp_s', 'hold_s', 'max_chunk_age_s', 'finish_old_chunk')


def configure(params, timeline, worker, wait, node, decode, stops=None):
    """
    Build everything; raises ValueError, OSError or RuntimeError with a sentence and leaves nothing behind but `worker`.

    `wait(future)` waits for the engine thread `worker`. `node` names topics and asks other nodes. `decode(view, data)`
    turns a serialised picture into RGB. `stops` says why the arm must stand still, None for never. Who listens to the
    runner and the loop is the caller's to say.
    """
    params.require()
    settings = build.EngineSettings.read(params)
    profile = build.load_profile(settings)
    check_views(params, profile)
    outputs = command_outputs(params, profile, node)
    tasks = language_tasks(params, profile)
    control = controller(params, profile, node)
    sys.setswitchinterval(params['switch_interval_s'])
    engine = wait(worker.call(lambda: build.build_engine(settings, profile, lambda: control.plan)))

    source = params['stamp_source']
    merger = JointMerger(profile.joints, stamp_source=source)
    inputs = Inputs(
        {view: Stream(view, node.resolve_topic_name(params[f'image.{view}.topic']), source)
         for view in params['views']},
        JointStream('joint_states', node.resolve_topic_name('joint_states'), merger))
    runner = FrameRunner(engine, inputs, timeline, decode, tasks, limits(params), question(params, profile))
    stops = stops or Stops()
    stops.heartbeat.set(params['heartbeat_timeout_s'])
    loop = ControlLoop(control, timeline, params['control_rate_hz'], params['realtime_priority'], stops)
    return Configured(
        'fake' if settings.fake else profile.model, settings.mode, params['dry_run'], profile, engine, timeline, worker,
        inputs, merger, runner, loop, outputs, stops)


def check_views(params, profile):
    """Compare the cameras of the robot with those of the checkpoint, by name (strands-labs/robots#517)."""
    views = params['views']
    missing = [view for view in profile.required_views if view not in views]
    extra = [view for view in views if view not in profile.views]
    if missing or extra or not views:
        raise ValueError(f'parameter views is {list(views)}, but profile {profile.name} wants {list(profile.views)}'
                         f'{f"; missing: {missing}" if missing else ""}{f"; not in it: {extra}" if extra else ""}')
    for view in views:
        if not params[f'image.{view}.topic']:
            raise ValueError(f'parameter image.{view}.topic is empty; name the topic of the camera for this view')


def command_outputs(params, profile, node):
    """Which joints go to which topic, checked against the action kind and the controllers that can be asked."""
    table, names, deltas = [], [], profile.action_kind is ActionKind.EEF_DELTA
    for name in params['outputs']:
        topic, command_type = params[f'output.{name}.topic'], params[f'output.{name}.type'] or params['command_type']
        if deltas and topic == JOINT_COMMAND:
            continue  # a joint must not get what is meant for an end effector; that leaves with the chunks
        commands.check_kind(command_type, profile.action_kind)
        table.append((topic, command_type, params[f'output.{name}.joints']))
        names.append(name)
    if deltas and not table:
        return ()
    outputs = commands.outputs(profile.actions, table)
    topics = [output.topic for output in outputs]
    if len(set(topics)) < len(topics):
        raise ValueError(f'each output needs a topic of its own, got {topics}')
    for name, output in zip(names, outputs):
        asked = params[f'output.{name}.controller']
        if not asked:
            continue
        told = ask_controller(node, asked)
        commands.check_interface(output, profile.action_kind, told['interface_name'] or told['command_interfaces'],
                                 asked)
        if told['joints']:
            commands.check_controller(output, told['joints'], asked)
        else:
            node.get_logger().warning(f'controller {asked} did not tell its joints; they are not checked')
    return outputs


def ask_controller(node, name):
    """What a ros2_control controller says of itself."""
    from oxygen_ros import ask  # rclpy, which an evaluation without ROS does not need
    return ask.controller(node, name)


def controller(params, profile, node):
    """Build the Controller with the limits of the table and the URDF, the narrower of the two."""
    table = params.limits(profile.actions)
    params.require()
    urdf = None
    config = ControlConfig(params['control_rate_hz'], **{name: params[f'control.{name}'] for name in CONTROL})
    if profile.action_kind is ActionKind.EEF_DELTA:  # a delta has a speed, but no range and no URDF
        table['default'] = {'lower': -math.inf, 'upper': math.inf, **table.get('default', {})}
        joint_limits = JointLimits.from_table(profile.actions, table).slowed(params['control.speed_factor'])
        return Controller(config, profile.actions, joint_limits, profile.action_kind)
    if params['urdf_file']:
        with open(params['urdf_file'], 'rb') as file:
            urdf = urdf_limits(file.read(MAX_URDF_BYTES + 1), profile.joints)
    elif params['robot_description']:
        from oxygen_ros.ask import robot_description  # rclpy, which an evaluation without ROS does not need
        urdf = urdf_limits(robot_description(node, params['robot_description']), profile.joints)
    joint_limits = JointLimits.from_table(profile.joints, table, urdf).slowed(params['control.speed_factor'])
    check_units(profile, joint_limits.lower, joint_limits.upper)
    return Controller(config, profile.joints, joint_limits, profile.action_kind)


def language_tasks(params, profile):
    suffixes = dict(profile.language_suffix)
    unknown = [name for name in params['language.tasks'] if name not in suffixes]
    if unknown:
        raise ValueError(f'parameter language.tasks names {unknown}, but profile {profile.name} has '
                         f'{sorted(suffixes)}')
    return tuple(
        Task(name, suffixes[name], *(params[f'language.{name}.{setting}'] for setting in (
            'every_n_frames', 'max_tokens', 'priority', 'within_s')))
        for name in params['language.tasks'])


def question(params, profile):
    """A function text -> LanguageRequest, or None where the checkpoint cannot answer questions."""
    suffixes = dict(profile.language_suffix)
    template = suffixes.get('question', suffixes.get('answer'))
    if template is None:
        return None
    most, priority = params['question.max_tokens'], params['question.priority']
    return lambda text: LanguageRequest('question', suffix_text(template, text), most, priority)


def limits(params):
    return Limits(*(params[name] for name in Limits.__dataclass_fields__))


def apply_live(params, parts):
    """Take over what may change while the robot moves; each setting is replaced in one assignment."""
    parts.runner.limits = limits(params)
    parts.runner.tasks = language_tasks(params, parts.profile)
    parts.runner.question = question(params, parts.profile)
    parts.stops.heartbeat.set(params['heartbeat_timeout_s'])
