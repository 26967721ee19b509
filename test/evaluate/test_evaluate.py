"""Whole evaluations of small bags, with an engine that answers at once and holds still."""
import json

import numpy as np
import pytest
from robot_bag import JOINTS, positions, PROFILE, RobotBag, SPEED

from oxygen_ros import share
from oxygen_ros.cli import evaluate as cli
from oxygen_ros.evaluate import evaluate as module
from oxygen_ros.evaluate.evaluate import evaluate, runs_of, table_of
from oxygen_ros.evaluate.plan import Settings, Store
from oxygen_ros.evaluate.unit import run_unit
import oxygen_ros.__main__ as main

CONFIG = str(share.config_file('aloha.yaml'))
LAST_S = (PROFILE.chunk_horizon - 1) * PROFILE.dt_s
# Of the shipped parameters only the robot's are used, so that tuning those of the engine changes nothing here.
FAKE = (('engine.fake', True), ('language.tasks', ('subtask',)), ('language.subtask.every_n_frames', 4),
        ('language.subtask.max_tokens', 16), ('engine.decode_rounds', 2), ('engine.slots', 4))


def settled(**options):
    return Settings(CONFIG, overrides=options.pop('overrides', FAKE), **options)


def run(bags, settings, **options):
    bags = bags if isinstance(bags, list) else [bags]
    outcome = evaluate(bags, settings, **options)
    return outcome, table_of(outcome, settings, bags)


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return RobotBag().write(tmp_path_factory.mktemp('bags') / 'run')


def test_errors_are_those_of_an_engine_that_holds_still_on_a_robot_that_moves(bag):
    _, table = run(bag, settled(delay_ms=0))
    assert table['frames'] == 30 and table['skipped'] == {} and table['reference'] == ['command']
    # Row i of a chunk says where the joint was; the command then is SPEED * i * dt further on, plus 1 mm.
    for joint, speed in zip(table['per_joint'], SPEED):
        rows = [(i, row['n']) for i, row in enumerate(table['horizon'])]
        expected = sum(n * (speed * PROFILE.dt_s * i + 0.001) for i, n in rows) / sum(n for _, n in rows)
        assert joint['mae'] == pytest.approx(expected, rel=0.02, abs=2e-5)
    steps = [row['mae'] for row in table['horizon']]
    assert steps[0] == pytest.approx(0.001, abs=1e-9)
    assert steps[-1] == pytest.approx(np.mean(SPEED) * LAST_S + 0.001, abs=1e-4)
    assert [row['joint'] for row in table['per_joint']] == list(JOINTS)
    # From one picture to the next the robot moves on for 0.1 s.
    assert table['boundary_jump_max'] == pytest.approx(SPEED.max() * 0.1) and table['boundaries'] == 29
    assert table['boundary_jump_joint'] == 'left_waist' and table['clamps'] == 0


def test_a_longer_inference_delay_uses_fewer_pictures_and_jumps_further(bag):
    tables = [run(bag, settled(delay_ms=delay))[1] for delay in (0, 150, 350)]
    assert [table['frames'] for table in tables] == [30, 20, 9]
    # Joint states came at 50 Hz, so from one start to the next the robot was seen to move on by up to 0.36 s of travel.
    assert [table['boundary_jump_max'] / SPEED.max() for table in tables] == pytest.approx([0.1, 0.16, 0.36])
    assert tables[1]['skipped'] == {'engine busy with an earlier frame': 10}


def test_two_runs_give_the_same_bytes_outside_timing(bag, tmp_path):
    texts = []
    for i in range(2):
        file = tmp_path / f'{i}.json'
        settings = [f'{name}:={json.dumps(value)}' for name, value in FAKE]
        arguments = ['evaluate', str(bag), '--set', *settings, '--json', str(file), '--mode', 'oxygen', 'isolated',
                     'shared', '--report', str(tmp_path / 'r')]
        assert main.main(arguments) == 0
        table = json.loads(file.read_text())
        assert set(table.pop('timing')['prefill']) == {'p50', 'p95', 'p99'}
        texts.append(json.dumps(table))
    assert texts[0] == texts[1]
    assert {'bags', 'frames', 'skipped', 'action_mse', 'action_mae', 'per_joint', 'horizon', 'boundary_jump_max',
            'text', 'seed', 'mode'} <= set(table)
    assert table['text'] == {'exact_match': 1.0, 'edit_distance': 0.0, 'compared': 7, 'missing': 0}
    assert set(table['modes']) == {'oxygen', 'isolated', 'shared'}
    page = (tmp_path / 'r' / 'report.html').read_text()
    assert 'isolated' in page and 'run, shared' in page and not (tmp_path / 'r' / 'parts').exists()


