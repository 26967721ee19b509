"""The picture of suite `scaling`."""


def plot_scaling(result, path):
    """Action rate (H / frame time) against N for each mode, as a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    figure = Figure(figsize=(7, 5), layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for mode in dict.fromkeys(point['mode'] for point in result['points']):
        points = [point for point in result['points'] if point['mode'] == mode]
        label = mode.replace('oxygen_', 'oxygen, decode rounds a frame: ')
        axes.plot([p['tokens'] for p in points], [p['action_hz'] for p in points], marker='o', label=label)
    horizon = result['points'][0]['chunk_horizon']
    axes.set(xlabel='tokens of an answer, N', ylabel=f'action rate, H / frame time [Hz], H = {horizon}', ylim=(0, None),
             title=f'{result["model"]} {result["dtype"]}, one request a frame')
    axes.grid(alpha=0.3)
    figure.legend(loc='outside lower center', ncols=2, fontsize=8)
    figure.savefig(path, dpi=150, format='png')
