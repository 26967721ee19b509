"""Promise: actions are untouched by language, text is what it would be alone, nothing leaks."""
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
import torch

from oxygen_ros.engine import append
from oxygen_ros.engine.language import TURN, best
from oxygen_ros.engine.request import FinishReason
from oxygen_ros.profile.profile import PrefixMask
from tiny_engine import Log, TinyProcessor, ask, engine, observation, oracle

CLOSE = 1e-3  # a top-two margin below this may fall either way in a batch


def same_text(got, seen, request, mask=PrefixMask.BIDIRECTIONAL, suppressed=()):
    """Tokens equal isolated greedy decoding, up to the first tie that is too close to call."""
    wanted, margins = oracle(seen, request, len(got), mask, suppressed)
    for i, (token, right) in enumerate(zip(got, wanted)):
        if token != right:
            assert margins[i] <= CLOSE, f'token {i} of {request.task}: {got} instead of {wanted}'
            return


FRAME = st.fixed_dictionaries({
    'instruction': st.text('abcdefgh', min_size=1, max_size=12),
    'views': st.integers(1, 3),
    'requests': st.lists(st.tuples(st.integers(1, 9), st.sampled_from(['', 'x', 'where?']),
                                   st.sampled_from(['subtask', 'quiet'])), max_size=3),
    'cancel': st.booleans(),
})


@settings(max_examples=12, deadline=None)
@given(frames=st.lists(FRAME, min_size=1, max_size=5), rounds=st.integers(0, 3), ride=st.booleans(),
       mask=st.sampled_from(list(PrefixMask)), blocks=st.sampled_from([0, 3]), draft=st.sampled_from([0, 3]))
def test_any_mix_of_streams_leaves_actions_and_texts_as_they_are_alone(frames, rounds, ride, mask, blocks, draft):
    alone = engine(TinyProcessor(mask=mask))
    busy = engine(TinyProcessor(mask=mask), slots=4, decode_rounds=rounds, prefix_blocks=blocks,
                  ride=ride, draft_tokens=draft)
    quiet, log, asked = Log(), Log(), {}
    for i, frame in enumerate(frames):
        seen = observation(i, frame['instruction'], frame['views'])
        requests = [ask(*r[:1], suffix=r[1], task=r[2]) for r in frame['requests']]
        alone.run_frame(seen, [], quiet.chunk, quiet.token)
        report = busy.run_frame(seen, requests, log.chunk, log.token)
        asked.update({k: (seen, r) for k, r in zip(report.request_ids, requests)})
        if frame['cancel'] and busy.streams:
            busy.cancel(next(iter(busy.streams)))
    while busy.streams:
        busy.run_frame(seen, [], log.chunk, log.token)
        alone.run_frame(seen, [], quiet.chunk, quiet.token)
        if not rounds:
            busy.cancel_all()
    busy.run_frame(seen, [], log.chunk, log.token)
    alone.run_frame(seen, [], quiet.chunk, quiet.token)

    for a, b in zip(quiet.chunks, log.chunks, strict=True):
        assert np.abs(a.data - b.data).max() <= 1e-6 if ride else np.array_equal(a.data, b.data)
    for request_id, (seen, request) in asked.items():
        ranges = TinyProcessor().suppressed.get(request.task, ())
        same_text(log.tokens(request_id), seen, request, mask, ranges)
        assert len(log.end(request_id)) == 1
        assert not any(first <= t <= last for t in log.tokens(request_id) for first, last in ranges)
        if log.end(request_id) == [FinishReason.LENGTH]:
            assert len(log.tokens(request_id)) == request.max_tokens
    counters = busy.counters
    assert (counters.blocks_used, counters.slots_used, counters.live_streams) == (0, 0, 0)
    assert counters.streams_started == counters.streams_finished
    assert counters.streams_started + counters.streams_refused == len(asked)
    assert counters.prefills == counters.frames == counters.chunks


@pytest.mark.parametrize('mode, prefills', [('oxygen', 1), ('shared', 1), ('isolated', 4)])
def test_the_three_modes_say_the_same_with_their_own_number_of_prefills(mode, prefills):
    made, log = engine(mode=mode, decode_rounds=9), Log()
    requests = [ask(7), ask(4, suffix='why'), ask(1)]
    seen = observation(3)
    report = made.run_frame(seen, requests, log.chunk, log.token)
    for request_id, request in zip(report.request_ids, requests):
        same_text(log.tokens(request_id), seen, request)
        assert log.end(request_id) == [FinishReason.LENGTH]
    assert made.counters.prefills == prefills and made.counters.frames == 1
    assert log.order[0] == 'chunk'