@pytest.mark.parametrize('storage, compression', [('sqlite3', 'message'), ('sqlite3', None), ('mcap', 'storage')])
def test_storage_and_compression_change_nothing(bag, tmp_path, storage, compression):
    other = RobotBag().write(tmp_path / 'run', storage=storage, compression=compression)
    first, second = (run(path, settled())[1] for path in (bag, other))
    for table in (first, second):
        table.pop('timing'), table.pop('bags')
    assert first == second


def test_compressed_pictures_and_joints_in_another_order_give_the_same(bag, tmp_path):
    other = RobotBag(pictures='png', names=tuple(reversed(JOINTS))).write(tmp_path / 'run')
    compressed = settled(overrides=(*FAKE, ('image.base_0_rgb.topic', 'top/image_raw/compressed'),
                                    ('image.base_0_rgb.transport', 'compressed')))
    first, second = run(bag, settled())[1], run(other, compressed)[1]
    assert first['action_mae'] == second['action_mae'] and first['frames'] == second['frames']


def test_without_recorded_commands_later_states_are_the_reference(tmp_path):
    _, table = run(RobotBag(commands=False).write(tmp_path / 'run'), settled(delay_ms=0))
    assert table['reference'] == ['state']
    assert table['horizon'][0]['mae'] == pytest.approx(0, abs=1e-12)
    assert table['horizon'][-1]['mae'] == pytest.approx(np.mean(SPEED) * LAST_S, abs=1e-4)


def test_parts_add_up_to_the_whole(bag):
    parts, whole = run(bag, settled(part_s=1.0))[1], run(bag, settled())[1]
    assert parts['frames'] + sum(parts['skipped'].values()) == whole['frames'] + sum(whole['skipped'].values()) == 30
    assert parts['frames'] == pytest.approx(whole['frames'], abs=2)  # a part begins with an idle engine
    assert parts['action_mae'] == pytest.approx(whole['action_mae'], rel=0.1)


def test_an_interrupted_evaluation_goes_on_where_it_was(bag, tmp_path, monkeypatch):
    settings, ran = settled(part_s=1.0), []

    def counted(unit, progress):
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(unit.part)
        return run_unit(unit, progress)

    expected = run(bag, settings)[1]
    monkeypatch.setattr(module, 'run_unit', counted)
    with pytest.raises(KeyboardInterrupt):
        run(bag, settings, store=Store(tmp_path))
    seconds = []
    monkeypatch.setattr(module, 'run_unit', lambda unit, progress: ran.append(unit.part) or run_unit(unit, progress))
    outcome, table = run(bag, settings, store=Store(tmp_path), progress=seconds.append)
    assert ran == [0, 1, 2] and sum(seconds) == pytest.approx(2.98, abs=0.01)
    expected.pop('timing'), table.pop('timing')
    assert table == expected
    (data,) = runs_of(outcome)  # the curves came back from the files too
    assert len(data.curves['measured'].rows) == 150 and np.median(data.intervals_ms()) == pytest.approx(20)


@pytest.mark.parametrize('change', [dict(seed=1), dict(delay_ms=90), dict(overrides=(*FAKE, ('engine.slots', 2)))])
def test_what_was_kept_is_not_used_for_other_settings(bag, tmp_path, monkeypatch, change):
    run(bag, settled(), store=Store(tmp_path))
    ran = []
    monkeypatch.setattr(module, 'run_unit', lambda unit, progress: ran.append(unit) or run_unit(unit, progress))
    run(bag, settled(**change), store=Store(tmp_path))
    assert len(ran) == 1


def test_a_damaged_file_of_an_interrupted_run_is_run_again(bag, tmp_path):
    expected = run(bag, settled(), store=Store(tmp_path))[1]
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text()[:-100])
    table = run(bag, settled(), store=Store(tmp_path))[1]
    assert table['action_mae'] == expected['action_mae']


def test_workers_give_the_same_and_a_failed_bag_ends_nothing(bag, tmp_path):
    bad = RobotBag(seconds=1.0).write(tmp_path / 'bad')
    (bad / 'bad.mcap').write_bytes((bad / 'bad.mcap').read_bytes()[:3000])
    bags = [bad, bag, tmp_path / 'none']
    alone, spread = (run(bags, settled(part_s=1.0), workers=workers)[1] for workers in (1, 2))
    for table in (alone, spread):
        table.pop('timing')
    assert alone == spread
    assert 'truncated' in alone['bags'][0]['error'] and 'does not exist' in alone['bags'][2]['error']
    assert alone['bags'][1]['frames'] == alone['frames'] > 0


