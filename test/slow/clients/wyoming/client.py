"""
Plays wyoming_openai, with which Home Assistant reaches servers of the OpenAI API: starts it before Parley, asks it for its voices, has
it speak and transcribes what it spoke. Prints what happens, as JSON in lines.
"""

import asyncio
import json
import os
import sys
import tempfile

from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncClient
from wyoming.info import Describe, Info
from wyoming.tts import Synthesize, SynthesizeVoice

TEXT = "It is good to hear from you."


def out(**fact):
    print(json.dumps(fact), flush=True)


async def read_until(client, event_type):
    """The events up to the first of a type, with it."""
    events = []
    while not events or events[-1].type != event_type:
        event = await client.read_event()
        if event is None:
            raise RuntimeError(f"ended before {event_type}")
        events.append(event)
    return events


async def describe(client):
    await client.write_event(Describe().event())
    info = Info.from_event((await read_until(client, "info"))[-1])
    out(voices=[voice.name for program in info.tts for voice in program.voices])
    out(models=[model.name for program in info.asr for model in program.models])


async def speak(client):
    await client.write_event(Synthesize(text=TEXT, voice=SynthesizeVoice(name="ash")).event())
    chunks = [AudioChunk.from_event(event) for event in await read_until(client, "audio-stop") if AudioChunk.is_type(event.type)]
    out(rate=chunks[0].rate, channels=chunks[0].channels)
    return chunks


async def transcribe(client, chunks):
    form = {name: getattr(chunks[0], name) for name in ("rate", "width", "channels")}
    await client.write_event(Transcribe(name="whisper-1", language="en").event())
    await client.write_event(AudioStart(**form).event())
    for chunk in chunks:
        await client.write_event(chunk.event())
    await client.write_event(AudioStop().event())
    out(heard=Transcript.from_event((await read_until(client, "transcript"))[-1]).text)


def start(uri):
    options = {"uri": uri, "stt-models": "whisper-1", "tts-models": "tts-1", "tts-backend": "KOKORO_FASTAPI"}
    for kind in ("stt", "tts"):
        options[f"{kind}-openai-url"] = os.environ["PARLEY_BASE_URL"]
        options[f"{kind}-openai-key"] = os.environ["PARLEY_API_KEY"]
    arguments = [text for name, value in options.items() for text in (f"--{name}", value)]
    quiet = asyncio.subprocess.DEVNULL
    return asyncio.create_subprocess_exec(sys.executable, "-m", "wyoming_openai", *arguments, stderr=quiet, stdout=quiet)


async def main():
    with tempfile.TemporaryDirectory() as folder:
        socket = os.path.join(folder, "socket")
        server = await start(f"unix://{socket}")
        try:
            while not os.path.exists(socket) and server.returncode is None:
                await asyncio.sleep(0.05)
            async with AsyncClient.from_uri(f"unix://{socket}") as client:
                await describe(client)
            async with AsyncClient.from_uri(f"unix://{socket}") as client:
                chunks = await speak(client)
            async with AsyncClient.from_uri(f"unix://{socket}") as client:
                await transcribe(client, chunks)
        finally:
            if server.returncode is None:
                server.terminate()
                await server.wait()


asyncio.run(main())
