"""Many episodes, kept in a log, and the verb that plays them."""
import argparse
import json
from types import SimpleNamespace

import numpy as np
import pytest

from oxygen_ros.__main__ import main
from oxygen_ros.cli import rollout as cli
from oxygen_ros.rollout import run as run_module
from oxygen_ros.rollout.log import EpisodeLog
from oxygen_ros.rollout.policy import WEIGHTS
from oxygen_ros.rollout.run import play, Settings
from oxygen_ros.rollout.scores import Episode
from oxygen_ros.sim.instructions import KINDS

pytestmark = pytest.mark.skipif(not WEIGHTS.is_file(), reason='needs the trained weights')


class Loop:
    """Plays nothing: an episode is a function of its scene. `stop_after` episodes it is interrupted."""

    played, stop_after, watch = 0, None, None

    def run(self, seed, goal, said):
        if Loop.played == Loop.stop_after:
            raise KeyboardInterrupt
        Loop.played += 1
        random = np.random.default_rng(seed)
        return Episode.of(random.normal(size=(20, 14)), 50.0, seed=seed, kind=goal.kind, success=random.random() < 0.7,
                          sim_s=0.4, commanded_s=0.4, chunks=2, answers=(('where', True),),
                          place_errors_mm=(1.5, 2.5), frame_ms=(3.0,))

    def close(self):
        pass


@pytest.fixture
def loop(monkeypatch):
    Loop.played, Loop.stop_after = 0, None
    monkeypatch.setattr(Settings, 'loop', lambda self: Loop())
    return Loop


def test_a_run_that_was_stopped_goes_on_and_ends_as_one_that_was_not(loop, tmp_path):
    settings = Settings(seed=4)
    whole = play(settings, 7)
    Loop.played, Loop.stop_after = 0, 3
    with pytest.raises(KeyboardInterrupt):
        play(settings, 7, tmp_path / 'runs' / 'oxygen.jsonl')
    with (tmp_path / 'runs' / 'oxygen.jsonl').open('a') as file:
        file.write('{"seed": 90040')  # stopped in the middle of a line
    Loop.stop_after = None
    resumed = play(settings, 7, tmp_path / 'runs' / 'oxygen.jsonl')
    assert Loop.played == 7 and resumed == whole
    assert play(settings, 7, tmp_path / 'runs' / 'oxygen.jsonl') == whole and Loop.played == 7
    assert run_module.figures(settings, resumed) == run_module.figures(settings, whole)


def test_a_log_of_other_settings_is_refused(loop, tmp_path):
    play(Settings(), 1, tmp_path / 'log.jsonl')
    with pytest.raises(ValueError, match="another run .mode 'oxygen', now 'shared'; delay_s 0.0, now 0.1"):
        play(Settings(mode='shared', delay_s=0.1), 1, tmp_path / 'log.jsonl')


def test_a_log_gives_back_what_it_was_given(tmp_path):
    episode = Loop().run(5, SimpleNamespace(kind='pick'), None)
    EpisodeLog(tmp_path / 'log', {}).add(episode)
    assert EpisodeLog(tmp_path / 'log', {}).episodes == {5: episode}


def test_scenes_are_the_same_for_every_mode_and_differ_by_seed():
    goals = [Settings(mode=mode, seed=seed, topics=topics).scene(1)
             for mode, seed, topics in (('oxygen', 1, ''), ('isolated', 1, 'lockstep'), ('oxygen', 2, ''))]
    assert goals[0] == goals[1] and goals[0][0] != goals[2][0]
    seed, goal, said = Settings(swap_colour=True).scene(1)
    assert goal.colour and goal.colour not in said


@pytest.mark.parametrize('changes, sentence', [
    ({'kinds': ('fold',)}, "kinds .'fold'. are unknown"),
    ({'topics': 'wall', 'delay_s': 0.1}, 'in wall time the delay is what it is'),
    ({'topics': 'lockstep', 'threads': 2}, '--threads is for the run in one process'),
])
def test_settings_that_do_not_fit_are_refused(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        Settings(**changes)


def test_two_modes_are_compared_at_their_measured_delays(loop, tmp_path, capsys):
    measured = tmp_path / 'load.json'
    measured.write_text(json.dumps({'modes': {'oxygen': {'chunk_age_p95_ms': 39.0},
                                              'isolated': {'chunk_age_p95_ms': 40.5}}}))
    assert main(['rollout', '--compare', 'oxygen', 'isolated', '--episodes', '4', '--measured', str(measured),
                 '--log', str(tmp_path / 'log'), '--json', str(tmp_path / 'out.json')]) == 0
    figures = json.loads((tmp_path / 'out.json').read_text())
    assert [figures['modes'][mode]['delay_s'] for mode in figures['compare']] == [0.04, pytest.approx(0.06)]
    assert figures['both'] + figures['neither'] == 4 and figures['same_trajectory'] == 4
    assert figures['difference_ci95'][0] < 0 == figures['difference'] and loop.played == 8
    assert {'success', 'success_ci95', 'text_accuracy', 'jerk_rms'} < set(figures['modes']['isolated'])


@pytest.mark.parametrize('arguments, sentence', [
    (['--delay-s', '0.1', '0.2'], 'several delays and --measured are for --compare'),
    (['--compare', 'oxygen', 'oxygen'], '--compare takes two different modes'),
    (['--movie', 'a.gif', '--topics', 'wall'], '--movie needs simulated time'),
    (['--weights', 'none.safetensors'], 'no weights at none.safetensors'),
    (['--json', 'no/folder/a.json'], 'cannot write no/folder/a.json: its folder does not exist'),
])
def test_the_verb_says_in_a_sentence_what_does_not_go_together(arguments, sentence, capsys):
    assert main(['rollout', '--episodes', '1', *arguments]) == 1
    assert sentence in capsys.readouterr().err


def test_a_swapped_colour_is_asked_only_of_goals_that_have_one():
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    for words, kinds in ((['--swap-colour'], ('pick', 'touch', 'push_front', 'push_back')), ([], KINDS),
                         (['--swap-colour', '--kinds', 'pick'], ('pick',))):
        assert cli.settings_of(parser.parse_args(words), 'oxygen', 0.0).kinds == kinds


@pytest.mark.parametrize('held', [None, 'no JSON', '[]', '{"modes": {"oxygen": {}}}', '{"modes": {"oxygen": 1}}'])
def test_figures_under_load_that_are_none_are_told(held, tmp_path, capsys):
    path = tmp_path / 'load.json'
    if held is not None:
        path.write_text(held)
    assert main(['rollout', '--compare', 'oxygen', 'isolated', '--measured', str(path)]) == 1
    said = capsys.readouterr().err
    assert str(path) in said and '--load' in said
