"""Results of the suites as Markdown tables; every figure is a median unless its column says otherwise."""
STAGES = ('vision', 'prefill', 'denoise', 'decode_1', 'decode_16', 'decode_29')


def _table(head, rows):
    lines = [head, ['---'] * len(head), *rows]
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines) + '\n'


def _number(figures, key, form='.0f', scale=1.0):
    """A figure, or nothing where it was not measured."""
    return format(figures[key] * scale, form) if key in figures else ''


def _rate(figures):
    return f'{figures["action_hz"]:.1f} (H = {figures["chunk_horizon"]})'


def caption(result):
    """How and where it was measured, in a line."""
    rounds = f' --rounds {result["rounds"]}' if 'rounds' in result else ''
    suite = '' if result['suite'] == 'headline' else f' --suite {result["suite"]}'
    clock = {'cpu': ', processor time on a busy machine', 'wall': ', wall time'}.get(result.get('clock'), '')
    host = result['host'].partition(', load')[0]
    peak = ''
    if 'process_peak_bytes' in result:
        peak = f'; the whole process held {result["process_peak_bytes"] / 2 ** 30:.1f} GiB at most'
    return f'`bench --model {result["model"]}{suite}{rounds}`, {result["dtype"]}, {host}{clock}{peak}.\n\n'


def modes(result):
    """Suite `headline`: one row a mode, and how many times the reference's action rate."""
    figures = result['modes']
    base = figures['reference']['action_hz']
    head = ['mode', 'frame [ms]', 'p99', 'stages alone [ms]', 'action rate H / T [Hz]', 'to reference',
            'tokens a second', 'chunk ready [ms]', 'first token [ms]', 'text complete [ms]']
    return _table(head, [
        [mode, _number(one, 'frame_ms'), _number(one, 'frame_ms_p99'), _number(one, 'predicted_frame_ms'), _rate(one),
         f'{one["action_hz"] / base:.2f}', f'{one["tokens_per_s"]:.1f}', _number(one, 'chunk_ready_ms'),
         _number(one, 'ttft_ms'), _number(one, 'completion_ms')] for mode, one in figures.items()])


def stages(result):
    """Suite `headline`: one row a stage: its time alone, the machine's bound for it, and their ratio."""
    figures = result['stages']
    return _table(['stage', 'time [ms]', 'bound [ms]', 'efficiency'], [
        [name, f'{figures[name]["ms"]:.1f}', f'{figures[name]["bound_ms"]:.1f}', f'{figures[name]["efficiency"]:.0%}']
        for name in STAGES if name in figures])


def ablation(result):
    """One row a switch: its frame, and that over the whole engine's."""
    return _table(['engine', 'frame [ms]', 'p99', 'to the whole', 'tokens a second'], [
        [name, _number(one, 'frame_ms'), _number(one, 'frame_ms_p99'), f'{one["frame_ratio"]:.2f}',
         f'{one["tokens_per_s"]:.1f}'] for name, one in result['modes'].items()])


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
            # Short answers do not fill the batch; where the action part left no time, there is no limit to reach.
            if one['tokens_per_answer'] > 30 and one['limit_tokens_per_s'] > 0:
                of = f'{one["tokens_per_s"] / one["limit_tokens_per_s"]:.0%}'
            kind = f'{one["requests_per_frame"]} a frame, N = {one["tokens_per_answer"]}'
            refused = f'{one["streams_refused"]} of {one["streams_refused"] + one["streams_started"]}'
            rows.append([model, kind, *_interval(one, frames), f'{one["tokens_per_s"]:.0f}', of, refused])
        for one in result['isolated']:
            rows.append([model, f'isolated, 1 a frame, N = {one["tokens_per_answer"]}', '',
                         _number(one, 'frame_ms', '.1f'), _number(one, 'frame_ms_p99', '.1f'), '',
                         f'{one["action_hz"]:.1f}', f'{one["tokens_per_s"]:.0f}', '', ''])
    return _table(['model', 'traffic', 'deadline [ms]', 'chunk every [ms]', 'p99', 'misses', 'H / T [Hz]',
                   'tokens a second', 'of the 32-slot limit', 'refused'], rows)


def _interval(one, frames):
    return [*(f'{one[key]:.1f}' for key in ('deadline_ms', 'interval_ms', 'interval_ms_p99')),
            f'{one["misses"]} of {frames}', f'{one["action_hz"]:.1f}']


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
            parts = ('peak_bytes', 'weight_bytes', 'table_bytes', 'pool_bytes', 'activation_bytes', 'kept_bytes')
            over = f'{one["over_isolated"] - 1:+.0%}' if 'over_isolated' in one and mode != 'isolated' else ''
            rows.append([f'{result["model"]} {result["dtype"]}', mode, *(_number(one, p, ',.0f', 1e-6) for p in parts),
                         f'{one["to_expected"] - 1:+.1%}', over])
    return _table(['model', 'mode', 'peak [MB]', 'weights', 'tables', 'pool', 'activations', 'kept by oneDNN',
                   'peak without those, to the sum', 'to isolated'], rows)
