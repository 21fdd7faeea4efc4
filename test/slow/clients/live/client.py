"""
Sends speech to LiveKit's plugin for Realtime servers and prints as JSON what is heard, or what a conversation answers:
`client.py listen|talk <file of samples>`.
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


def parts(file, silence_seconds=1):
    """Samples of 16 bits in parts, with a silence that ends the turn."""
    size = int(2 * RATE * PART_SECONDS)
    with open(file, "rb") as samples:
        spoken = samples.read() + bytes(2 * RATE * silence_seconds)
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


async def talk(file):
    """Talks to the model of docs/realtime.md."""
    from livekit import rtc
    from livekit_model import model

    session = model.session()
    answered = asyncio.get_running_loop().create_future()
    session.on("generation_created", answered.set_result)
    # Without other settings the server judges by meaning, which waits longer.
    for part in parts(file, silence_seconds=3):
        session.push_audio(rtc.AudioFrame(part, RATE, 1, len(part) // 2))
    async for message in (await answered).message_stream:
        text = "".join([text async for text in message.text_stream])
        out(said=text, spoken=sum([len(frame.data) async for frame in message.audio_stream]) > RATE)
    await session.aclose()
    await model.aclose()


asyncio.run({"listen": listen, "talk": talk}[sys.argv[1]](sys.argv[2]))
