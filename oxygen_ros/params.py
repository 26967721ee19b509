"""The node's parameters: one table from which declaration, checks on set and the README's table are made."""
from dataclasses import dataclass, replace
import math

LIVE = 'live'            # applied at once, also while the robot moves
CONFIGURE = 'configure'  # may be set while unconfigured, read by configure
START = 'start'          # fixed when the process starts

# Python types that a value of each kind may have; an int is as good as a double, as people write `rate: 60`.
TYPES = {'bool': bool, 'int': int, 'double': (int, float), 'string': str}


@dataclass(frozen=True)
class Parameter:
    """One row of the table; `<view>`, `<task>` and `<joint>` in a name stand for each that there is."""

    name: str
    kind: str  # bool, int, double, string, or one of these with [] behind
    default: object
    description: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    change: str = CONFIGURE

    @property
    def allowed(self):
        """The range or the choices in words; empty when every value of the kind will do."""
        if self.choices:
            return ', '.join(self.choices)
        return '' if self.minimum is None else f'{self.minimum:g} to {self.maximum:g}'

    def check(self, value):
        """Return `value` as the kind's Python type, lists as tuples; ValueError with a sentence if it will not do."""
        if value is None and self.default is None:
            return None
        kind = self.kind.removesuffix('[]')
        if self.kind != kind:
            if isinstance(value, (str, bytes)) or not hasattr(value, '__iter__'):
                raise ValueError(f'parameter {self.name} must be a list of {kind} values, got {value!r}')
            # An empty list has no type in ROS 2, so a list of one empty string is how YAML says "none".
            return tuple(item for item in (self._check_one(kind, item) for item in value) if item != '')
        return self._check_one(kind, value)

    def _check_one(self, kind, value):
        if not isinstance(value, TYPES[kind]) or (kind != 'bool' and isinstance(value, bool)):
            raise ValueError(f'parameter {self.name} must be a {kind}, got {value!r}')
        if self.choices and value not in self.choices:
            raise ValueError(f'parameter {self.name} is {value!r}; it must be one of: {", ".join(self.choices)}')
        if self.minimum is not None and not self.minimum <= value <= self.maximum:
            raise ValueError(f'parameter {self.name} is {value}, outside {self.minimum:g} to {self.maximum:g}')
        if kind == 'double':
            if not math.isfinite(value):
                raise ValueError(f'parameter {self.name} is {value}, which is not a number to work with')
            value = float(value)
        return value


