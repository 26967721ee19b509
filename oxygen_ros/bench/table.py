"""Results of the suites as Markdown tables; every figure is a median unless its column says otherwise."""
from oxygen_ros.cli.bench import command

STAGES = ('vision', 'prefill', 'denoise', 'decode_1', 'decode_4', 'decode_4_on_1', 'decode_16', 'decode_29')
WITH_P99 = ('headline', 'ablation', 'deadline')  # suites whose tables have a 99th percentile over the rounds


def _table(head, rows):
    lines = [head, ['---'] * len(head), *rows]
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines) + '\n'


def _number(figures, key, form='.0f', scale=1.0):
    """A figure, or nothing where it was not measured."""
    return '' if figures.get(key) is None else format(figures[key] * scale, form)


def _rate(figures):
    return f'{figures["action_hz"]:.1f} (H = {figures["chunk_horizon"]})'


def caption(result):
    """How and where it was measured, in a line."""
    suite, rounds = result['suite'], result.get('rounds')
    words = command(result['arguments']) if 'arguments' in result else _words_without_arguments(result)
    clock = {'cpu': ', processor time on a busy machine', 'wall': ', wall time'}.get(result.get('clock'), '')
    host = result['host'].partition(', load')[0]
    peak = few = ''
    if 'process_peak_bytes' in result:
        peak = f'; the whole process held {result["process_peak_bytes"] / 2 ** 30:.1f} GiB at most'
    if suite in WITH_P99 and rounds < 100:
        few = f'; over {rounds} round{"s" * (rounds > 1)} a p99 is the slowest of them'
    return f'`{words}`, {result["dtype"]}, {host}{clock}{peak}{few}.\n\n'


def _words_without_arguments(result):
    """The command of a result that does not record it, as far as it can be told."""
    rounds = f' --rounds {result["rounds"]}' if 'rounds' in result else ''
    suite = '' if result['suite'] == 'headline' else f' --suite {result["suite"]}'
    return f'bench --model {result["model"]}{suite}{rounds}'


def modes(result):
    """Suite `headline`: one row a mode, and how many times the reference's action rate."""
    figures = result['modes']
    head = ['mode', 'frame [ms]', 'p99', 'stages alone [ms]', 'action rate H / T [Hz]', 'to reference',
            'tokens a second', 'chunk ready [ms]', 'first token [ms]', 'text complete [ms]']

    def to_reference(one):
        return f'{one["action_hz"] / figures["reference"]["action_hz"]:.2f}' if 'reference' in figures else ''

    return _table(head, [
        [mode, _number(one, 'frame_ms'), _number(one, 'frame_ms_p99'), _number(one, 'predicted_frame_ms'), _rate(one),
         to_reference(one), f'{one["tokens_per_s"]:.1f}', _number(one, 'chunk_ready_ms'), _number(one, 'ttft_ms'),
         _number(one, 'completion_ms')] for mode, one in figures.items()])


def stages(result):
    """Suite `headline`: one row a stage: its time alone, the machine's bound for it, their ratio, what it must read."""
    figures = result['stages']
    return _table(['stage', 'time [ms]', 'p99', 'bound [ms]', 'efficiency', 'must read [MB]'], [
        [name, *(_number(figures[name], key, '.1f') for key in ('ms', 'ms_p99', 'bound_ms')),
         f'{figures[name]["efficiency"]:.0%}', _number(figures[name], 'bytes', ',.0f', 1e-6)]
        for name in STAGES if name in figures])


def ablation(result):
    """One row a switch: its frame, and that over the frame of the row that it changes."""
    return _table(['engine', 'frame [ms]', 'p99', 'ratio', 'to', 'tokens a second'], [
        [name, _number(one, 'frame_ms'), _number(one, 'frame_ms_p99'), f'{one["frame_ratio"]:.2f}',
         one.get('compared_with', 'oxygen'), f'{one["tokens_per_s"]:.1f}'] for name, one in result['modes'].items()])


