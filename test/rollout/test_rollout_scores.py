import numpy as np
import pytest

from oxygen_ros.rollout.scores import Episode, jerk_rms, summary, wilson


def episode(kind='pick', success=True, answers=(), commands=None):
    commands = np.zeros((50, 14)) if commands is None else commands
    return Episode.of(commands, 50.0, seed=1, kind=kind, success=success, sim_s=1.0, commanded_s=1.0, chunks=5,
                      answers=answers)


def test_wilson_is_the_textbook_interval():
    low, high = wilson(84, 100)
    assert (low, high) == (pytest.approx(0.7558, abs=1e-4), pytest.approx(0.8990, abs=1e-4))
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(10, 10)[1] == pytest.approx(1.0) and wilson(10, 10)[0] < 0.75


def test_figures_are_split_by_kind_and_question():
    figures = summary([episode(), episode(success=False, answers=(('where', True), ('did', False))),
                       episode('home')], seed=3, mode='oxygen')
    assert figures['success'] == pytest.approx(2 / 3) and figures['episodes'] == 3
    assert figures['by_kind']['pick'] == {'success': 0.5, 'episodes': 2,
                                          'success_ci95': pytest.approx(list(wilson(1, 2)))}
    assert figures['text_accuracy'] == 0.5 and figures['by_question']['did'] == {'right': 0.0, 'asked': 1}
    assert figures['command_rate_hz'] == 50 and figures['chunk_rate_hz'] == 5
    assert {'episodes', 'seed', 'mode', 'success', 'success_ci95', 'by_kind', 'text_accuracy', 'chunk_rate_hz',
            'command_rate_hz', 'jerk_rms'} < set(figures)


def test_no_question_gives_no_accuracy():
    assert summary([episode()], 0, 'oxygen')['text_accuracy'] is None


def test_jerk_of_a_cubic_is_six():
    time = np.arange(50) / 50
    commands = np.zeros((50, 14))
    commands[:] = time[:, None] ** 3
    assert jerk_rms([episode(commands=commands)]) == pytest.approx(6, rel=1e-6)


def test_jerk_of_episodes_counts_every_difference_once():
    fast, still = np.zeros((50, 14)), np.zeros((97, 14))
    fast[:] = (np.arange(50) / 50)[:, None] ** 3
    both = jerk_rms([episode(commands=fast), episode(commands=still)])
    assert both == pytest.approx(6 * (47 / (47 + 94)) ** 0.5, rel=1e-6)
    assert jerk_rms([episode(commands=fast[:3])]) == 0.0


def test_commands_differ_in_their_digest():
    assert episode().digest == episode().digest != episode(commands=np.full((50, 14), 1e-9)).digest
