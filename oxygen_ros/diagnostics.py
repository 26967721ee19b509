"""What the node knows about itself, as EngineStatus and as /diagnostics."""
import math

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from oxygen_ros.messages import time_of
from oxygen_ros.msg import EngineStatus

ENGINE_COUNTERS = ('frames', 'prefills', 'chunks', 'tokens', 'streams_started', 'streams_finished', 'streams_refused',
                   'live_streams', 'max_live_streams', 'slots_used', 'slots_total', 'blocks_used', 'blocks_total',
                   'pool_bytes')
STAGES = ('vision_ms', 'prefill_ms', 'denoise_ms', 'decode_ms', 'frame_ms', 'chunk_ready_ms')
CONTROL_COUNTERS = ('ticks_fresh', 'ticks_held', 'ticks_silent', 'clamps', 'chunks_rejected')
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

    add('state', LEVELS.get(state, DiagnosticStatus.WARN), f'{state}: {detail}' if detail else state)
    if active is None:
        return message
    limits = active.runner.limits
    ages = {view: limits.image_max_age_s for view in active.inputs.views}
    for stream in active.inputs.streams():
        late = stream.lateness(now_ns, ages.get(stream.name, limits.joint_max_age_s))
        trouble = late or stream.problem or active.qos_problems.get(stream.topic, '')
        age = f'{(now_ns - stream.newest.received_ns) / 1e9:.3f}' if stream.newest else ''
        add(f'input {stream.name}',
            DiagnosticStatus.ERROR if late else DiagnosticStatus.WARN if trouble else DiagnosticStatus.OK,
            trouble or 'fresh', (
                ('topic', stream.topic), ('rate_hz', f'{rates.get(stream.name, 0.0):.1f}'), ('age_s', age),
                ('received', stream.received), ('refused', stream.refused), ('repeated', stream.repeated),
                ('wrong_stamps', stream.wrong_stamps)))
    counters, report = active.runner.counters, active.runner.report
    failure = active.failure()
    add('engine', DiagnosticStatus.ERROR if failure else DiagnosticStatus.OK, failure or 'ready',
        [(key, getattr(counters, key)) for key in ENGINE_COUNTERS]
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
        + [(key, getattr(loop.controller.counters, key)) for key in CONTROL_COUNTERS]
        + [(key, f'{getattr(loop.controller.counters, key):.4f}') for key in ('boundary_gap', 'boundary_gap_max')])
    add('language', DiagnosticStatus.OK, f'{counters.live_streams} streams',
        (('texts_finished', active.runner.texts_finished), ('questions_refused', active.runner.questions_refused)))
    return message