def scaling(result):
    """One row a mode, its action rate at each N."""
    points = {(p['mode'], p['tokens']): p for p in result['points']}
    lengths = sorted({tokens for _, tokens in points})
    horizon = result['points'][0]['chunk_horizon']
    rows = []
    for mode in dict.fromkeys(mode for mode, _ in points):
        name = mode.replace('oxygen_', 'oxygen, decode rounds a frame: ')
        rows.append([name, *(_number(points.get((mode, n), {}), 'action_hz', '.1f') for n in lengths)])
    return _table([f'H / T [Hz], H = {horizon}', *(f'N = {n}' for n in lengths)], rows)


def deadline(*results):
    """Suite `deadline`: one row a kind of traffic, for each of the results."""
    rows = []
    for result in results:
        model, frames = result['model'], result['rounds']
        rows.append([model, 'actions only', *_interval(result['action_only'], frames), '', '', ''])
        for one in result['runs']:
            of = ''
            # The limit is that of a full batch; where the action part left no time, there is none to reach.
            if one['live'] >= result['slots'] and one['limit_tokens_per_s'] > 0:
                of = f'{one["tokens_per_s"] / one["limit_tokens_per_s"]:.0%}'
            kind = f'{one["requests_per_frame"]} a frame, N = {one["tokens_per_answer"]}'
            refused = f'{one["streams_refused"]} of {one["streams_refused"] + one["streams_started"]}'
            rows.append([model, kind, *_interval(one, frames), f'{one["tokens_per_s"]:.0f}', of, refused])
        for one in result['isolated']:
            rows.append([model, f'isolated, 1 a frame, N = {one["tokens_per_answer"]}', '',
                         _number(one, 'frame_ms', '.1f'), _number(one, 'frame_ms_p99', '.1f'), '', '',
                         f'{one["action_hz"]:.1f}', f'{one["tokens_per_s"]:.0f}', '', ''])
    return _table(['model', 'traffic', 'deadline [ms]', 'chunk every [ms]', 'p99', 'misses',
                   'actions only, of 1000', 'H / T [Hz]', 'tokens a second', 'of the 32-slot limit', 'refused'], rows)


def _interval(one, frames):
    return [*(f'{one[key]:.1f}' for key in ('deadline_ms', 'interval_ms', 'interval_ms_p99')),
            f'{one["misses"]} of {frames}', _number(one, 'action_only_misses_per_1000'), f'{one["action_hz"]:.1f}']


def drafting(result):
    """Suite `drafting`: one row with and without drafts."""
    rows = [[mode, f'{one["tokens_per_round_and_stream"]:.2f}', f'{one["accepted"]} of {one["drafted"]}',
             _number(one, 'frame_ms', '.1f'), _number(one, 'completion_ms')] for mode, one in result['modes'].items()]
    return _table(['mode', 'tokens a round and stream', 'drafted tokens that proved right', 'frame [ms]',
                   'text complete [ms]'], rows) + (
        f'\n{result["gain"]:.1f} times the tokens a round; {result["texts_equal"]} of {result["texts_compared"]} texts '
        f'are equal with and without drafts.\n')


def memory(*results):
    """Suite `memory`: one row a mode, for each of the results; MB are 10^6 bytes."""
    rows = []
    for result in results:
        for mode, one in result['modes'].items():
            if one.get('peak_bytes') is None:
                continue
            parts = ('peak_bytes', 'weight_bytes', 'table_bytes', 'pool_bytes', 'activation_bytes', 'kept_bytes')
            over = f'{one["over_isolated"] - 1:+.0%}' if 'over_isolated' in one and mode != 'isolated' else ''
            rows.append([f'{result["model"]} {result["dtype"]}', mode, *(_number(one, p, ',.0f', 1e-6) for p in parts),
                         f'{one["to_expected"] - 1:+.1%}', over])
    return _table(['model', 'mode', 'peak [MB]', 'weights', 'tables', 'pool', 'activations', 'kept by oneDNN',
                   'peak without those, to the sum', 'to isolated'], rows)