COMMAND_TYPES = ('float64_multi_array', 'joint_trajectory', 'joint_trajectory_chunk', 'joint_state')
P = Parameter
TABLE = (
    P('autostart', 'bool', False, 'Configure and activate without being asked; launch files do it by events instead.',
      change=START),
    P('control_rate_hz', 'double', 60.0, 'Rate of the joint commands.', 1, 200),
    P('command_type', 'string', 'float64_multi_array', 'Message of the joint commands.', choices=COMMAND_TYPES),
    P('outputs', 'string[]', ('all',), 'Names of the command topics: arms, grippers.', change=START),
    P('output.<output>.topic', 'string', 'joint_command', 'Topic of these commands.'),
    P('output.<output>.joints', 'string[]', ('',), 'Joints that go there, in this order; [""]: all.'),
    P('output.<output>.type', 'string', '', 'Message of these commands; empty: command_type.',
      choices=('', *COMMAND_TYPES)),
    P('output.<output>.controller', 'string', '', 'ros2_control controller to ask what it takes; empty: none.'),
    P('trajectory_points', 'int', 5, 'Points ahead in each joint_trajectory, one period apart.', 1, 100),
    P('dry_run', 'bool', False, 'Do everything except publishing joint commands.'),
    P('realtime_priority', 'int', 40, 'SCHED_FIFO priority of the control thread where permitted; 0: off.', 0, 90),
    P('switch_interval_s', 'double', 0.0005, 'Longest time that one Python thread keeps the others waiting.',
      0.00005, 0.01),

    P('profile', 'string', '', "The checkpoint's profile, a YAML file or a shipped name; empty: beside the weights."),
    P('checkpoint', 'string', '', 'Folder or file of the weights; nano: those of the package.'),
    P('tokenizer', 'string', '', 'Tokenizer file; empty: beside the weights, else the shipped one (nano, mini).'),
    P('random_weights', 'bool', False, 'Run without a checkpoint, on random weights: for timing, not for a task.'),
    P('device', 'string', 'cpu', 'Where torch runs: cpu, cuda, cuda:1 ...'),
    P('dtype', 'string', 'float32', 'Number format of the weights.', choices=('float32', 'bfloat16')),

    P('engine.fake', 'bool', False, 'No model: a frame is answered with the measured position, to check wiring.'),
    P('engine.mode', 'string', 'oxygen', 'oxygen shares and batches; shared and isolated are the baselines.',
      choices=('oxygen', 'shared', 'isolated')),
    P('engine.slots', 'int', 4, 'Language streams that can live at once.', 1, 64),
    P('engine.decode_rounds', 'int', 2, 'Decode rounds a frame; every live stream gets a token in each.', 1, 256),
    P('engine.ride', 'string', 'off', 'The first decode round rides in the prefill; auto: where it is measured to pay.',
      choices=('off', 'on', 'auto')),
    P('engine.draft_tokens', 'int', 0, 'Tokens of an earlier answer that are verified in one round; 0: none.', 0, 64),
    P('engine.deadline_s', 'double', 0.0, 'Aim for a chunk this often; language takes what is left. 0: rounds rule.',
      0, 10),
    P('engine.max_new_tokens', 'int', 64, 'Longest text that a slot can hold.', 1, 1024),
    P('engine.max_suffix_tokens', 'int', 64, 'Longest question, in tokens, that a slot can hold.', 0, 1024),
    P('engine.on_full', 'string', 'refuse', 'What a text meets when every slot is taken.',
      choices=('refuse', 'drop_oldest')),
    P('engine.eos', 'bool', True, 'Texts end where the model ends them; false: at their longest, for timing.'),
    P('engine.denoise_steps', 'int', 10, 'Euler steps from noise to actions.', 1, 100),
    P('engine.seed', 'int', 0, 'Seed of the action noise, with the frame number.', 0, 2**31 - 1),
    P('engine.threads', 'int', 0, 'Torch threads; 0: one less than there are cores.', 0, 256),

    P('views', 'string[]', ('base_0_rgb',), 'Camera slots of the model that this robot feeds.', change=START),
    P('image.<view>.topic', 'string', '', 'Topic of the camera for this view.'),
    P('image.<view>.transport', 'string', 'raw', 'raw: sensor_msgs/Image; compressed: CompressedImage.',
      choices=('raw', 'compressed')),
    P('max_frame_rate_hz', 'double', 0.0, 'Most frames a second; 0: one for each image that finds the engine free.',
      0, 1000, change=LIVE),
    P('image_max_age_s', 'double', 0.5, 'An older image starts no frame.', 0.01, 10, change=LIVE),
    P('joint_max_age_s', 'double', 0.5, 'An older joint position starts no frame.', 0.01, 10, change=LIVE),
    P('sync_tolerance_s', 'double', 0.1, 'Most that the images of one frame may lie apart.', 0.001, 10, change=LIVE),
    P('stamp_source', 'string', 'header', 'Time of an image or joint state: its header, or when it was received.',
      choices=('header', 'receive')),
    P('instruction_timeout_s', 'double', 0.0, 'Hold when the instruction was not repeated for so long; 0: never.',
      0, 86400, change=LIVE),
    P('heartbeat_timeout_s', 'double', 0.0, 'Stop when nothing came on heartbeat for so long; 0: not watched.',
      0, 3600, change=LIVE),

    P('control.blend_s', 'double', 0.15, 'Cross-fade from one chunk to the next.', 0, 2),
    P('control.ramp_s', 'double', 0.5, 'Cross-fade from the measured position after a start.', 0, 10),
    P('control.hold_s', 'double', 1.0, 'How long the last command is repeated without a valid chunk before silence.',
      0, 3600),
    P('control.max_chunk_age_s', 'double', 1.0, 'A chunk of an older observation is refused.', 0.01, 60),
    P('control.finish_old_chunk', 'bool', True, 'After a new instruction the old chunk runs until a new one comes.'),
    P('control.speed_factor', 'double', 1.0, 'Scales the limits of speed and acceleration, for bringing a robot up.',
      0.01, 1),
    P('rtc.enabled', 'bool', False, 'Real-time chunking: each chunk continues the one that is being executed.'),
    P('rtc.max_weight', 'double', 5.0, 'Greatest weight of that guidance.', 0.01, 100),
    P('rtc.schedule', 'string', 'exp', 'How it falls along the chunk.', choices=('exp', 'linear', 'ones', 'zeros')),
    P('rtc.horizon_s', 'double', 0.0, 'How far the old chunk is followed; 0: as far as it reaches.', 0, 60),
    P('rtc.jacobian', 'bool', True, "Guide through the expert's derivative, as published; false: as LeRobot does."),
    P('robot_description', 'string', '', 'Topic of the URDF (latched) whose limits hold too; empty: not asked.'),
    P('urdf_file', 'string', '', 'URDF whose joint limits hold besides those below, in place of the topic.'),
    P('limits.<joint>.lower', 'double', None, 'Lower end of the range [rad or m]; <joint> may be default.', -1e6, 1e6),
    P('limits.<joint>.upper', 'double', None, 'Upper end of the range [rad or m].', -1e6, 1e6),
    P('limits.<joint>.velocity', 'double', None, 'Greatest speed; 1.0 where nothing says so.', 0.0001, 1000),
    P('limits.<joint>.acceleration', 'double', None, 'Greatest acceleration; 5.0 where nothing says so.', 0.0001, 1e5),
    P('limits.<joint>.jump', 'double', None, 'Farthest from the command at which a chunk may begin; else 0.5.',
      0.0001, 1000),

    P('language.tasks', 'string[]', ('subtask',), 'Language tasks that run by themselves; [""]: none.', change=START),
    P('language.<task>.every_n_frames', 'int', 1, 'Ask for this text at each n-th frame.', 1, 10000, change=LIVE),
    P('language.<task>.max_tokens', 'int', 32, 'Longest text of this task.', 1, 512, change=LIVE),
    P('language.<task>.priority', 'int', 0, 'Higher goes first where time is short.', -100, 100, change=LIVE),
    P('language.<task>.within_s', 'double', 0.0, 'A text that takes longer is dropped; 0: never.', 0, 3600,
      change=LIVE),
    P('question.priority', 'int', 1, 'As above, for answers.', -100, 100, change=LIVE),
    P('question.max_tokens', 'int', 32, 'Longest answer to a question.', 1, 512, change=LIVE),
)
del P


