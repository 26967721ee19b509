"""Plotly figures of one run, as dictionaries ready for JSON."""
import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

GREY, BLUE, ORANGE, GREEN, RED, PURPLE = '#7a8594', '#1f6fd1', '#e07b00', '#2b9348', '#c0392b', '#7b4fb5'
STAGE_COLOURS = {'vision': BLUE, 'prefill': ORANGE, 'denoise': GREEN, 'decode': PURPLE}
CURVE_COLOURS = {'measured': GREY, 'recorded command': GREEN, 'published command': BLUE}
MAX_ROWS_OF_CHUNK = 12
COLUMNS = 2
LAYOUT = dict(template='plotly_white', margin=dict(l=55, r=15, t=40, b=40), hovermode='x', font=dict(size=12),
              legend=dict(orientation='h', yref='container', yanchor='top', y=0.99, x=0))


def joints_figure(run):
    """Per joint: measured, published command, and the predicted chunks fanned out; None where there is nothing."""
    if not run.joints or not (run.chunks.rows or any(curve.rows for curve in run.curves.values())):
        return None
    rows = -(-len(run.joints) // COLUMNS)
    figure = make_subplots(rows, COLUMNS, shared_xaxes='all', subplot_titles=run.joints, horizontal_spacing=0.06,
                           vertical_spacing=min(0.05, 0.5 / rows))
    for i, joint in enumerate(run.joints):
        place = dict(row=i // COLUMNS + 1, col=i % COLUMNS + 1)
        common = dict(mode='lines', showlegend=i == 0)
        figure.add_trace(go.Scatter(
            **dict(zip('xy', _fan(run, i))), name='predicted chunks', legendgroup='chunks', opacity=0.8,
            line=dict(color=ORANGE, width=1), **common), **place)
        for name, colour in CURVE_COLOURS.items():
            if not run.curves[name].rows:
                continue
            times, values = run.column(name, joint)
            figure.add_trace(go.Scatter(x=_round(times), y=_round(values, 5), name=name, legendgroup=name,
                                        line=dict(color=colour, width=1.5), **common), **place)
    figure.update_xaxes(title_text='time [s]', row=rows)
    figure.update_layout(**LAYOUT, height=170 * rows + 110)
    figure.update_layout(margin_t=70)
    return figure


def _fan(run, column):
    """All chunks of one joint as one broken line: (times, values), None between two chunks."""
    times, values = [], []
    for begin_s, (dt_s, data) in zip(run.chunks.times_s, run.chunks.rows):
        rows = np.unique(np.linspace(0, len(data) - 1, MAX_ROWS_OF_CHUNK).round().astype(int))
        times += [*_round(begin_s + rows * dt_s), None]
        values += [*_round(data[rows, column], 5), None]
    return times, values


def stages_figure(run):
    """Stage times of the frames over the run, stacked."""
    if not run.stages.rows:
        return None
    figure = go.Figure()
    for stage, colour in STAGE_COLOURS.items():
        if stage in run.stages.rows[0]:
            figure.add_trace(go.Scatter(
                x=_round(run.stages.times_s), y=_round([row[stage] for row in run.stages.rows]), name=stage,
                mode='lines', stackgroup='one', line=dict(width=0.5, color=colour)))
    figure.update_layout(**LAYOUT, height=320, xaxis_title='time [s]', yaxis_title='time of a frame [ms]')
    return figure


def rate_figure(run):
    """Histogram of the times between two commands."""
    intervals = run.intervals_ms()
    if not len(intervals):
        return None
    median = float(np.median(intervals))
    limit = max(3 * median, 1e-3)
    counts, edges = np.histogram(np.clip(intervals, 0, limit), 60, (0, limit))
    figure = go.Figure(go.Bar(x=_round((edges[:-1] + edges[1:]) / 2), y=counts.tolist(), marker_color=BLUE,
                              name='commands'))
    figure.add_vline(median, line_color=RED, line_dash='dot', annotation_text=f'median {median:.2f} ms')
    figure.update_layout(**LAYOUT, height=300, bargap=0.02, yaxis_type='log', yaxis_title='commands',
                         xaxis_title='time since the command before [ms]; the last bar holds all longer ones')
    return figure


def pool_figure(run):
    """Slots and prefix blocks in use, against what the pool has."""
    if not run.pool.rows:
        return None
    table = np.array(run.pool.rows)
    figure = go.Figure()
    for column, name, colour, dash in ((0, 'slots used', BLUE, None), (1, 'slots', BLUE, 'dot'),
                                       (2, 'prefix blocks used', ORANGE, None), (3, 'prefix blocks', ORANGE, 'dot'),
                                       (4, 'live streams', GREEN, None)):
        figure.add_trace(go.Scatter(x=_round(run.pool.times_s), y=table[:, column].tolist(), name=name, mode='lines',
                                    line=dict(color=colour, dash=dash, shape='hv')))
    figure.update_layout(**LAYOUT, height=280, xaxis_title='time [s]', yaxis_title='count')
    return figure


def errors_figure(results):
    """Mean absolute error over the chunk's steps, one line a mode; `results` is mode -> figures of `evaluate`."""
    if not any(result.get('horizon') for result in results.values()):
        return None
    figure = go.Figure()
    for (mode, result), colour, dash in zip(results.items(), (BLUE, ORANGE, GREEN), ('solid', 'dash', 'dot')):
        figure.add_trace(go.Scatter(x=[row['step'] for row in result['horizon']],
                                    y=[row['mae'] for row in result['horizon']], name=mode, mode='lines+markers',
                                    line=dict(color=colour, dash=dash)))
    figure.update_layout(**LAYOUT, height=300, xaxis_title='step of the chunk', yaxis_title='mean absolute error')
    return figure


def _round(values, digits=3):
    return [None if not np.isfinite(value) else round(float(value), digits) for value in values]
