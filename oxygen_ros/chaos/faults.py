"""What can go wrong, how long it lasts, and what the node promises about it."""
from dataclasses import dataclass

# Until the arm rests: the oldest image that starts a frame, the rest of a chunk, braking, and slack for a busy machine.
STARVED_S = 2.5


@dataclass(frozen=True)
class Fault:
    """
    One kind of fault.

    `rest_after_s`: so long after its start the arm must be at rest, until the fault ends; None where the arm goes on.
    `recover_s`: so long after its end the node must be running again. `heavy` faults restart processes.
    """

    kind: str
    what: str
    promise: str
    seconds: tuple[float, float] = (1.0, 3.0)
    rest_after_s: float | None = None
    recover_s: float = 10.0
    heavy: bool = False


def _starving(kind, what, promise, seconds=(3.0, 5.0)):
    return Fault(kind, what, promise, seconds, STARVED_S)


GOES_ON = 'Goes on.'
HOLDS = 'Finishes the chunk, holds, falls silent; goes on by itself when good input returns.'
REFUSED = 'Refused with a sentence and counted; then as without input.'

FAULTS = (
    _starving('camera_silent', 'the camera is unplugged', HOLDS),
    _starving('camera_frozen', 'the camera repeats its last picture, stamp included', 'Counts as silence.'),
    _starving('camera_old_stamp', 'the stamps of the camera lag by two seconds', 'Counts as late: the picture is old.'),
    _starving('camera_broken', 'no picture of the camera can be decoded', REFUSED),
    Fault('camera_half_broken', 'every second picture cannot be decoded', 'Refused with a sentence; goes on.'),
    Fault('camera_zero_stamp', 'the camera does not stamp', 'The time of arrival counts; goes on.'),
    Fault('camera_future_stamp', 'the stamps of the camera are ten seconds ahead', 'The time of arrival counts.'),
    Fault('camera_slow', 'three of four pictures are lost', GOES_ON),
    Fault('camera_late', 'pictures come 0.2 s late', 'Chunks are entered where they belong by time; goes on.'),
    _starving('joints_silent', 'joint states stop', HOLDS),
    _starving('joints_nan', 'one joint is not a number', REFUSED),
    _starving('joints_partial', 'the gripper is missing from every joint state', 'The missing joint is named; holds.'),
    _starving('joints_broken', 'names and positions differ in number', REFUSED),
    Fault('joints_shuffled', 'joint names come in another order each time', 'Taken by name; goes on.'),
    Fault('joints_split', 'each joint state comes in two messages', 'Merged by name; goes on.'),
    Fault('joints_foreign', 'another publisher sends joints of its own, not numbers among them', GOES_ON),
    Fault('joints_jump', 'one encoder is off by 0.2 rad', 'Commands stay within speed and acceleration; goes on.'),
    Fault('instruction_repeated', 'the same instruction comes 50 times a second', 'No change; texts finish; goes on.'),
    Fault('instruction_changed', 'another instruction comes in mid-motion',
          'Old texts end with a marker, the old chunk runs until the first new one; goes on.'),
    Fault('instruction_empty', 'the instruction is empty', 'Holds; goes on with the next instruction.', (1.5, 3.0),
          1.0),
    Fault('instruction_bytes', 'the instruction is no UTF-8', 'Refused with a sentence; goes on.'),
    Fault('questions', 'fifty questions a second', 'Refused beyond the queue; actions do not wait; goes on.'),
    Fault('emergency_stop', 'the emergency stop is pressed', 'Brakes, holds; moves only after release and ~/resume.',
          (1.5, 4.0), 0.7),
    Fault('stop_service', '~/stop is called', 'Brakes, holds; moves only after ~/resume.', (1.5, 4.0), 0.7),
    Fault('reset_service', '~/reset is called', 'Forgets chunks and texts; goes on from fresh input.', (0.1, 0.2)),
    Fault('garbage', 'random and mutated bytes on every input', 'Refused and counted; nothing ends.'),
    Fault('node_paused', 'the process of the node stands still for a while',
          'Steps stay bounded after the pause; goes on.', (0.1, 1.5)),
    Fault('processor_load', 'other processes take the processor', 'Late at worst; goes on.', (2.0, 4.0)),
    Fault('subscriber_killed', 'a subscriber of the commands is killed', GOES_ON, (0.5, 1.0)),
    Fault('deactivated', 'the node is deactivated and activated again', 'Brakes, holds, ends; starts at the measured '
          'position.', (1.5, 3.0), 0.9),
    Fault('node_killed', 'the node is killed and started again',
          'Nothing until it is back: a position controller keeps the last command, a velocity controller the last '
          'speed, so use the command timeout of the controller. Then starts at the measured position, ramped.',
          (0.5, 1.0), 0.3, 90.0, True),
    Fault('robot_killed', 'the robot is killed and started again',
          'As without input; starts where the robot then stands.', (3.0, 4.0), STARVED_S, 60.0, True),
)
KINDS = {fault.kind: fault for fault in FAULTS}


def schedule(random):
    """
    Endless sequence of faults: each kind once a round, in an order of its own; heavy ones in every third round.

    `random` is a random.Random; the sequence follows from its seed.
    """
    turn = 0
    while True:
        bag = [fault for fault in FAULTS if not fault.heavy or turn % 3 == 2]
        random.shuffle(bag)
        yield from bag
        turn += 1


def markdown():
    """The fault table of the README."""
    lines = ['| fault | what happens | what the node does |', '|---|---|---|']
    return '\n'.join(lines + [f'| `{f.kind}` | {f.what} | {f.promise} |' for f in FAULTS])
