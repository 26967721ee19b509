"""One observation in, one action chunk and the next tokens of every language stream out."""
from dataclasses import replace
import time

import torch

from oxygen_ros.engine.append import Append
from oxygen_ros.engine.config import Mode, OnFull
from oxygen_ros.engine.counters import Counters, PrefillCounter
from oxygen_ros.engine.deadline import DeadlineController
from oxygen_ros.engine.guidance import Guidance
from oxygen_ros.engine.hierarchy import Hierarchy
from oxygen_ros.engine.kv_pool import KVPool
from oxygen_ros.engine.language import LanguageBatch, Source
from oxygen_ros.engine.noise import action_noise
from oxygen_ros.engine.report import FrameReport
from oxygen_ros.engine.request import FinishReason
from oxygen_ros.engine.ride import Ride, RideChoice
from oxygen_ros.engine.stage_times import StageTimes
from oxygen_ros.engine.static_paths import MOST_PENDING, StaticPaths
from oxygen_ros.engine.stream import Stream
from oxygen_ros.model.huge_pages import gather
from oxygen_ros.model.time_condition import euler_times
from oxygen_ros.model.transfer import to_device


# Below this all weights stay in a CPU's caches, where the plain kernel has the smaller overhead.
PACK_FROM_BYTES = 64 << 20


