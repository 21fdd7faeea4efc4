"""
Sends speech to LiveKit's plugin for Realtime servers, at its own pace, and prints what is heard as JSON: `client.py <file of samples>`.
"""

import asyncio
import json
import os
import sys

BASE_URL = os.environ["PARLEY_BASE_URL"]
API_KEY = os.environ["PARLEY_API_KEY"]
RATE = 24_000
PART_SECONDS = 0.1


def out(**fact):
    print(json.dumps(fact), flush=True)


def parts(file):
    """Samples of 16 bits in parts, with a silence that ends the turn."""
    size = int(2 * RATE * PART_SECONDS)
    with open(file, "rb") as samples:
        spoken = samples.read() + bytes(2 * RATE)
    return [spoken[at : at + size] for at in range(0, len(spoken) - size + 1, size)]


async def listen(file):
    import aiohttp
    from livekit import rtc
    from livekit.agents import stt
    from livekit.plugins import openai

    async with aiohttp.ClientSession() as session:
        model = openai.STT(api_key=API_KEY, base_url=BASE_URL, model="gpt-4o-transcribe", use_realtime=True)
        # Outside a worker of LiveKit, there is no session to share.
        model._session = session
        stream = model.stream()

        async def read():
            async for event in stream:
                if event.type == stt.SpeechEventType.FINAL_TRANSCRIPT:
                    return out(heard=event.alternatives[0].text)

        reading = asyncio.create_task(read())
        for part in parts(file):
            stream.push_frame(rtc.AudioFrame(part, RATE, 1, len(part) // 2))
            await asyncio.sleep(PART_SECONDS)
        await reading
        await stream.aclose()
        await model.aclose()


asyncio.run(listen(sys.argv[1]))
