"""What the node knows about itself, as EngineStatus and as /diagnostics."""
import math
import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from oxygen_ros.heard import Heard
from oxygen_ros.messages import time_of
from oxygen_ros.msg import EngineStatus

ENGINE_COUNTERS = ('frames', 'prefills', 'chunks', 'tokens', 'streams_started', 'streams_finished', 'streams_refused',
                   'live_streams', 'max_live_streams', 'slots_used', 'slots_total', 'blocks_used', 'blocks_total',
                   'pool_bytes')
# Only on /diagnostics; a fake engine has none of them.
WORK_COUNTERS = ('decode_rounds', 'rows', 'drafted', 'accepted', 'late_chunks', 'streams_dropped', 'captures',
                 'eager_runs')
STAGES = ('vision_ms', 'prefill_ms', 'denoise_ms', 'decode_ms', 'frame_ms', 'chunk_ready_ms')
PROMPT_COUNTERS = ('state_out_of_range', 'dropped_characters')
CONTROL_COUNTERS = ('ticks_fresh', 'ticks_held', 'ticks_silent', 'clamps', 'chunks_rejected')
MORE_CONTROL_COUNTERS = ('chunks_taken', 'stops', 'clock_jumps')  # besides those that ~/status has
LEVELS = {'running': DiagnosticStatus.OK, 'inactive': DiagnosticStatus.OK, 'unconfigured': DiagnosticStatus.OK,
          'holding': DiagnosticStatus.WARN, 'waiting': DiagnosticStatus.WARN, 'stopped': DiagnosticStatus.ERROR,
          'error': DiagnosticStatus.ERROR}


def engine_status(now_ns, state, detail, active):
    """EngineStatus of the moment; `active` is None outside configure ... cleanup, when there are no counters."""
    message = EngineStatus(state=state, detail=detail)
    message.header.stamp = time_of(now_ns)
    if active is None:
        return message
    message.model, message.mode = active.model, active.mode
    message.instruction_id = active.inputs.instruction.instruction_id
    for name in ENGINE_COUNTERS:
        setattr(message, name, int(getattr(active.runner.counters, name)))
    for name in CONTROL_COUNTERS:
        setattr(message, name, int(getattr(active.loop.controller.counters, name)))
    report = active.runner.report
    for name in STAGES:
        setattr(message, name, float(getattr(report, name, 0.0)))
    message.ticks, message.ticks_lost = active.loop.ticks, active.loop.lost
    message.images_received = sum(stream.received for stream in active.inputs.views.values())
    message.inputs_refused = active.inputs_refused()
    age_ms = active.loop.last.chunk_age_ms if active.loop.last else 0.0
    message.chunk_age_ms = float(age_ms) if math.isfinite(age_ms) else 0.0  # no chunk behind a held command
    return message


def diagnostic_array(now_ns, name, state, detail, active, rates):
    """DiagnosticArray of the moment; `rates` maps an input's name to its receive rate [Hz]."""
    message = DiagnosticArray()
    message.header.stamp = time_of(now_ns)

    def add(part, level, text, values=()):
        message.status.append(DiagnosticStatus(
            name=f'{name}: {part}', hardware_id=active.model if active else '', level=level, message=text,
            values=[KeyValue(key=key, value=str(value)) for key, value in values]))

    broken = active.broken() if active else ''
    level = LEVELS.get(state, DiagnosticStatus.WARN)
    if broken and level != DiagnosticStatus.OK:
        level = DiagnosticStatus.ERROR
    add('state', level, f'{state}: {detail}' if detail else state,
        () if active is None else (('messages_refused', active.messages_refused), ('clock_steps', active.clock_steps)))
    if active is None:
        return message
    for status in (*_streams(now_ns, active, rates), *_topics(now_ns, active)):
        add(*status)
    counters, report = active.runner.counters, active.runner.report
    failure = active.failure() or broken
    add('engine', DiagnosticStatus.ERROR if failure else DiagnosticStatus.OK, failure or 'ready',
        [(key, getattr(counters, key)) for key in (*ENGINE_COUNTERS, *PROMPT_COUNTERS)]
        + [(key, getattr(counters, key)) for key in WORK_COUNTERS if hasattr(counters, key)]
        + [('frames_refused', active.runner.frames_refused)]
        + [(key, f'{getattr(report, key, 0.0):.2f}') for key in STAGES])
    loop = active.loop
    moving, stalled = loop.last is not None and loop.last.source == 'fresh', loop.stalled()
    add('commands',
        DiagnosticStatus.ERROR if stalled else DiagnosticStatus.OK if moving else DiagnosticStatus.WARN,
        stalled or ('commanding' if moving else (loop.last.reason if loop.last else 'not started')),
        [('rate_hz', f'{loop.rate_hz:g}'), ('ticks', loop.ticks), ('ticks_lost', loop.lost),
         ('late_ms_p50', f'{loop.late.percentile(50):.3f}'), ('late_ms_p99', f'{loop.late.percentile(99):.3f}'),
         ('tick_ms_p50', f'{loop.cost.percentile(50):.3f}'), ('tick_ms_p99', f'{loop.cost.percentile(99):.3f}'),
         ('collection_ms_max', f'{active.collections.percentile(100):.3f}'),
         ('realtime', loop.realtime), ('dry_run', active.dry_run)]
        + [(key, getattr(loop.controller.counters, key)) for key in (*CONTROL_COUNTERS, *MORE_CONTROL_COUNTERS)]
        + [(key, f'{getattr(loop.controller.counters, key):.4f}') for key in ('boundary_gap', 'boundary_gap_max')])
    add('language', DiagnosticStatus.OK, f'{counters.live_streams} streams',
        (('texts_finished', active.runner.texts_finished), ('questions_refused', active.runner.questions_refused)))
    return message


