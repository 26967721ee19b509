"""The terminal screen of `watch`, as a rich renderable."""
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from oxygen_ros.viz.palette import state_colour

SILENT_S = 3.0  # the node says something at 1 Hz


def printable(text):
    """The text without what would steer the terminal: it comes from other nodes."""
    return ''.join(c if c.isprintable() or c == '\n' else ' ' for c in text)


def screen(state, now_s):
    """Panel with everything of a WatchState at a time."""
    status, age_s = state.status, state.said.age_s(now_s)
    if status is None:
        return Panel(Text(f'nothing is heard of the node {state.node}: is it running, with this ROS_DOMAIN_ID?'),
                     title=state.node)
    colour = 'rgb({},{},{})'.format(*state_colour(status.state))
    head = Text()
    head.append(f' {printable(status.state)} ', f'bold white on {colour}')
    if age_s > SILENT_S:
        head.append(f'  silent for {age_s:.0f} s', 'bold red')
    head.append(f'  {printable(status.model)} {printable(status.mode)}', 'dim')
    if status.detail:
        head.append(f'\n{printable(status.detail)}', 'yellow')
    if state.instruction:
        head.append(f'\n> {printable(state.instruction)}', 'bold')
    return Panel(Group(head, Text(), _inputs(state), Text(), _work(state, status, now_s), Text(), _texts(state)),
                 title=state.node, border_style=colour)


def _inputs(state):
    table = Table('input', 'topic', 'Hz', 'age s', '', box=None, pad_edge=False, header_style='dim')
    for name, topic, rate, age, note, good in state.inputs:
        cells = [Text(printable(cell)) for cell in (name, topic, rate, age, note)]
        table.add_row(*cells, style='' if good else 'yellow')
    return table


def _work(state, status, now_s):
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(4):
        table.add_column(no_wrap=True)
    rows = [
        ('commands', f'{state.commands.hz(now_s):.1f} Hz', 'late p50/p99',
         f'{state.late_ms} ms' if state.late_ms else ''),
        ('chunks', f'{state.chunks.hz(now_s):.2f} /s', 'chunk', state.horizon),
        ('tokens', f'{state.tokens.hz(now_s):.1f} /s', 'streams',
         f'{status.live_streams} live, {status.streams_finished} ended, {status.streams_refused} refused'),
        ('frame', f'{status.frame_ms:.0f} ms', 'chunk ready', f'{status.chunk_ready_ms:.0f} ms'),
        ('', '', 'vision + prefill + denoise + decode',
         ' + '.join(f'{value:.0f}' for value in (status.vision_ms, status.prefill_ms, status.denoise_ms,
                                                 status.decode_ms)) + ' ms'),
        ('ticks', f'{status.ticks_fresh} fresh', 'held, silent, lost',
         f'{status.ticks_held}, {status.ticks_silent}, {status.ticks_lost}'),
        ('clamps', f'{status.clamps}', 'chunks rejected', f'{status.chunks_rejected}'),
        ('frames', f'{status.frames}', 'prefills', f'{status.prefills}'),
        ('pool', f'{status.slots_used}/{status.slots_total} slots', 'prefix blocks',
         f'{status.blocks_used}/{status.blocks_total}, {status.pool_bytes / 2**20:.0f} MiB in all'),
    ]
    for name, value, other, more in rows:
        table.add_row(Text(name, 'dim'), value, Text(other, 'dim'), more)
    return table


def _texts(state):
    lines = Text()
    for text in state.texts.values():
        lines.append(f'{printable(text.task)}: ', 'cyan')
        lines.append(' '.join(printable(text.text).split()), '' if text.reason else 'bold')
        lines.append(f'  {text.tokens} tokens, {printable(text.reason)}\n' if text.reason else ' \u2588\n', 'dim')
    return lines