def test_one_weight_pass_a_round_and_no_unused_last_one():
    made, log = engine(slots=4, decode_rounds=1), Log()
    passes = []
    made.model.trunk.layers[1].register_forward_hook(lambda m, i, o: passes.append(len(i[0])))
    made.run_frame(observation(1), [ask(3), ask(3), ask(1)], log.chunk, log.token)
    assert passes[1:] == [2]  # three first tokens came from the prefill, the finished one left the batch
    made.run_frame(observation(2), [ask(2, suffix='ab')], log.chunk, log.token)
    assert passes[3:] == [4]  # two decode rows and the new suffix of two in one pass
    assert [log.tokens(i) for i in (1, 2)] == [log.tokens(1)] * 2 and len(log.tokens(1)) == 3


def test_streams_of_one_frame_store_their_prefix_once():
    made, log = engine(slots=4, decode_rounds=0), Log()
    made.run_frame(observation(1), [ask(9), ask(9, suffix='a'), ask(9, suffix='b')], log.chunk, log.token)
    assert made.counters.blocks_used == 1 and made.pool.references[0] == 3
    assert made.counters.slots_used == 3


def test_a_block_holds_as_many_pictures_as_the_robot_has():
    processor = TinyProcessor()
    processor.profile.views = ('base_0_rgb', 'left_wrist_0_rgb')
    two, three = engine(processor), engine()
    assert three.prefix_positions - two.prefix_positions == two.model.config.image_tokens
    assert two.pool.bytes < three.pool.bytes
    wanted, got = Log(), Log()
    for made, log in ((three, wanted), (two, got)):
        made.run_frame(observation(1), [ask(3)], log.chunk, log.token)
    assert np.array_equal(wanted.chunks[0].data, got.chunks[0].data) and got.tokens(1) == wanted.tokens(1)


def test_end_of_sequence_ends_a_stream_and_is_not_text():
    seen = observation(5)
    wanted, _ = oracle(seen, ask(12), 12)
    stop = wanted[4]
    made, log = engine(TinyProcessor(eos_id=stop), eos=True, decode_rounds=20), Log()
    made.run_frame(seen, [ask(12)], log.chunk, log.token)
    first = wanted.index(stop)
    assert log.tokens(1) == wanted[:first + 1] and log.end(1) == [FinishReason.EOS]
    assert ''.join(e.text for e in log.events) == ''.join(f'{t} ' for t in wanted[:first])


def test_full_slots_refuse_with_a_reason_or_drop_the_oldest():
    made, log = engine(slots=2), Log()
    report = made.run_frame(observation(1), [ask(9), ask(9), ask(9)], log.chunk, log.token)
    assert [r.reason for r in report.refused] == ['all 2 slots are taken']
    assert log.end(3) == [FinishReason.REFUSED] and made.counters.streams_refused == 1

    made, log = engine(slots=2, on_full='drop_oldest'), Log()
    report = made.run_frame(observation(1), [ask(9), ask(9), ask(9)], log.chunk, log.token)
    assert report.refused == () and log.end(1) == [FinishReason.DROPPED] and sorted(made.streams) == [2, 3]
    assert made.counters.streams_dropped == 1
    made.cancel(2)
    assert made.counters.streams_dropped == 1 and made.counters.streams_finished == 2


@pytest.mark.parametrize('share', [0.0, 2.0])
def test_how_much_is_read_of_blocks_and_slots_changes_no_text(monkeypatch, share):
    monkeypatch.setattr('oxygen_ros.engine.append.DENSE_SHARE', share)
    made, log, asked = engine(slots=4, prefix_blocks=5), Log(), {}
    for i, (text, views) in enumerate([('a', 2), ('abcdefgh', 1), ('abc', 2), ('b', 3)]):
        seen, request = observation(i, text, views), ask(6 + i, suffix='xyz'[:i])
        asked[made.run_frame(seen, [request], log.chunk, log.token).request_ids[0]] = seen, request
    while made.streams:
        made.run_frame(seen, [], log.chunk, log.token)
    for request_id, (seen, request) in asked.items():
        same_text(log.tokens(request_id), seen, request)
        assert len(log.tokens(request_id)) == request.max_tokens


