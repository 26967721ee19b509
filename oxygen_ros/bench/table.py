"""Results of suite `headline` as Markdown tables."""
STAGES = ('vision', 'prefill', 'denoise', 'decode_1', 'decode_16', 'decode_29')


def modes(result):
    """One row a mode: medians, and how many times the reference's action rate."""
    figures = result['modes']
    base = figures['reference']['action_hz']
    rows = ['| mode | frame [ms] | stages alone [ms] | action rate H / T [Hz] | to reference | tokens a second |'
            ' chunk ready [ms] |', '|---|---|---|---|---|---|---|']
    for mode, one in figures.items():
        alone = f'{one["predicted_frame_ms"]:.0f}' if 'predicted_frame_ms' in one else ''
        rate = f'{one["action_hz"]:.1f} (H = {one["chunk_horizon"]})'
        rows.append(f'| {mode} | {one["frame_ms"]:.0f} | {alone} | {rate} | '
                    f'{one["action_hz"] / base:.2f} | {one["tokens_per_s"]:.1f} | {one["chunk_ready_ms"]:.0f} |')
    return '\n'.join(rows) + '\n'


def stages(result):
    """One row a stage: its time alone, the machine's bound for it, and their ratio."""
    rows = ['| stage | time [ms] | bound [ms] | efficiency |', '|---|---|---|---|']
    for name in STAGES:
        if name in result['stages']:
            one = result['stages'][name]
            rows.append(f'| {name} | {one["ms"]:.1f} | {one["bound_ms"]:.1f} | {one["efficiency"]:.0%} |')
    return '\n'.join(rows) + '\n'
