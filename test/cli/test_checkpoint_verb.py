import json
from pathlib import Path
import re
import shutil

import checkpoints
import pytest

from oxygen_ros.__main__ import main
from oxygen_ros.model.config import CONFIGS
from oxygen_ros.profile.tokenizer import SMALL


@pytest.fixture(scope='module')
def written(tmp_path_factory):
    return checkpoints.write_checkpoint(tmp_path_factory.mktemp('nano'), CONFIGS['nano'])


@pytest.fixture
def nano(written, tmp_path):
    return Path(shutil.copytree(written.parent, tmp_path / 'nano')) / written.name


def test_a_good_checkpoint_is_described_and_runs(nano, capsys):
    assert main(['checkpoint', str(nano), '--profile', 'aloha_sim']) == 0
    out = capsys.readouterr().out
    for text in ('openpi names', 'model:      nano', 'tokenizer:', 'all finite', 'aloha_sim: base_0_rgb', 'will run'):
        assert text in out, text


def test_the_weights_of_the_package_run_with_their_profile(capsys):
    assert main(['checkpoint', 'nano', '--profile', 'aloha_sim']) == 0
    assert 'all finite' in capsys.readouterr().out


def test_without_a_profile_those_that_agree_are_listed(nano, capsys):
    assert main(['checkpoint', str(nano.parent), '--quick']) == 0
    assert 'profiles:   aloha_sim agree' in capsys.readouterr().out


def test_the_profile_beside_the_weights_is_used_and_checked(nano, capsys):
    table = {'model': 'nano', 'views': ['base_0_rgb'], 'joints': ['a'], 'action_kind': 'joint_position',
             'chunk_horizon': 5, 'dt_s': 0.1, 'statistics': 'checkpoint'}
    (nano.parent / 'profile.yaml').write_text(json.dumps(table))
    assert main(['checkpoint', str(nano)]) == 1
    out = capsys.readouterr().out
    assert 'statistics come from the checkpoint, and none were read' in out and 'will not run' in out


def test_a_nan_is_found_unless_quick(tmp_path, capsys):
    def break_one(name, tensor):
        return tensor * float('nan') if name == 'action_out_proj.bias' else tensor
    path = checkpoints.write_checkpoint(tmp_path, CONFIGS['nano'], change=break_one)
    assert main(['checkpoint', str(path), '--profile', 'aloha_sim']) == 1
    assert 'action_out_proj.bias has NaN' in capsys.readouterr().out
    assert main(['checkpoint', str(path), '--profile', 'aloha_sim', '--quick']) == 0


def test_a_missing_tokenizer_and_a_wrong_profile_are_problems(nano, tmp_path, capsys):
    assert main(['checkpoint', str(nano), '--profile', 'aloha_sim', '--tokenizer', str(tmp_path)]) == 1
    assert 'gs://big_vision' in capsys.readouterr().out
    assert main(['checkpoint', str(nano), '--profile', 'droid']) == 1
    assert 'statistics come from the checkpoint' in capsys.readouterr().out


@pytest.mark.parametrize('make, sentence', [
    (lambda p: shutil.rmtree(p.parent), 'no checkpoint at'),
    (lambda p: p.write_bytes(p.read_bytes()[:5000]), 'cut short'),
    (lambda p: p.write_bytes(b'PK\x03\x04' + bytes(99)), 'pickled'),
    (lambda p: checkpoints.write_safetensors(p, [('state_proj.weight', 'x', (2, 2))], 0, 'fp32'), 'is pi0, not pi0.5'),
    (lambda p: checkpoints.write_safetensors(p, [('time_mlp_in.weight', 'x', (160, 160)),
                                                 (checkpoints.HEAD, 'x', (1024, 192))], 0, 'fp32'),
     'not a complete nano: .*missing'),
])
def test_each_broken_file_gets_a_sentence_and_a_status(nano, make, sentence, capsys):
    make(nano)
    assert main(['checkpoint', str(nano.parent)]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith('will not run')]

    assert any(re.search(sentence, line) for line in lines), lines


def test_a_tokenizer_beside_the_weights_is_named(nano, capsys):
    shutil.copy(SMALL, nano.parent / 'tokenizer.model')
    assert main(['checkpoint', str(nano), '--profile', 'aloha_sim', '--quick']) == 0
    assert str(nano.parent / 'tokenizer.model') in capsys.readouterr().out
