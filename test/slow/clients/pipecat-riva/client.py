"""Plays pipecat's services for NVIDIA: `client.py <file of 16 kHz samples>`. Prints what happens, as JSON in lines."""

import asyncio
import json
import os
import sys

from loguru import logger

logger.remove()

from pipecat.frames.frames import (
    EndFrame,
    ErrorFrame,
    InputAudioRawFrame,
    InterimTranscriptionFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    TTSSpeakFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.nvidia.stt import NvidiaSTTService
from pipecat.services.nvidia.tts import NvidiaTTSService
from pipecat.workers.runner import WorkerRunner

RATE = 16_000
#: 40 ms of 16-bit samples.
CHUNK = 1_280
SERVER = {"api_key": os.environ["PARLEY_API_KEY"], "server": os.environ["PARLEY_HOST"], "use_ssl": False}


def out(**fact):
    print(json.dumps(fact), flush=True)


class Seen(FrameProcessor):
    """Keeps the frames that come out of a service."""

    def __init__(self):
        super().__init__()
        self.interim = 0
        self.audio = bytearray()
        self.texts = []
        self.change = asyncio.Event()

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if isinstance(frame, InterimTranscriptionFrame):
            self.interim += 1
        elif isinstance(frame, TranscriptionFrame):
            self.texts.append(frame.text)
        elif isinstance(frame, TTSAudioRawFrame):
            self.audio += frame.audio
        elif isinstance(frame, ErrorFrame):
            out(error=frame.error)
        self.change.set()
        await self.push_frame(frame, direction)

    async def until(self, condition):
        while not condition():
            self.change.clear()
            await self.change.wait()


async def play(service, seen, feed):
    params = PipelineParams(audio_in_sample_rate=RATE, audio_out_sample_rate=RATE)
    worker = PipelineWorker(Pipeline([service, seen]), params=params)
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)

    async def feed_and_end():
        await feed(worker)
        await worker.queue_frame(EndFrame())

    await asyncio.gather(runner.run(), feed_and_end())


async def hear(samples):
    seen = Seen()

    async def feed(worker):
        # Two utterances. Half a second of silence is more than the 320 ms that the service asks for.
        for part in (samples, bytes(RATE), samples, bytes(2 * RATE)):
            for at in range(0, len(part), CHUNK):
                audio = part[at : at + CHUNK]
                await worker.queue_frame(InputAudioRawFrame(audio=audio, sample_rate=RATE, num_channels=1))
                await asyncio.sleep(0.04)
        await seen.until(lambda: len(seen.texts) >= 2)

    await play(NvidiaSTTService(**SERVER), seen, feed)
    out(interim=seen.interim > 0, texts=seen.texts)


async def speak():
    seen = Seen()

    async def feed(worker):
        await worker.queue_frame(TTSSpeakFrame("It is good to hear from you."))
        await seen.until(lambda: len(seen.audio) > RATE)

    settings = NvidiaTTSService.Settings(voice="flite.rms")
    await play(NvidiaTTSService(**SERVER, settings=settings), seen, feed)
    out(bytes=len(seen.audio))


async def main():
    with open(sys.argv[1], "rb") as file:
        samples = file.read()
    await hear(samples)
    await speak()


asyncio.run(asyncio.wait_for(main(), 120))