def test_of_equally_good_tokens_the_first_is_said():
    logits = torch.tensor([[1.0, 3.0, 3.0, 2.0], [5.0, 5.0, 5.0, 5.0]])
    for dtype in (torch.float32, torch.bfloat16):
        assert best(logits.to(dtype)).tolist() == [1, 0]


def test_requests_larger_than_a_slot_are_refused_with_numbers():
    made, log = engine(), Log()
    report = made.run_frame(observation(1), [ask(25), ask(3, suffix='123456789')], log.chunk, log.token)
    assert [r.reason for r in report.refused] == ['25 tokens wanted, a slot holds 24',
                                                  'the suffix has 9 tokens, a slot holds 8']


def test_blocks_run_out_and_the_oldest_text_ends_never_the_action():
    made, log = engine(slots=4, prefix_blocks=2, decode_rounds=1), Log()
    for i in range(4):
        made.run_frame(observation(i), [ask(20)], log.chunk, log.token)
    assert len(log.chunks) == 4
    assert [log.end(i) for i in (1, 2, 3, 4)] == [[FinishReason.DROPPED]] * 2 + [[]] * 2


def test_cancel_from_a_callback_and_unknown_ids():
    made, log = engine(decode_rounds=5), Log()

    def token(event):
        log.token(event)
        if event.request_id == 1 and event.index == 2:
            made.cancel(1)
            made.cancel(2, FinishReason.DROPPED)

    made.run_frame(observation(1), [ask(20), ask(20)], log.chunk, token)
    assert len(log.tokens(1)) == 3 and log.end(1) == [FinishReason.CANCELLED]
    assert len(log.tokens(2)) == 2 and log.end(2) == [FinishReason.DROPPED]
    for gone in (1, 2, 99):
        with pytest.raises(KeyError, match=f'no live stream has the request id {gone}'):
            made.cancel(gone)
    report = made.run_frame(observation(2), [ask(3)], log.chunk, log.token)
    assert report.request_ids == (3,)


def test_noise_depends_on_seed_and_frame_only():
    first, log = engine(seed=4), Log()
    for i in (1, 1):
        first.run_frame(observation(i), [ask(3)], log.chunk, log.token)
    second, again = engine(seed=4), Log()
    for i in (9, 1):
        second.run_frame(observation(i), [], again.chunk, again.token)
    other, third = engine(seed=5), Log()
    other.run_frame(observation(1), [], third.chunk, third.token)
    assert np.array_equal(log.chunks[1].data, again.chunks[1].data)
    assert not np.array_equal(log.chunks[0].data, log.chunks[1].data)
    assert not np.array_equal(log.chunks[0].data, third.chunks[0].data)


def test_a_refused_observation_changes_nothing():
    made, log = engine(), Log()
    with pytest.raises(ValueError, match='the prompt has 64 tokens, the engine holds 40'):
        made.run_frame(observation(1, 'p' * 60), [ask(3)], log.chunk, log.token)
    assert made.counters.frames == 0 and made.counters.blocks_used == 0 and log.order == []


def test_what_did_not_fit_into_the_prompt_is_reported_and_summed():
    made, log = engine(), Log()
    far = replace(observation(1), state=np.array([0.5, -0.5, -0.1]))
    for seen, outside in ((observation(1), 0), (far, 2), (far, 2)):
        report = made.run_frame(seen, [], log.chunk, log.token)
        assert (report.state_out_of_range, report.dropped_characters) == (outside, 2)
    assert (made.counters.state_out_of_range, made.counters.dropped_characters) == (4, 6)


def test_warm_up_counts_nothing_and_close_ends_all():
    made, log = engine(), Log()
    made.warm_up()
    assert (made.counters.prefills, made.counters.blocks_used, made.counters.slots_used) == (0, 0, 0)
    made.run_frame(observation(1), [ask(20)], log.chunk, log.token)
    made.close()
    assert made.counters.blocks_used == 0 and made.streams == {}


def test_model_and_configuration_must_agree():
    with pytest.raises(ValueError, match='float32 .* bfloat16 on cpu'):
        engine(dtype='bfloat16')


