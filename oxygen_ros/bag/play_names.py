"""Which recorded topics are played, and under which name: what could move a robot is kept aside."""
from dataclasses import dataclass
import re

ASIDE = '/recorded'  # prefix of what is kept from a live robot and a live node
COMMAND_TYPES = ('std_msgs/msg/Float64MultiArray', 'trajectory_msgs/msg/JointTrajectory', 'geometry_msgs/msg/Twist',
                 'geometry_msgs/msg/TwistStamped', 'control_msgs/msg/JointJog')
COMMAND_NAME = re.compile(r'command|cmd', re.IGNORECASE)
STATE_TYPES = ('oxygen_ros/msg/ActionChunk', 'oxygen_ros/msg/EngineStatus', 'oxygen_ros/msg/LanguageToken')


@dataclass(frozen=True)
class PlayOptions:
    """
    `rate` bag seconds a second; `start_s` from the bag's first message; `clock_hz` of /clock, 0 for none.

    `topics` picks by name, None is all. `remap` maps a recorded name to another. `aside` keeps commands and the
    recorded node's own outputs under /recorded.
    """

    rate: float = 1.0
    loop: bool = False
    start_s: float = 0.0
    clock_hz: float = 0.0
    topics: tuple[str, ...] | None = None
    remap: tuple[tuple[str, str], ...] = ()
    aside: bool = True

    def __post_init__(self):
        for name in ('rate', 'start_s', 'clock_hz'):
            value = getattr(self, name)
            if not 0 <= value < 1e6 or (name == 'rate' and not value):
                raise ValueError(f'{name} must be a positive number, got {value}')


def is_command(name, type_name):
    """Tell whether a topic could move a robot: by its type, or by its last name part (`joint_command`, `cmd_vel`)."""
    return type_name in COMMAND_TYPES or bool(COMMAND_NAME.search(name.rpartition('/')[2]))


def output_namespaces(topics):
    """Private namespaces of the oxygen nodes that were recorded: where their own message types were published."""
    names = [topic.name for topic in topics.values() if topic.type in STATE_TYPES]
    return {'/' + '/'.join(name.strip('/').split('/')[:-1]).removesuffix('/language') + '/' for name in names}


def names_to_play(topics, options):
    """Recorded name -> name to publish under, for the topics that are played (`topics`: name -> read.Topic)."""
    remap, outputs, played = dict(options.remap), output_namespaces(topics), {}
    for name in options.topics or ():
        if name not in topics:
            raise ValueError(f'the bag has no topic {name}; it has: {", ".join(sorted(topics))}')
    for name in remap:
        if name not in topics:
            raise ValueError(f'the bag has no topic {name} to remap; it has: {", ".join(sorted(topics))}')
    for name, topic in sorted(topics.items()):
        if options.topics is not None and name not in options.topics:
            continue
        if name == '/clock' and options.clock_hz:
            continue  # two clocks would send time back and forth
        aside = options.aside and (is_command(name, topic.type) or any(name.startswith(o) for o in outputs))
        played[name] = remap.get(name) or (ASIDE + name if aside else name)
    return played