class Engine:
    """
    Runs frames; used from one thread only.

    The model's weights are prepared here (and packed, with `config.pack`): give the model to one engine. Language
    never delays an action: the chunk leaves before any stream is advanced, and a full pool refuses or drops language.
    """

    def __init__(self, model, processor, config, clock=time.perf_counter):
        if str(model.dtype).removeprefix('torch.') != config.dtype or model.device.type != config.device.split(':')[0]:
            raise ValueError(f'the model is {model.dtype} on {model.device}, the engine is configured for '
                             f'{config.dtype} on {config.device}')
        self.model, self.processor, self.config, self.clock = model.eval(), processor, config, clock
        c = model.config
        self.prefix_positions = self._most_views() * c.image_tokens + config.max_prompt_tokens
        own = config.max_suffix_tokens + config.max_new_tokens
        if self.prefix_positions + max(own, c.horizon) > model.max_positions:
            raise ValueError(f'{self.prefix_positions} prefix and {max(own, c.horizon)} further positions are more '
                             f'than the model\'s {model.max_positions}: lower max_prompt_tokens or max_new_tokens')
        # The chunk's own keys lie behind the prefix while it is denoised, hence H positions more.
        self.hierarchy = Hierarchy() if getattr(processor.profile, 'high_level_prompt', '') else None
        blocks = config.blocks + (self.hierarchy is not None)  # the second prefix of a frame that asks for a subtask
        self.pool = KVPool(c, blocks, self.prefix_positions + c.horizon, config.slots, own, model.dtype,
                           model.device, spare_slot=config.in_fixed_shapes)
        rule = getattr(processor.profile, 'time_rule', 'lerobot')
        self.tables = model.prepare(config.denoise_steps, rule, config.pack and model.weight_bytes() >= PACK_FROM_BYTES)
        if model.packed:
            gather([*model.weights(), self.pool.prefix, self.pool.slots])
        self.times = euler_times(config.denoise_steps, rule).to(model.device)
        self.mask = processor.profile.prefix_mask
        self.prefill_counter = PrefillCounter(model)
        self.guide = None  # observation -> Guidance or None: real-time chunking (control/rtc.py)
        self._counters = Counters(slots_total=config.slots, blocks_total=blocks, pool_bytes=self.pool.bytes)
        self.language = LanguageBatch(model, self.pool, processor, config, self._counters)
        self.deadline = DeadlineController(config.deadline_s)
        self.ride_choice = RideChoice()
        self.static = None  # StaticPaths, made in warm_up
        self.chunk_left_s = None  # when the last chunk left, on the engine's clock
        self._next_request, self._next_frame = 1, 0
        if config.threads:
            torch.set_num_threads(config.threads)

    @property
    def counters(self):
        """Counters with the gauges brought up to date."""
        counters = self._counters
        counters.prefills = self.prefill_counter.prefills
        counters.captures = 0 if self.static is None else self.static.captures.count
        counters.live_streams, counters.slots_used = len(self.streams), self.pool.slots_used
        counters.blocks_used = self.pool.blocks_used
        counters.max_live_streams = max(counters.max_live_streams, len(self.streams))
        return counters

    @property
    def streams(self):
        """Live streams by request id, oldest first."""
        return self.language.streams

    @property
    def next_request_id(self):
        """The id that the first request of the next frame will get."""
        return self._next_request

    @torch.inference_mode()
    def warm_up(self):
        """Run every stage once on scratch data, so that the first frame is not the slow one; nothing is counted."""
        c, block = self.model.config, self.pool.take_block()
        before = self.prefill_counter.vision_runs, self.prefill_counter.trunk_runs
        device = self.model.device
        tokens = self.model.embed_images(torch.rand(1, 3, c.image_size, c.image_size, device=device))
        hidden = self.model.prefill(tokens, torch.zeros(8, dtype=torch.long, device=device), self.pool.block(block),
                                    self.mask)
        self.model.logits(hidden)
        nothing = torch.zeros(c.horizon, c.action_dim, device=device)
        for guidance in (None, Guidance(nothing, nothing)) if self.guide is not None else (None,):
            self.model.denoise(nothing, self.pool.block(block), len(tokens) + 8, self.tables, guidance)
        slot = self.pool.take_slot()
        append = Append(self.pool, [Stream(0, 0, 0, None, block, len(tokens) + 8, slot, [0], None)], [[0]], [1])
        self.model.extend(append.tokens, append.positions, append.attend)
        self.pool.release_slot(slot)
        self.pool.release_block(block)
        if self.config.in_fixed_shapes and self.static is None:
            self._make_static()
        self.prefill_counter.vision_runs, self.prefill_counter.trunk_runs = before

    @torch.inference_mode()
    def run_frame(self, observation, requests, on_chunk, on_token):
        """
        Do one frame: `on_chunk(ActionChunk)` first, then `on_token(TokenEvent)` for all that language gained.

        Raises ValueError where the observation does not fit the profile; then nothing has changed. `cancel` may be
        called from the callbacks.
        """
        times = StageTimes(self.clock, self.model.device)
        start = times.mark('start')
        told = observation
        if self.hierarchy is not None:
            observation = self.hierarchy.for_actions(told)
            on_token = self._heard(on_token)
        inputs = self.processor.inputs(observation)
        if len(inputs.prompt_tokens) > self.config.max_prompt_tokens:
            raise ValueError(f'the prompt has {len(inputs.prompt_tokens)} tokens, the engine holds '
                             f'{self.config.max_prompt_tokens}')
        images, prompt = self._to_device(inputs)
        frame_id, self._next_frame = self._next_frame, self._next_frame + 1
        self._counters.frames += 1
        self._counters.state_out_of_range += inputs.state_out_of_range
        self._counters.dropped_characters += inputs.dropped_characters
        before = replace(self._counters)
        self.language.drop_late(start)
        block = self._take_block()
        was_quiet = not self.streams
        try:
            times.mark('converted')
            image_tokens = self.model.embed_images(images) if self.static is None else None
            times.mark('seen')
            length = len(images) * self.model.config.image_tokens + len(prompt)
            hidden, riders = self._prefill(images, image_tokens, prompt, block, self._riders(len(images), start))
            times.mark('filled')
            actions = self._denoise(observation, frame_id, block, len(images), len(prompt))
            chunk = self.processor.chunk(actions.float().cpu().numpy(), observation, frame_id)
            times.mark('denoised')
            on_chunk(chunk)
            ready = times.mark('ready')
            self._counters.chunks += 1
            self._note_chunk(start, ready, len(images), riders)

            self.language.flush(on_token)
            if riders is not None:
                streams, drafts, logits = riders
                self.language.finish_round(streams, drafts, logits, on_token)
            ids = tuple(range(self._next_request, self._next_request + len(requests)))
            self._next_request += len(requests)
            refused = []
            for request_id, request in zip(ids, requests):
                if self.config.mode is Mode.ISOLATED:
                    again = self.model.embed_images(images) if self.static is None else None
                    hidden, _ = self._prefill(images, again, prompt, block)
                source = Source(observation.stamp_ns, frame_id, block, length, hidden, start)
                if self.hierarchy is not None and self.hierarchy.wants(request):
                    refused += self._admit_subtask(request_id, request, source, told, images, image_tokens, on_token)
                else:
                    refused += self.language.place(request_id, request, source, on_token)
                if self.config.mode is not Mode.OXYGEN:
                    self.language.begin(on_token)
                while self.config.mode is not Mode.OXYGEN and request_id in self.streams:
                    self.language.round([self.streams[request_id]], on_token)
            self.language.begin(on_token)
        finally:
            self.pool.release_block(block)
        if self.config.mode is Mode.OXYGEN:
            used = riders is not None or (was_quiet and self.config.ride is Ride.ON)
            self._decode(max(0, self.config.decode_rounds - used), on_token)
        self.language.flush(on_token)
        end = times.mark('end')
        rode = 0 if riders is None else len(riders[0])
        self.ride_choice.saw_prefill(len(images), rode, times.ms('converted', 'filled'))
        return FrameReport(
            frame_id, frame_ms=(end - start) * 1e3, inputs_ms=times.ms('start', 'converted'),
            vision_ms=times.ms('converted', 'seen'), prefill_ms=times.ms('seen', 'filled'),
            denoise_ms=times.ms('filled', 'denoised'), decode_ms=times.ms('ready', 'end'),
            chunk_ready_ms=(ready - start) * 1e3,
            decode_rounds=self._counters.decode_rounds - before.decode_rounds,
            tokens=self._counters.tokens - before.tokens, rows=self._counters.rows - before.rows,
            request_ids=ids, refused=tuple(refused), state_out_of_range=inputs.state_out_of_range,
            dropped_characters=inputs.dropped_characters)

    def cancel(self, request_id, reason=FinishReason.CANCELLED):
        """End a live stream; its last event comes with the next frame or round. KeyError for an id that is not live."""
        if request_id not in self.streams:
            raise KeyError(f'no live stream has the request id {request_id}')
        self.language.end(self.streams[request_id], reason)

    def cancel_all(self, reason=FinishReason.CANCELLED):
        for request_id in list(self.streams):
            self.cancel(request_id, reason)

    def reset(self, frame_id=None):
        """
        Forget every stream without a word; counters and ids go on.

        `frame_id` numbers the next frame, and so chooses its action noise: a run that begins there again is the same.
        """
        self.language.forget()
        if self.hierarchy is not None:
            self.hierarchy.forget()
        if frame_id is not None:
            self._next_frame = frame_id

    def close(self):
        """End all streams and take the hooks off the model."""
        self.reset()
        self.prefill_counter.close()

    def _most_views(self):
        """The most pictures that an observation of this robot has."""
        return len(getattr(self.processor.profile, 'views', (0, 0, 0)))

    def _to_device(self, inputs):
        device = self.model.device
        return (to_device(torch.as_tensor(inputs.images, dtype=torch.float32), device),
                to_device(torch.as_tensor(inputs.prompt_tokens), device))

    def _take_block(self):
        """A prefix block for the frame at work; the oldest streams make room where none is free."""
        while not self.pool.can_take_block():
            self.language.drop_oldest()
        return self.pool.take_block()

    def _prefill(self, images, image_tokens, prompt, block, streams=()):
        """Fill the block -> the last row's hidden `[1, W]`, and what the round of `streams` needs or None."""
        if self.static is not None:
            return self._replay_prefill(images, prompt, block, streams)
        drafts, pending = self.language.drafted(streams)
        append = self.language.append(streams, drafts, pending) if streams else None
        rows = slice(-1, None) if self.config.trim_last_layer else slice(None)
        hidden = self.model.prefill(image_tokens, prompt, self.pool.block(block), self.mask, rows, append)
        if append is None:
            return hidden[-1:], None
        own = len(hidden) - len(append.tokens)
        return hidden[own - 1:own], (streams, drafts, self.model.logits(hidden[own:][append.wanted]))

    def _replay_prefill(self, images, prompt, block, streams):
        """The same in fixed shapes; streams that do not fit them get a round of their own later."""
        drafts, pending = self.language.drafted(streams)
        extent = self.static.extent(streams, pending) if streams else None
        bucket = len(images), self.static.bucket(len(prompt))
        if extent is None or (*bucket, extent) not in self.static.prefills:
            streams, extent = (), None
        append = self.language.append(streams, drafts, pending, extent) if streams else None
        run = self.static.prefills[(*bucket, extent)]
        hidden, logits = run(images, prompt, block, append)
        if run.replay.graph is not None:
            self.prefill_counter.replayed()
        return hidden, (streams, drafts, logits) if streams else None

    def _riders(self, views, start):
        """The streams that have a round in the frame's prefill, where that is wanted and the deadline leaves time."""
        if not self.config.decode_rounds or not self.streams or self.config.mode is not Mode.OXYGEN:
            return []
        if self.config.ride is Ride.OFF:
            return []
        rows = self.deadline.rows_that_fit(len(self.streams), start - self.chunk_left_s)
        if not rows or (self.config.ride is Ride.AUTO and not self.ride_choice.rides(views, rows)):
            return []
        return self.language.choose(rows)

    def _denoise(self, observation, frame_id, block, views, words):
        c, kv = self.model.config, self.pool.block(block)
        length = views * c.image_tokens + words
        noise = to_device(action_noise(self.config.seed, frame_id, c.horizon, c.action_dim), self.model.device)
        guidance = self.guide(observation) if self.guide is not None else None
        if guidance is not None:
            self._counters.eager_runs += self.static is not None
            return self.model.denoise(noise, kv, length, self.tables, guidance.to(self.model.device))
        if self.static is not None:
            return self.static.denoises[views, self.static.bucket(words)](noise, block, length)
        if self.config.fold_times:
            return self.model.denoise(noise, kv, length, self.tables)
        return self.model.denoise_unfolded(noise, kv, length, self.times)

    def _make_static(self):
        """Prepare (on a GPU: capture) every stage in fixed shapes; nothing is captured afterwards."""
        least = len(getattr(self.processor.profile, 'required_views', (0,)))
        self.static = self.language.static = StaticPaths(self.model, self.pool, self.mask, self.tables, self.config,
                                                         range(max(1, least), self._most_views() + 1))
        self.language.drafts.width = min(self.config.draft_tokens, MOST_PENDING - 1)
        self._counters.pool_bytes = self.pool.bytes + self.static.bytes

    def _admit_subtask(self, request_id, request, source, observation, images, image_tokens, on_token):
        """Admit a request for the subtask: it starts from a prefix of its own, the frame's second prefill."""
        if not self.language.has_room(on_token) and self.config.on_full is OnFull.REFUSE:
            return self.language.place(request_id, request, source, on_token)  # refused without the work
        prompt = torch.as_tensor(self.processor.high_level_prompt(observation.instruction))
        if len(prompt) > self.config.max_prompt_tokens:
            reason = (f'the prompt for the subtask has {len(prompt)} tokens, the engine holds '
                      f'{self.config.max_prompt_tokens}')
            return self.language.refuse(request_id, request, source, reason, on_token)
        block = self._take_block()
        try:
            hidden, _ = self._prefill(images, image_tokens, to_device(prompt, self.model.device), block)
            self.hierarchy.asked(request_id)
            length = len(images) * self.model.config.image_tokens + len(prompt)
            return self.language.place(request_id, request, replace(source, block=block, length=length, hidden=hidden),
                                       on_token)
        finally:
            self.pool.release_block(block)

    def _heard(self, on_token):
        """Let the hierarchy listen to every event before `on_token` gets it."""
        def listen(event):
            self.hierarchy.heard(event)
            on_token(event)
        return listen

    def _note_chunk(self, start, ready, views, riders):
        """Tell the controller what the action part took without riders, and count a chunk after its deadline."""
        late = self.chunk_left_s is not None and ready - self.chunk_left_s > self.config.deadline_s
        self._counters.late_chunks += bool(self.config.deadline_s) and late
        self.chunk_left_s = ready
        rode = 0 if riders is None else len(riders[0])
        if rode:
            self.deadline.saw_ride(rode)
        self.deadline.saw_action(ready - start - self.ride_choice.cost(views, rode) / 1e3)

    def _decode(self, rounds, on_token):
        """Up to `rounds` decode rounds, as far as the next chunk's deadline allows."""
        for _ in range(rounds):
            began = self.clock()
            fitting = self.deadline.rows_that_fit(len(self.streams), began - self.chunk_left_s)
            if not fitting:
                break
            rows = self.language.round(self.language.choose(fitting), on_token)
            took = self.clock() - began
            self.deadline.saw_round(rows, took)
            self.ride_choice.saw_round(rows, took * 1e3)