def test_ten_thousand_streams_leave_the_pool_empty():
    made, log, random = engine(slots=8, decode_rounds=6), Log(), np.random.default_rng(2)
    seen, events = [observation(i) for i in range(4)], 0
    address = made.pool.prefix.data_ptr(), made.pool.slots.data_ptr()
    while events < 10_000:
        requests = [ask(int(n), suffix='ab'[:int(n) % 3]) for n in random.integers(1, 25, random.integers(0, 20))]
        report = made.run_frame(seen[events % 4], requests, log.chunk, log.token)
        events += len(requests) + report.tokens
        for request_id in list(made.streams):
            if random.random() < 0.1:
                made.cancel(request_id)
                events += 1
    made.cancel_all()
    made.run_frame(seen[0], [], log.chunk, log.token)
    assert (made.counters.blocks_used, made.counters.slots_used) == (0, 0)
    assert made.counters.streams_started == made.counters.streams_finished
    assert (made.pool.prefix.data_ptr(), made.pool.slots.data_ptr()) == address


def test_riding_rows_share_the_weight_pass_of_the_next_prefill():
    made, log = engine(slots=4, ride=True), Log()
    passes = []
    made.model.trunk.layers[1].register_forward_hook(lambda m, i, o: passes.append(len(i[0])))
    seen = observation(1)
    for _ in range(3):
        made.run_frame(seen, [ask(3)], log.chunk, log.token)
    assert passes == [passes[0] + extra for extra in (0, 1, 2)]  # no forward but the prefills
    assert made.counters.prefills == 3
    same_text(log.tokens(1), seen, ask(3))
    assert log.end(1) == [FinishReason.LENGTH]


def test_a_draft_from_the_last_answer_saves_rounds_and_changes_no_token():
    seen, request = observation(4), ask(20)
    made, log = engine(draft_tokens=4, decode_rounds=30), Log()
    made.run_frame(seen, [request], log.chunk, log.token)
    plain = made.counters.decode_rounds
    made.run_frame(seen, [request], log.chunk, log.token)
    drafted = made.counters.decode_rounds - plain
    assert plain == 19 and drafted <= plain // 2
    assert log.tokens(2) == log.tokens(1)
    same_text(log.tokens(2), seen, request)
    assert made.counters.accepted > 12


def test_a_useless_draft_is_given_up():
    made, log = engine(draft_tokens=4, decode_rounds=30), Log()
    for seed in range(2):
        made.run_frame(observation(seed), [ask(20)], log.chunk, log.token)
    made.language.drafts.finished['subtask'] = (96,) * 20  # never right
    before = made.counters.drafted
    made.run_frame(observation(9), [ask(24)], log.chunk, log.token)
    same_text(log.tokens(3), observation(9), ask(24))
    assert 0 < made.counters.drafted - before < 30


def test_late_streams_are_dropped_and_priority_makes_room():
    from oxygen_ros.engine.request import LanguageRequest
    now = [0.0]
    made, log = engine(slots=2, on_full='drop_oldest'), Log()
    made.clock = lambda: now[0]
    low, high = LanguageRequest('low', '', 20, within_s=5), LanguageRequest('high', '', 20, priority=1)
    made.run_frame(observation(1), [high, low], log.chunk, log.token)
    made.run_frame(observation(2), [LanguageRequest('lower', '', 20, priority=-1)], log.chunk, log.token)
    assert log.end(3) == [FinishReason.REFUSED]
    now[0] = 6.0
    made.run_frame(observation(3), [], log.chunk, log.token)
    assert log.end(2) == [FinishReason.DROPPED] and log.end(1) == []


def test_with_too_little_time_streams_take_turns():
    made, log = engine(slots=3, decode_rounds=1), Log()
    made.deadline.rows_that_fit = lambda rows, since: min(rows, 1)
    for i in range(7):
        made.run_frame(observation(1), [ask(20)] * 3 if i == 0 else [], log.chunk, log.token)
    assert [len(log.tokens(i)) for i in (1, 2, 3)] == [4, 3, 3]


