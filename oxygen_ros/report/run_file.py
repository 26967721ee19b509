"""RunData as plain data for a JSON file, and stretches of one run joined."""
import base64

import numpy as np

from oxygen_ros.report.run_data import MAX_THUMBNAILS, MAX_TIMES, MAX_TOKENS, RunData, Thinned, Thumbnail, Token


def to_plain(run):
    """Dictionary of lists, numbers and texts."""
    return {
        'name': run.name, 'duration_s': run.duration_s, 'joints': list(run.joints),
        'curves': {name: [curve.times_s, [np.round(row, 6).tolist() for row in curve.rows]]
                   for name, curve in run.curves.items()},
        'chunks': [run.chunks.times_s, [[dt_s, np.round(data, 6).tolist()] for dt_s, data in run.chunks.rows]],
        'stages': [run.stages.times_s, run.stages.rows], 'pool': [run.pool.times_s, [list(r) for r in run.pool.rows]],
        'thumbnails': [[t.time_s, t.view, base64.b64encode(t.jpeg).decode()] for t in run.thumbnails],
        'tokens': [[t.time_s, t.task, t.request_id, t.text, t.finish_reason] for t in run.tokens],
        'commands_s': [round(time_s, 6) for time_s in run.command_times_s], 'notes': run.notes,
    }


def from_plain(table):
    """RunData of `to_plain`'s dictionary."""
    run = RunData(table['name'], table['duration_s'], tuple(table['joints']))
    for name, (times_s, rows) in table['curves'].items():
        run.curves[name].times_s, run.curves[name].rows = times_s, [np.array(row) for row in rows]
    run.chunks.times_s = table['chunks'][0]
    run.chunks.rows = [(dt_s, np.array(data)) for dt_s, data in table['chunks'][1]]
    run.stages.times_s, run.stages.rows = table['stages']
    run.pool.times_s, run.pool.rows = table['pool'][0], [tuple(row) for row in table['pool'][1]]
    run.thumbnails = [Thumbnail(time_s, view, base64.b64decode(jpeg)) for time_s, view, jpeg in table['thumbnails']]
    run.tokens = [Token(*row) for row in table['tokens']]
    run.command_times_s, run.notes = list(table['commands_s']), list(table['notes'])
    return run


def join(runs):
    """One RunData of the stretches of a run, given in order of time; thinned again where they are many."""
    first = runs[0]
    whole = RunData(first.name, first.duration_s, first.joints)
    for i, run in enumerate(runs):
        for name, curve in run.curves.items():
            extend(whole.curves[name], curve)
        for mine, its in ((whole.chunks, run.chunks), (whole.stages, run.stages), (whole.pool, run.pool)):
            extend(mine, its)
        whole.thumbnails += run.thumbnails
        whole.command_times_s += run.command_times_s[:MAX_TIMES - len(whole.command_times_s)]
        # Request ids count within a stretch.
        whole.tokens += [Token(t.time_s, t.task, t.request_id + i * 10**9, t.text, t.finish_reason)
                         for t in run.tokens[:MAX_TOKENS - len(whole.tokens)]]
        whole.notes += [note for note in run.notes if note not in whole.notes]
    step = -(-len(whole.thumbnails) // MAX_THUMBNAILS) or 1
    whole.thumbnails = whole.thumbnails[::step]
    return whole


def extend(curve, more):
    for time_s, row in zip(more.times_s, more.rows):
        curve.add(time_s, row)


__all__ = ['from_plain', 'join', 'Thinned', 'to_plain']
