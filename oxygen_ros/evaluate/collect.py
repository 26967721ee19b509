"""Units' sums put together: figures of a bag, of a mode, of everything."""
from collections import Counter

import numpy as np

from oxygen_ros.evaluate.texts import compare

PERCENTILES = (50, 95, 99)


def figures(results, reference_texts=None):
    """
    Figures over unit results of one mode; `reference_texts` {(bag, part, frame, task): text} or None.

    `results` is a list of (bag, part, result). Sums are added in the order given, so that the same units give the same
    bytes; nothing here was decided by a clock.
    """
    table = {'frames': 0, 'skipped': Counter(), 'rejected': Counter(), 'clamps': 0, 'inputs_refused': 0}
    for _, _, result in results:
        table['frames'] += result['frames']
        table['clamps'] += result['clamps']
        table['inputs_refused'] += result['inputs_refused']
        table['skipped'].update(result['skipped'])
        table['rejected'].update(result['rejected'])
    table['skipped'], table['rejected'] = dict(sorted(table['skipped'].items())), dict(
        sorted(table['rejected'].items()))
    table.update(action_errors(results), **jumps(results))
    mine = {(bag, part, frame, task): text for bag, part, result in results for frame, task, text in result['texts']}
    table['texts'] = len(mine)
    table['text'] = compare(mine, reference_texts) if reference_texts is not None else {
        'exact_match': None, 'edit_distance': None, 'compared': 0, 'missing': 0}
    return table


def texts_of(results):
    return {(bag, part, frame, task): text for bag, part, result in results for frame, task, text in result['texts']}


def action_errors(results):
    """Errors over all, per joint and per step of the chunk; None where there was nothing to compare with."""
    shapes = {(len(r['count']), tuple(r['joints'])) for _, _, r in results}
    empty = {'action_mse': None, 'action_mae': None, 'per_joint': [], 'horizon': [], 'action_rows': 0,
             'reference': sorted({r['reference'] for _, _, r in results})}
    if len(shapes) != 1:
        return empty
    (horizon, joints), = shapes
    squared, absolute = np.zeros((horizon, len(joints))), np.zeros((horizon, len(joints)))
    count = np.zeros((horizon, len(joints)), np.int64)
    for _, _, result in results:
        squared += result['squared']
        absolute += result['absolute']
        count += np.array(result['count'], np.int64)
    if not count.any():
        return empty

    def means(axis):
        total = count.sum(axis)
        return [[float(value) if n else None for value, n in zip(sums.sum(axis) / np.maximum(total, 1), total)]
                for sums in (squared, absolute)]

    return {
        'action_mse': float(squared.sum() / count.sum()), 'action_mae': float(absolute.sum() / count.sum()),
        'per_joint': [{'joint': joint, 'mse': mse, 'mae': mae} for joint, mse, mae in zip(joints, *means(0))],
        'horizon': [{'step': step, 'mse': mse, 'mae': mae, 'n': int(n)}
                    for step, (mse, mae, n) in enumerate(zip(*means(1), count.max(1)))],
        'action_rows': int(count.max(1).sum()), 'reference': empty['reference'],
    }


def jumps(results):
    found = [result['jumps'] for _, _, result in results if result['jumps']['count']]
    largest = max(found, key=lambda jump: jump['largest'], default=None)
    count = sum(jump['count'] for jump in found)
    return {'boundary_jump_max': largest and largest['largest'], 'boundary_jump_joint': largest and largest['joint'],
            'boundary_jump_mean': sum(jump['total'] for jump in found) / count if count else None,
            'boundaries': count}


def timing(results):
    """{stage: {p50, p95, p99}} in ms over all frames."""
    stages = {}
    for _, _, result in results:
        for stage, values in result['times'].items():
            stages.setdefault(stage.removesuffix('_ms'), []).extend(values)
    return {stage: {f'p{p}': round(float(value), 3) for p, value in zip(PERCENTILES, np.percentile(
        values, PERCENTILES))} for stage, values in stages.items() if values}


def timing_of(evaluation, mode):
    """{stage: {p50, p95, p99}} of one mode: those of further modes carry its name in front."""
    timing, prefix = evaluation.get('timing', {}), f'{mode}.'
    if mode == evaluation['mode']:
        return {stage: times for stage, times in timing.items() if '.' not in stage}
    return {stage.removeprefix(prefix): times for stage, times in timing.items() if stage.startswith(prefix)}
