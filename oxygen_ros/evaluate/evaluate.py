"""`evaluate`: bags in, figures out; on one core, on several, or on a Ray cluster."""
from concurrent.futures import as_completed, ProcessPoolExecutor
from dataclasses import dataclass, field
import multiprocessing

from oxygen_ros.bag.read import BagError
from oxygen_ros.evaluate import collect
from oxygen_ros.evaluate.plan import Store, units_of
from oxygen_ros.evaluate.unit import run_unit
from oxygen_ros.report import run_file

EXPECTED = (ValueError, OSError, RuntimeError)


@dataclass
class Outcome:
    """Results by unit, and the sentence of each bag that failed."""

    units: list = field(default_factory=list)
    results: dict = field(default_factory=dict)  # Unit -> (result, RunData)
    errors: dict = field(default_factory=dict)   # bag path -> sentence

    def of(self, mode, bag=None):
        return [(unit.bag, unit.part, self.results[unit][0]) for unit in self.units
                if unit in self.results and unit.mode == mode and bag in (None, unit.bag)
                and unit.bag not in self.errors]


def evaluate(bags, settings, store=None, workers=1, ray_address=None, progress=lambda seconds: None,
             begin=lambda seconds: None):
    """
    Run every unit of every bag and return an Outcome; a bag that fails is listed and does not end the others.

    `begin(total)` and `progress(part)` tell seconds of bag time. Units kept in `store` are not run again.
    """
    outcome, store = Outcome(), store or Store(None)
    for bag in bags:
        try:
            units = units_of(bag, settings)
            units[0].parameters()
            outcome.units += units
        except EXPECTED as error:
            outcome.errors[str(bag)] = sentence(error)
    begin(sum(seconds(unit) for unit in outcome.units))
    todo = []
    for unit in outcome.units:
        kept = store.load(unit)
        if kept is None:
            todo.append(unit)
        else:
            outcome.results[unit] = kept
            progress(seconds(unit))

    def done(unit, answer):
        if isinstance(answer, BaseException):
            outcome.errors.setdefault(unit.bag, sentence(answer))
        else:
            outcome.results[unit] = answer
            store.save(unit, *answer)

    if ray_address is not None:
        _on_ray(todo, ray_address, done, progress)
    elif workers > 1:
        _in_processes(todo, workers, done, progress)
    else:
        for unit in todo:
            if unit.bag not in outcome.errors:
                done(unit, _attempt(unit, progress))
    return outcome


def _attempt(unit, progress=lambda seconds: None):
    """Result of a unit, or the exception that it raised, which is a sentence about its bag."""
    told = [0.0]

    def tell(part):
        told[0] += part
        progress(part)
    try:
        return run_unit(unit, tell)
    except EXPECTED as error:
        return type(error)(sentence(error)) if isinstance(error, ValueError) else RuntimeError(sentence(error))
    finally:
        progress(max(0.0, seconds(unit) - told[0]))


def _in_processes(units, workers, done, progress):
    # Spawned, not forked: torch's threads do not survive a fork.
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context('spawn')) as pool:
        futures = {pool.submit(_attempt, unit): unit for unit in units}
        for future in as_completed(futures):
            unit = futures[future]
            error = future.exception()
            done(unit, RuntimeError(f'the worker process ended: {sentence(error)}') if error else future.result())
            progress(seconds(unit))


def _on_ray(units, address, done, progress):
    """Spread the units over an existing cluster; the bags must lie under the same paths there."""
    try:
        import ray
    except ImportError:
        raise RuntimeError('--ray needs the package ray: pip install ray') from None
    ray.init(address=None if address == 'local' else address, log_to_driver=False, include_dashboard=False)
    try:
        task = ray.remote(num_cpus=1)(_attempt)
        waiting = {task.remote(unit): unit for unit in units}
        while waiting:
            (ready,), _ = ray.wait(list(waiting), num_returns=1)
            unit = waiting.pop(ready)
            try:
                done(unit, ray.get(ready))
            except ray.exceptions.RayError as error:
                done(unit, RuntimeError(f'the Ray task failed: {sentence(error)}'))
            progress(seconds(unit))
    finally:
        ray.shutdown()


def seconds(unit):
    return (unit.stop_ns - unit.start_ns) / 1e9


def sentence(error):
    return ' '.join(str(error).split()) or type(error).__name__


def table_of(outcome, settings, bags, reference=None):
    """
    The dictionary that `--json` writes.

    The first mode is at the top, all are in `modes`. Texts are compared with `reference`, or with mode isolated where
    that ran too. A bag of which no frame could be run counts as failed.
    """
    for bag in map(str, bags):
        results = outcome.of(settings.modes[0], bag)
        if bag not in outcome.errors and not sum(result['frames'] for _, _, result in results):
            reasons = collect.figures(results)['skipped']
            outcome.errors[bag] = 'not one frame could be run; pictures skipped: ' + (
                ', '.join(f'{count} {reason}' for reason, count in reasons.items()) or 'none came')
    texts = reference
    if texts is None and 'isolated' in settings.modes and len(settings.modes) > 1:
        texts = collect.texts_of(outcome.of('isolated'))
    modes = {}
    for mode in settings.modes:
        results = outcome.of(mode)
        modes[mode] = collect.figures(results, texts) if results else None
    first = settings.modes[0]
    table = {'bags': [_bag(outcome, settings, str(bag), texts) for bag in bags], 'mode': first, 'seed': settings.seed,
             'delay_ms': settings.delay_ms, 'threads': settings.threads, 'part_s': settings.part_s}
    if modes[first]:
        table.update(modes[first])
    else:
        table.update(frames=0, skipped={}, action_mse=None, action_mae=None, per_joint=[], horizon=[],
                     boundary_jump_max=None, text={'exact_match': None, 'edit_distance': None})
    # All that a clock decided is here and nowhere else; stages of further modes carry the mode's name.
    table['timing'] = {stage if mode == first else f'{mode}.{stage}': times for mode in settings.modes
                       for stage, times in collect.timing(outcome.of(mode)).items()}
    table['modes'] = {mode: figures for mode, figures in modes.items() if figures}
    return table


def _bag(outcome, settings, bag, texts):
    if bag in outcome.errors:
        return {'path': bag, 'error': outcome.errors[bag]}
    return {'path': bag, **{key: value for key, value in collect.figures(
        outcome.of(settings.modes[0], bag), texts).items() if key not in ('per_joint', 'horizon')}}


def runs_of(outcome):
    """RunData of every bag and mode that has curves."""
    groups = {}
    for unit in outcome.units:
        if unit in outcome.results and unit.bag not in outcome.errors and outcome.results[unit][1]:
            groups.setdefault((unit.bag, unit.mode), []).append(outcome.results[unit][1])
    return [run_file.join(runs) for runs in groups.values()]


__all__ = ['BagError', 'evaluate', 'Outcome', 'runs_of', 'table_of']
