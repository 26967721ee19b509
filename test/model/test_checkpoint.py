import json
import pickle

import checkpoints
import pytest
from safetensors.torch import load_file, save_file
import torch

from oxygen_ros.model.checkpoint import check_tensors, head_differs, load_into, open_checkpoint, read_tensors
from oxygen_ros.model.config import CONFIGS, Pi05Config
from oxygen_ros.model.pi05 import Pi05
from oxygen_ros.model.safetensors_header import read_header

TINY = Pi05Config(vision_width=16, vision_depth=1, vision_mlp=16, vision_heads=2, trunk_width=16, trunk_mlp=16,
                  expert_width=8, expert_mlp=16, depth=1, heads=2, head_dim=8, vocabulary=32, image_size=28, horizon=4)
DEAD = checkpoints.DEAD


def weights(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def write(tmp_path, layout='openpi', **more):
    return checkpoints.write_checkpoint(tmp_path / layout, TINY, layout, **more)


@pytest.mark.parametrize('layout', [name for name in checkpoints.LAYOUTS if name != 'openpi'])
def test_every_layout_gives_the_same_weights_as_openpi(tmp_path, layout):
    one, other = (load_into(Pi05(TINY), open_checkpoint(write(tmp_path, name, dtype='fp32').parent), progress=False)
                  for name in ('openpi', layout))
    assert weights(one).keys() == weights(other).keys()
    for name, value in weights(one).items():
        assert torch.equal(value, weights(other)[name]), name
    assert other.head is None


def test_the_dead_head_is_dropped_and_the_tied_pair_is_one(tmp_path):
    found = open_checkpoint(write(tmp_path))
    assert found.dropped == (DEAD,) and 'language head only, tied' in found.layout and 'openpi names' in found.layout
    assert sum('embed_tokens' in name or 'lm_head' in name for name in found.tensors) == 1
    assert 'LeRobot names' in open_checkpoint(write(tmp_path, 'lerobot_untied')).layout


@pytest.mark.parametrize('stored, wanted', [
    ('fp32', torch.bfloat16), ('bf16', torch.float32), ('bf16', torch.bfloat16)])
def test_weights_arrive_in_the_type_of_the_model(tmp_path, stored, wanted):
    path = write(tmp_path, dtype=stored)
    model = load_into(Pi05(TINY, dtype=wanted), open_checkpoint(path), progress=False)
    expected = load_file(path)[checkpoints.HEAD].to(wanted)
    assert model.embedding.dtype == wanted and torch.equal(model.embedding, expected)


def test_a_language_head_trained_apart_is_kept(tmp_path):
    def apart(name, tensor):
        return tensor + 1 if 'paligemma.lm_head' in name else tensor
    path = write(tmp_path, 'lerobot_untied', dtype='fp32', change=apart)
    found = open_checkpoint(path)
    model = load_into(Pi05(TINY), found, progress=False)
    assert head_differs(found) and not head_differs(open_checkpoint(write(tmp_path / 'same', 'lerobot_untied')))
    assert torch.equal(model.head.weight, model.embedding + 1)


def edit(path, action):
    tensors = load_file(path)
    action(tensors)
    save_file(tensors, path)
    return path


@pytest.mark.parametrize('action, sentence', [
    (lambda t: t.pop('time_mlp_out.bias'), '1 missing: time_mlp_out.bias'),
    (lambda t: t.update(extra=torch.zeros(2)), '1 unknown: extra'),
    (lambda t: t.update({'action_in_proj.weight': torch.zeros(8, 31)}),
     r'action_in_proj.weight is \[8, 31\] in the file and \[8, 32\] in the model'),
])
def test_tensors_that_do_not_fit_are_named(tmp_path, action, sentence):
    found = open_checkpoint(edit(write(tmp_path), action))
    with pytest.raises(ValueError, match=sentence):
        check_tensors(found, TINY)
    with pytest.raises(ValueError, match=sentence):
        load_into(Pi05(TINY), found, progress=False)


@pytest.mark.parametrize('bad', [float('nan'), float('inf')])
def test_a_tensor_that_is_not_finite_is_named(tmp_path, bad):
    def break_one(name, tensor):
        if name == 'time_mlp_in.weight':
            tensor[3, 2] = bad
        return tensor
    found = open_checkpoint(write(tmp_path, change=break_one))
    with pytest.raises(ValueError, match='time_mlp_in.weight has NaN or infinite'):
        load_into(Pi05(TINY), found, progress=False)


@pytest.mark.parametrize('action, sentence', [
    (lambda t: t.update({'state_proj.weight': torch.zeros(2)}), 'is pi0, not pi0.5'),
    (lambda t: t.update({'model.action_time_mlp_in.weight': torch.zeros(2)}), 'is pi0, not pi0.5'),
    (lambda t: t.update({'proprio_history_proj.weight': torch.zeros(2)}), 'memory inputs'),
    (lambda t: [t.pop(k) for k in list(t) if 'time_mlp' in k], 'is not pi0.5: no time_mlp_in'),
    (lambda t: t.pop(checkpoints.HEAD), 'the token embedding is lost'),
    (lambda t: t.update({'model.action_in_proj.bias': torch.zeros(8)}), 'which are the same tensor'),
    (lambda t: t.update({'action_in_proj.bias': torch.zeros(8, dtype=torch.int8)}), 'has type I8'),
])
def test_files_of_another_kind_are_refused(tmp_path, action, sentence):
    with pytest.raises(ValueError, match=sentence):
        open_checkpoint(edit(write(tmp_path), action))


def header(path, table):
    text = json.dumps(table).encode()
    path.write_bytes(len(text).to_bytes(8, 'little') + text + bytes(16))
    return path


@pytest.mark.parametrize('make, sentence', [
    (lambda p: p.write_bytes(b'abc'), 'too few'),
    (lambda p: p.write_bytes((1 << 60).to_bytes(8, 'little') + bytes(99)), 'header would have'),
    (lambda p: p.write_bytes((500).to_bytes(8, 'little') + b'{}'), 'cut short'),
    (lambda p: p.write_bytes((40).to_bytes(8, 'little') + b'[' * 99), 'not JSON|not safetensors'),
    (lambda p: p.write_bytes(pickle.dumps({'a': 1})), 'pickled'),
    (lambda p: p.write_bytes(b'PK\x03\x04' + bytes(60)), 'pickled'),
    (lambda p: header(p, {'a': {'dtype': 'F32', 'shape': [1 << 40], 'data_offsets': [0, 16]}}), 'needs 4398046511104'),
    (lambda p: header(p, {'a': {'dtype': 'F32', 'shape': [-1], 'data_offsets': [0, 16]}}), 'has the shape'),
    (lambda p: header(p, {'a': {'dtype': 'F99', 'shape': [1], 'data_offsets': [0, 4]}}), 'unknown type'),
    (lambda p: header(p, {'a': {'dtype': 'F32', 'shape': [8], 'data_offsets': [0, 32]}}), 'cut short'),
    (lambda p: header(p, {'a': 3}), 'described wrongly'),
])
def test_hostile_headers_are_refused_before_anything_is_read(tmp_path, make, sentence):
    path = tmp_path / 'model.safetensors'
    make(path)
    with pytest.raises(ValueError, match=sentence):
        read_header(path)


def test_a_file_cut_short_is_refused(tmp_path):
    path = write(tmp_path)
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(ValueError, match='cut short'):
        open_checkpoint(path)


def test_tensors_that_overlap_are_refused_with_a_sentence(tmp_path):
    path = write(tmp_path, dtype='fp32')
    content = path.read_bytes()
    length = int.from_bytes(content[:8], 'little')
    table = json.loads(content[8:8 + length])
    table['time_mlp_in.bias']['data_offsets'] = table['time_mlp_out.bias']['data_offsets']
    text = json.dumps(table).encode().ljust(length)
    path.write_bytes(content[:8] + text[:length] + content[8 + length:])
    with pytest.raises(ValueError, match='cannot be read'):
        load_into(Pi05(TINY), open_checkpoint(path), progress=False)


def test_folders_of_another_kind_are_refused_with_what_to_do(tmp_path):
    (tmp_path / 'jax' / 'params').mkdir(parents=True)
    (tmp_path / 'jax' / 'params' / '_METADATA').write_text('{}')
    with pytest.raises(ValueError, match='JAX checkpoint.*convert_jax_model_to_pytorch.py --checkpoint_dir .*jax '):
        open_checkpoint(tmp_path / 'jax')
    (tmp_path / 'torch').mkdir()
    (tmp_path / 'torch' / 'pytorch_model.bin').write_bytes(pickle.dumps(1))
    with pytest.raises(ValueError, match='pickled weights'):
        open_checkpoint(tmp_path / 'torch')
    (tmp_path / 'lora').mkdir()
    (tmp_path / 'lora' / 'adapter_model.safetensors').touch()
    with pytest.raises(ValueError, match='LoRA'):
        open_checkpoint(tmp_path / 'lora')
    for path in (tmp_path / 'absent', tmp_path):
        with pytest.raises(FileNotFoundError, match='no checkpoint at|no model.safetensors in'):
            open_checkpoint(path)


def test_a_training_folder_and_shards_are_found(tmp_path):
    path = write(tmp_path)
    inner = tmp_path / 'last' / 'pretrained_model'
    inner.mkdir(parents=True)
    tensors = load_file(path)
    names = sorted(tensors)
    for i, part in enumerate((names[:20], names[20:]), 1):
        save_file({name: tensors[name] for name in part}, inner / f'model-0000{i}-of-00002.safetensors')
    found = open_checkpoint(tmp_path / 'last')
    loaded = dict(read_tensors(found, progress=False))
    assert found.folder == inner and len(loaded) == len(names) - 1
    (inner / 'model-00002-of-00002.safetensors').unlink()
    with pytest.raises(ValueError, match='1 of the 2 parts'):
        open_checkpoint(tmp_path / 'last')


def test_the_full_size_names_and_shapes_are_those_of_lerobot(golden_keys):
    config = CONFIGS['pi05']
    published = {name: tuple(row[0]) for name, row in golden_keys.items()}
    ours = {name: shape for name, _, shape in checkpoints.stored_names(config, 'lerobot_untied')}
    assert {'model.' + name: shape for name, shape in published.items()} == ours


def test_the_file_size_of_the_published_float32_file_is_met_to_the_byte(tmp_path):
    rows = checkpoints.stored_names(CONFIGS['pi05'], 'openpi')
    assert len(rows) == 812
    assert sum(torch.Size(shape).numel() for _, _, shape in rows) == 3616757520


@pytest.fixture(scope='module')
def golden_keys(request):
    return json.loads((request.config.rootpath / 'test' / 'data' / 'pi05_full_keys.json').read_text())