PLACES = ('view', 'task', 'joint', 'output')


def rows(**names):
    """
    Rows of the table as {full name: Parameter}: `view=...`, `task=...`, `joint=...` fill in the placeholders.

    Rows with a placeholder that is not given are left out.
    """
    filled = {}
    for row in TABLE:
        place = next((word for word in PLACES if f'<{word}>' in row.name), None)
        for name in names.get(place, ()) if place else ('',):
            full = row.name.replace(f'<{place}>', name)
            filled[full] = replace(row, name=full)
    return filled


class Parameters:
    """
    Declares the table on a node and answers for its values.

    A wrong override does not end the process: the default is declared, the sentence is kept in `problems` and
    configure refuses until a right value has been set. `on_change(names)` is called after live values changed.
    """

    def __init__(self, node, on_change=lambda names: None):
        self._node = node
        self._on_change = on_change
        self.configured = False  # the node says so; CONFIGURE parameters are refused while it is
        self.problems = {}
        self._rows = {}
        first = {row.name: row for row in TABLE}
        for name in ('views', 'language.tasks', 'outputs'):
            self._declare(first[name])
        self._add(rows(view=self['views'], task=self['language.tasks'], output=self['outputs']))
        node.add_on_set_parameters_callback(self._validate)
        if hasattr(node, 'add_post_set_parameters_callback'):
            node.add_post_set_parameters_callback(self._changed)

    def __getitem__(self, name):
        row = self._rows.get(name) or next(row for row in TABLE if row.name == name)
        return row.check(self._node.get_parameter(name).value)

    def _add(self, more):
        for name, row in more.items():
            if not self._node.has_parameter(name):
                self._declare(row)
        self._rows.update(more)

    def limits(self, joints):
        """Declare the limits of `joints`, known once the profile is, and return the table of those that are set."""
        more = {name: row for name, row in rows(joint=('default', *joints)).items() if name.startswith('limits.')}
        self._add(more)
        unknown = [name for name in getattr(self._node, '_parameter_overrides', {})
                   if name.startswith('limits.') and name not in more]
        if unknown:
            raise ValueError(f'parameter {unknown[0]} is not known; the joints are {", ".join(joints)}')
        table = {}
        for name in more:
            if self[name] is not None:
                joint, quantity = name.removeprefix('limits.').rsplit('.', 1)
                table.setdefault(joint, {})[quantity] = self[name]
        return table

    def require(self):
        """Raise ValueError with what is wrong with values set from outside."""
        if self.problems:
            raise ValueError('; '.join(self.problems.values()))

    def unknown(self):
        """Names set from outside that are in no table, most likely misspelt."""
        overrides = getattr(self._node, '_parameter_overrides', {})
        return sorted(name for name in overrides
                      if not self._node.has_parameter(name) and not name.startswith(('qos_overrides.', 'limits.')))

    def _declare(self, row):
        from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
        descriptor = ParameterDescriptor(
            description=row.description, additional_constraints=', '.join(row.choices),
            read_only=row.change == START,
            # Typed by the check below instead, so that an int will do where a double is meant.
            dynamic_typing=row.kind in ('double', 'string[]') or row.default is None)
        if row.minimum is not None:
            if row.kind == 'int':
                descriptor.integer_range = [IntegerRange(from_value=row.minimum, to_value=row.maximum, step=1)]
            else:
                descriptor.floating_point_range = [
                    FloatingPointRange(from_value=float(row.minimum), to_value=float(row.maximum), step=0.0)]
        override = getattr(self._node, '_parameter_overrides', {}).get(row.name)
        default = list(row.default) if isinstance(row.default, tuple) else row.default
        try:
            if override is not None:
                row.check(override.value)
            self._node.declare_parameter(row.name, default, descriptor)
        except Exception as error:
            self.problems[row.name] = str(error) if isinstance(error, ValueError) else f'parameter {row.name}: {error}'
            self._node.declare_parameter(row.name, default, descriptor, ignore_override=True)

    def _validate(self, changes):
        from rcl_interfaces.msg import SetParametersResult
        for change in changes:
            row = self._rows.get(change.name)
            if row is None:
                continue
            try:
                row.check(change.value)
            except ValueError as error:
                return SetParametersResult(successful=False, reason=str(error))
            if row.change == CONFIGURE and self.configured:
                return SetParametersResult(successful=False, reason=(
                    f'parameter {change.name} is read by configure; deactivate and clean up the node, then set it'))
        return SetParametersResult(successful=True)

    def _changed(self, changes):
        names = {change.name for change in changes if change.name in self._rows}
        for name in names:
            self.problems.pop(name, None)
        if names:
            self._on_change(names)
