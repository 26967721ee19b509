"""`build_report`: runs, and what `evaluate` found about them, as one HTML file."""
from pathlib import Path

import numpy as np

from oxygen_ros.evaluate.collect import timing_of
from oxygen_ros.report import figures
from oxygen_ros.report.page import Page

MAX_LINES_A_CARD = 8
NAMES = (('frames', 'frames'), ('action_mse', 'action MSE'), ('action_mae', 'action MAE'),
         ('boundary_jump_max', 'largest jump between chunks'), ('boundary_jump_mean', 'mean jump between chunks'),
         ('clamps', 'clamped joint values'))


def build_report(path, runs, evaluation=None, title='oxygen_ros run', subtitle=''):
    """
    Write the page of one or more `RunData` to `path` and return it as a Path.

    `evaluation` is the dictionary that `evaluate --json` writes, or None.
    """
    page = Page(title, subtitle)
    if evaluation:
        _evaluation(page, evaluation)
    for run in runs:
        _run(page, run)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page.text(), encoding='utf-8')
    return path


def report_of_bag(bag_path, path, title=None, subtitle=''):
    """Write the page of one recorded bag to `path`; BagError (a ValueError) where the bag is no good."""
    from oxygen_ros.bag.read import Bag
    from oxygen_ros.report.from_bag import run_from_bag
    with Bag(bag_path) as bag:
        return build_report(path, [run_from_bag(bag)], title=title or f'Run {Path(bag_path).name}', subtitle=subtitle)


def _evaluation(page, evaluation):
    results = evaluation.get('modes') or {evaluation['mode']: evaluation}
    page.heading('Evaluation', 'Open loop: the recorded robot did not follow these predictions, so a small error does '
                               'not prove that the policy would succeed.')
    rows = [[name, *(_number(result.get(key)) for result in results.values())] for key, name in NAMES]
    for key, name in (('exact_match', 'texts equal to the reference'), ('edit_distance', 'mean edit distance')):
        rows.append([name, *(_number((result.get('text') or {}).get(key)) for result in results.values())])
    timings = {mode: timing_of(evaluation, mode) for mode in results}
    for stage in sorted({stage for timing in timings.values() for stage in timing}):
        rows.append([f'{stage} p50 / p95 / p99 [ms]', *(
            ' / '.join(f'{timing[stage][key]:.1f}' for key in ('p50', 'p95', 'p99')) if stage in timing else '-'
            for timing in timings.values())])
    reasons = sorted({reason for result in results.values() for reason in result.get('skipped', {})})
    for reason in reasons:
        rows.append([f'skipped: {reason}', *(_number(result['skipped'].get(reason, 0)) for result in results.values())])
    page.table(rows, ['', *results])
    page.figure(figures.errors_figure(results))
    joints = next(iter(results.values())).get('per_joint') or []
    if joints:
        page.table([[row['joint'], _number(row['mse']), _number(row['mae'])] for row in joints],
                   ['joint', 'MSE', 'MAE'])
    for bag in evaluation.get('bags', []):
        if bag.get('error'):
            page.note(f'{bag["path"]}: {bag["error"]}')


def _run(page, run):
    held = f', {sum(run.topics.values())} messages on {len(run.topics)} topics' if run.topics else ''
    page.heading(run.name, f'{run.duration_s:.1f} s{held}')
    for note in run.notes:
        page.note(note)
    page.facts(_summary(run))
    if times := _times(run):
        page.table(times, ['times [ms]', 'p50', 'p95', 'p99', 'max'])
    for name, below, figure in (
            ('Joints', 'Measured, published, and what the model planned (each orange line is one chunk).',
             figures.joints_figure(run)),
            ('Stage times', 'What each frame spent its time on.', figures.stages_figure(run)),
            ('Control rate', 'Of the recorded commands.', figures.rate_figure(run)),
            ('KV pool', '', figures.pool_figure(run))):
        if figure is not None:
            page.heading(name, below)
            page.figure(figure)
        if name == 'Stage times' and (run.thumbnails or run.tokens):
            page.heading('Seen and said', 'What came on the token stream from each picture to the next.')
            page.strip(_cards(run))
            _texts(page, run)


def _summary(run):
    rows = [(name.replace('_', ' '), value) for name, value in run.counters.items()]
    intervals = run.intervals_ms()
    if len(intervals):
        rows += [('commands', len(run.command_times_s)), ('command rate [Hz]', f'{1e3 / np.mean(intervals):.2f}')]
    return rows


def _times(run):
    """Rows of the table of times: name, p50, p95, p99, max [ms]."""
    columns = [(stage, [row[stage] for row in run.stages.rows]) for stage in (run.stages.rows or [{}])[0]]
    columns.append(('between commands', run.intervals_ms()))
    return [[name, *(f'{value:.1f}' for value in np.percentile(times, [50, 95, 99, 100]))]
            for name, times in columns if len(times)]


def _cards(run):
    """One card a picture: of the first view, or of any where that has none."""
    views = sorted({picture.view for picture in run.thumbnails}, key=lambda view: ('wrist' in view, view))
    pictures = [picture for picture in run.thumbnails if picture.view == views[0]] if views else []
    if run.tokens:  # before the first word there is nothing to show beside a picture
        said_from = sum(picture.time_s <= run.tokens[0].time_s for picture in pictures)
        pictures = pictures[max(0, said_from - 1):]
    for i, picture in enumerate(pictures):
        begin_s = picture.time_s if i else float('-inf')
        end_s = pictures[i + 1].time_s if i + 1 < len(pictures) else float('inf')
        said = {}
        for token in run.tokens:
            if begin_s <= token.time_s < end_s:
                key = (token.request_id, token.task)
                said[key] = said.get(key, '') + token.text
        lines = [(task, text) for (_, task), text in sorted(said.items()) if text.strip()]
        if len(lines) > MAX_LINES_A_CARD:
            lines = [*lines[:MAX_LINES_A_CARD], ('more', f'{len(lines) - MAX_LINES_A_CARD}, see the table')]
        yield picture.time_s, picture.view, picture.jpeg, lines


def _texts(page, run, limit=30):
    texts = run.texts()
    page.table([(f'{begin:.2f}', f'{end - begin:.2f}', task, text, reason or 'unfinished')
                for begin, end, task, text, reason in texts[:limit]], ['begin [s]', 'took [s]', 'task', 'text', 'end'])
    if len(texts) > limit:
        page.note(f'{len(texts) - limit} more texts are not listed')


def _number(value):
    if value is None:
        return 'none'
    return str(value) if isinstance(value, int) else f'{value:.6g}'