def test_with_too_little_time_the_higher_priority_goes_first_and_nobody_starves():
    from oxygen_ros.engine.request import LanguageRequest
    made, log = engine(slots=4, decode_rounds=1), Log()
    made.deadline.rows_that_fit = lambda rows, since: min(rows, 1)
    asked = [LanguageRequest('now', '', 24, priority=9), LanguageRequest('later', '', 24, priority=0),
             LanguageRequest('someday', '', 24, priority=-100)]
    for i in range(3 * TURN):
        asked_now = asked if i == 0 else [asked[0]] if i == 2 * TURN else []
        made.run_frame(observation(1), asked_now, log.chunk, log.token)
    said = [len(log.tokens(i)) - 1 for i in (1, 2, 3)]
    assert said[0] >= 2 * (TURN - 1) and said[1] >= 1 and said[2] >= 1


def test_streams_of_one_frame_read_its_prefix_once(monkeypatch):
    read = []
    scores = append.group_scores
    monkeypatch.setattr(append, 'group_scores', lambda q, k: read.append(k) or scores(q, k))
    made, log = engine(slots=4, decode_rounds=1), Log()
    made.run_frame(observation(1), [ask(9)] * 4, log.chunk, log.token)
    block = made.pool.prefix[:, 0, 0]
    over_prefix = [k for k in read if k.untyped_storage().data_ptr() == block.untyped_storage().data_ptr()]
    assert len(over_prefix) == made.model.config.depth  # once a layer
    assert all(k.shape[0] == 1 and k.data_ptr() == block[i].data_ptr() for i, k in enumerate(over_prefix))
    rows = append.Append(made.pool, list(made.streams.values()), [[5]] * 4, [1] * 4)
    assert (rows.by_block.groups, rows.by_block.rows) == (1, 4)


@pytest.mark.parametrize('static', [False, True])
def test_all_requests_of_a_frame_get_their_first_token_from_one_product(static):
    made, log, calls = engine(slots=6, decode_rounds=0, static=static), Log(), []
    made.warm_up()
    greedy = made.language.greedy
    made.language.greedy = lambda streams, drafts, logits: calls.append(len(streams)) or greedy(streams, drafts, logits)
    made.run_frame(observation(1), [ask(9), ask(1), ask(9, task='quiet'), ask(9, suffix='x')], log.chunk, log.token)
    assert calls == [3] and [len(log.tokens(i)) for i in (1, 2, 3, 4)] == [1, 1, 1, 0]
    same_text(log.tokens(3), observation(1), ask(9, task='quiet'), suppressed=TinyProcessor().suppressed['quiet'])


def test_a_text_of_one_token_leaves_its_slot_to_the_next_request_of_the_frame():
    made, log = engine(slots=1, decode_rounds=0), Log()
    report = made.run_frame(observation(1), [ask(1), ask(1), ask(2), ask(1)], log.chunk, log.token)
    assert [log.end(i) for i in (1, 2, 3)] == [[FinishReason.LENGTH]] * 2 + [[]]
    assert [r.request_id for r in report.refused] == [4]


def test_without_time_only_the_action_runs():
    made, log = engine(slots=3, decode_rounds=4, deadline_s=1e-6), Log()
    for _ in range(3):
        made.run_frame(observation(1), [ask(20)], log.chunk, log.token)
    assert len(log.chunks) == 3 and made.counters.decode_rounds == 0
    assert made.counters.late_chunks == 2


@pytest.mark.parametrize('option', [{'fold_times': False}, {'trim_last_layer': False}])
def test_what_is_switched_off_to_be_measured_changes_no_result(option):
    plain, other, log, same = engine(), engine(**option), Log(), Log()
    for i in range(2):
        plain.run_frame(observation(i), [ask(4)], log.chunk, log.token)
        other.run_frame(observation(i), [ask(4)], same.chunk, same.token)
    assert all(np.abs(a.data - b.data).max() < 1e-5 for a, b in zip(log.chunks, same.chunks, strict=True))
    assert log.tokens(1) == same.tokens(1)


def test_steady_traffic_keeps_no_tensor_and_grows_no_pool():
    import gc

    import torch

    def alive():
        gc.collect()
        return sum(issubclass(type(x), torch.Tensor) for x in gc.get_objects())

    made = engine(slots=4, decode_rounds=2, draft_tokens=2)
    for i in range(8):
        made.run_frame(observation(i % 3), [ask(6)], lambda chunk: None, lambda event: None)
    before, held = alive(), made.pool.bytes
    for i in range(12):
        made.run_frame(observation(i % 3), [ask(6)], lambda chunk: None, lambda event: None)
    assert alive() == before and made.pool.bytes == held