def without(topic):
    def make(robot):
        events = robot.events
        robot.events = lambda bag: (event for event in events(bag) if event[1] != topic)
    return make


def stamps_jump_back(robot):
    robot.image_stamp_s = lambda time_s: time_s if time_s < 2 else time_s - 1.5


def depth_only(robot):
    picture = robot.picture

    def depth(bag, time_s):
        message = picture(bag, time_s)
        message.encoding = '16UC1'
        return message
    robot.picture = depth


@pytest.mark.parametrize('spoil, sentence', [
    (without('/top/image_raw'), r'no messages on /top/image_raw; it has: /instruction \(1\), /joint_command \(150\)'),
    (without('/joint_states'), 'no messages on /joint_states'),
    (without('/instruction'), 'no messages on /instruction'),
    (lambda robot: robot.instructions.__setitem__(0, (0.1, '  ')), 'not one frame.*30 instruction empty'),
    (stamps_jump_back, r'clock goes backwards on /top/image_raw, by 1.4 s at 2.0 s'),
    (depth_only, 'not one frame could be run.*30 base_0_rgb refused')])
def test_a_bag_that_cannot_be_evaluated_says_why(tmp_path, spoil, sentence):
    robot = RobotBag()
    spoil(robot)
    _, table = run(robot.write(tmp_path / 'run'), settled(delay_ms=0))
    assert table['frames'] == 0 and table['action_mse'] is None
    import re
    assert re.search(sentence, table['bags'][0]['error']), table['bags'][0]['error']


def test_pictures_before_the_first_instruction_are_skipped_by_name(tmp_path):
    _, table = run(RobotBag(instruction_s=0.55).write(tmp_path / 'run'), settled(delay_ms=0))
    assert table['frames'] == 25 and table['skipped'] == {'no instruction': 5}


def test_a_new_instruction_ends_texts_and_the_frames_obey_it(tmp_path):
    robot = RobotBag(seconds=4.0)
    robot.instructions.append((2.05, 'put it down'))
    outcome, table = run(robot.write(tmp_path / 'run'), settled())
    reasons = [token.finish_reason for token in runs_of(outcome)[0].tokens if token.finish_reason]
    assert table['frames'] > 35 and set(reasons) <= {'eos', 'cancelled'} and 'eos' in reasons


def test_a_question_in_the_bag_is_answered(tmp_path):
    robot = RobotBag()
    robot.extra.append((1.0, '/question', lambda bag: bag.make('std_msgs/msg/String', data='where is it?')))
    outcome, _ = run(robot.write(tmp_path / 'run'), settled())
    assert 'question' in {token.task for token in runs_of(outcome)[0].tokens}


def test_curves_of_a_run_show_what_was_recorded_and_what_would_have_been_published(bag):
    outcome, _ = run(bag, settled())
    (data,) = runs_of(outcome)
    times, values = data.column('recorded command', 'left_waist')
    assert values == pytest.approx(positions(times[:, None])[:, 0] + 0.001, abs=1e-5)
    assert len(data.curves['published command'].rows) > 100 and len(data.chunks.rows) == 30
    assert len(data.thumbnails) > 10 and data.stages.rows[0].keys() == {'vision', 'prefill', 'denoise', 'decode'}


@pytest.mark.parametrize('arguments, sentence', [
    (['--delay-ms', '-1'], '--delay-ms must be'), (['--part', '0'], '--part must be'), (['--set', 'x'], 'name:=value'),
    (['--set', 'nothing:=1'], 'nothing is not known'), (['--set', 'engine.slots:=900'], 'engine.slots is 900'),
    (['--workers', '0'], '--workers'), (['--config', '/nowhere.yaml'], 'nowhere.yaml'),
    (['--json', '/nowhere/x.json'], 'does not exist'), (['--mode', 'oxygen', 'oxygen'], 'each once')])
def test_wrong_options_get_a_sentence(bag, arguments, sentence, capsys):
    assert main.main(['evaluate', str(bag), *arguments]) in (1, 2)
    captured = capsys.readouterr()
    assert sentence in captured.err + captured.out and 'Traceback' not in captured.err


def test_texts_of_an_earlier_run_can_be_the_reference(bag, tmp_path):
    settings = settled()
    outcome, _ = run(bag, settings)
    cli.write_texts(tmp_path / 'texts.json', outcome, 'oxygen')
    reference = cli.read_texts(tmp_path / 'texts.json')
    place = sorted(reference)[0]
    reference[place] = reference[place].replace('not', 'now')
    table = table_of(outcome, settings, [bag], reference)
    assert table['text'] == {'exact_match': 6 / 7, 'edit_distance': 1 / 7, 'compared': 7, 'missing': 0}