def _streams(now_ns, active, rates):
    """(part, level, text, values) of each input whose newest message is kept."""
    limits = active.runner.limits
    ages = {view: limits.image_max_age_s for view in active.inputs.views}
    for stream in active.inputs.streams():
        late = stream.lateness(now_ns, ages.get(stream.name, limits.joint_max_age_s))
        trouble = late or stream.problem or active.qos_problems.get(stream.topic, '') or stream.clock_warning()
        age = f'{(now_ns - stream.newest.stamp_ns) / 1e9:.3f}' if stream.newest else ''
        yield (f'input {stream.name}',
               DiagnosticStatus.ERROR if late else DiagnosticStatus.WARN if trouble else DiagnosticStatus.OK,
               trouble or 'fresh', (
                   ('topic', stream.topic), ('rate_hz', f'{rates.get(stream.name, 0.0):.1f}'), ('age_s', age),
                   ('received', stream.received), ('refused', stream.refused),
                   ('repeated', stream.counted('repeated')), ('overtaken', stream.counted('overtaken')),
                   ('wrong_stamps', stream.counted('wrong_stamps')), ('clock_changes', stream.counted('changes'))))


def _topics(now_ns, active):
    """(part, level, text, values) of each input that is acted on at once."""
    for topic, judge in (('instruction', _instruction), ('question', _question), ('emergency_stop', _emergency_stop),
                         ('heartbeat', _heartbeat)):
        heard = active.heard.get(topic) or Heard('')
        level, text = judge(now_ns, active)
        trouble = heard.problem or active.qos_problems.get(heard.topic, '')
        if trouble and level == DiagnosticStatus.OK:
            level, text = DiagnosticStatus.WARN, trouble
        age_s = heard.age_s(now_ns)
        yield f'input {topic}', level, text, (
            ('topic', heard.topic), ('age_s', '' if age_s is None else f'{age_s:.3f}'), ('received', heard.received),
            ('refused', heard.refused))


def _instruction(now_ns, active):
    instruction, timeout_s = active.inputs.instruction, active.runner.limits.instruction_timeout_s
    why = active.inputs.without_instruction(now_ns, timeout_s)
    if why:
        expired = instruction.text and instruction.expired(now_ns, timeout_s)
        return DiagnosticStatus.ERROR if expired else DiagnosticStatus.WARN, why
    dropped = getattr(active.runner.report, 'dropped_characters', 0)
    if dropped:
        return DiagnosticStatus.WARN, f'the instruction is too long: its last {dropped} characters were dropped'
    return DiagnosticStatus.OK, f'instruction {instruction.instruction_id}'


def _question(now_ns, active):
    return DiagnosticStatus.OK, f'{active.runner.questions_refused} refused because others waited'


def _emergency_stop(now_ns, active):
    if active.stops.pressed or active.stops.deaf:
        return DiagnosticStatus.ERROR, active.stops.deaf or 'pressed'
    return DiagnosticStatus.OK, 'not pressed'


def _heartbeat(now_ns, active):
    heartbeat = active.stops.heartbeat
    if not heartbeat.timeout_ns:
        return DiagnosticStatus.OK, 'not watched'
    if heartbeat.expired(time.monotonic_ns()):
        return DiagnosticStatus.ERROR, f'no heartbeat, the limit is {heartbeat.timeout_ns / 1e9:g} s'
    return DiagnosticStatus.OK, 'heard'
