from types import SimpleNamespace

import numpy as np
import pytest

from oxygen_ros.demo import summary

KEYS = ('control_rate_hz_target control_rate_hz control_late_ms_p50 control_late_ms_p99 images_sent images_received '
        'frames prefills chunks streams_started streams_finished tokens max_live_streams ticks_fresh ticks_held '
        'chunk_age_ms_p99 host').split()


@pytest.fixture
def monitor():
    status = SimpleNamespace(images_received=590, frames=300, prefills=300, chunks=300, streams_started=300,
                             streams_finished=296, tokens=4000, max_live_streams=7, ticks_fresh=1190, ticks_held=10)
    return SimpleNamespace(command_times_s=list(np.arange(1200) / 60), status=status, images_sent=600,
                           chunk_ages_ms=[40.0] * 100, finished_texts=[('subtask', ' reach for it', 'eos')])


def test_the_figures_have_exactly_the_documented_keys(monitor):
    figures = summary.summarise(monitor, 60.0)
    assert list(figures) == KEYS
    assert figures['control_rate_hz'] == pytest.approx(60.0)
    assert all(isinstance(value, (int, float)) for key, value in figures.items() if key != 'host')


def test_the_screen_shows_rate_losses_and_text_within_one_screen(monitor):
    figures = summary.summarise(monitor, 60.0)
    text = summary.screen(figures, monitor, 'recordings/x')
    assert '60.00 Hz' in text and '98 %' in text and 'reach for it' in text
    assert len(text.splitlines()) <= 24


def test_a_run_without_commands_is_not_summed_up(monitor):
    monitor.command_times_s = []
    with pytest.raises(ValueError, match='no joint command'):
        summary.summarise(monitor, 60.0)
