"""The simulated robot's ROS parameters: one table for declaration, checks, `--parameters` and the documentation."""
from dataclasses import dataclass

from oxygen_ros.sim.command import COMMAND_TYPES


@dataclass(frozen=True)
class Parameter:
    """One parameter; its type is that of the default."""

    name: str
    default: object
    description: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    live: bool = False  # may be set while the robot runs

    @property
    def type_name(self):
        """The ROS name of the type."""
        return {bool: 'bool', int: 'int', float: 'double', str: 'string', list: 'string[]'}[type(self.default)]

    @property
    def allowed(self):
        """Range or choices in words, or ''."""
        if self.choices:
            return ', '.join(self.choices)
        return '' if self.minimum is None else f'{self.minimum:g} to {self.maximum:g}'

    def checked(self, value):
        """The value as the parameter's type; ValueError with a sentence if it is another or out of range."""
        kind = type(self.default)
        if kind is float and type(value) is int:
            value = float(value)  # people write 30 for 30.0
        if kind is list and value is not None and not isinstance(value, (str, bytes)):
            value = list(value)
        if type(value) is not kind or (kind is list and not all(isinstance(item, str) for item in value)):
            raise ValueError(f'parameter {self.name} is {value!r}; its type must be {self.type_name}')
        if self.choices and value not in self.choices:
            raise ValueError(f"parameter {self.name} is '{value}'; it must be one of {self.allowed}")
        if self.minimum is not None and not self.minimum <= value <= self.maximum:
            raise ValueError(f'parameter {self.name} is {value:g}; it must be {self.allowed}')
        return value


TABLE = (
    Parameter('task', 'transfer_cube', 'What lies on the table: transfer_cube or blocks.'),
    Parameter('seed', 0, 'Where the objects lie; read at the start and by ~/reset.', 0, 2**31 - 1, live=True),
    Parameter('replay', '', 'Picture file or folder of pictures (`top_0001.png` is of camera top) to publish without '
                            'MuJoCo and EGL; the joints follow their command.'),
    Parameter('cameras', [''], "Cameras to publish, each as <camera>/image_raw; empty: the task's own choice."),
    Parameter('camera_rate_hz', 30.0, 'Pictures a second of each camera.', 0.1, 120),
    Parameter('camera_width', 640, 'Width of the pictures in pixels.', 16, 1920),
    Parameter('camera_height', 480, 'Height of the pictures in pixels.', 16, 1920),
    Parameter('shadows', False, 'Draw shadows and smooth edges; a picture then takes about three times as long.'),
    Parameter('joint_state_rate_hz', 100.0, 'Messages a second on joint_states.', 1, 500),
    Parameter('command_type', 'float64_multi_array', 'Message that joint_command carries.', choices=COMMAND_TYPES),
    Parameter('publish_clock', False, 'Run in simulated time and publish it on /clock; use_sim_time does the same.'),
    Parameter('clock_rate_hz', 200.0, 'Messages a second of simulated time on /clock.', 10, 500),
    Parameter('real_time_factor', 1.0, 'Simulated seconds in a second, in simulated time; 0: as fast as it goes.',
              0, 100),
    Parameter('lockstep', False, 'Wait for one joint_command in every control period; implies simulated time.'),
    Parameter('control_rate_hz', 50.0, 'Control periods a second for lockstep.', 1, 200),
    Parameter('lockstep_timeout_s', 1.0, 'Seconds that lockstep waits for a command before it holds the last one.',
              0.01, 3600),
)


def declare(node):
    """Declare the table on a node and give {name: value}; ValueError names the first value that will not do."""
    from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
    values = {}
    for row in TABLE:
        descriptor = ParameterDescriptor(
            description=row.description, additional_constraints=', '.join(row.choices), read_only=not row.live,
            dynamic_typing=True)  # the type is checked here, so that an int will do where a double is meant
        if row.minimum is not None and row.type_name == 'int':
            descriptor.integer_range = [IntegerRange(from_value=row.minimum, to_value=row.maximum, step=1)]
        elif row.minimum is not None:
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=float(row.minimum), to_value=float(row.maximum), step=0.0)]
        override = node._parameter_overrides.get(row.name)
        if override is not None:
            row.checked(override.value)  # before rclpy does, whose sentence lacks the range
        values[row.name] = row.checked(node.declare_parameter(row.name, row.default, descriptor).value)
    return values


def check_changes(changes):
    """For `add_on_set_parameters_callback`: the sentence that refuses the changes, or ''."""
    rows = {row.name: row for row in TABLE}
    for change in changes:
        try:
            if change.name in rows:
                rows[change.name].checked(change.value)
        except ValueError as error:
            return str(error)
    return ''
