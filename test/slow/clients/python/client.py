"""
Plays parts of one client: `client.py <client> <JSON of [[part, argument, ...], ...]>`. Prints what happens in each, as JSON in lines.
"""

import asyncio
import json
import os
import sys

BASE_URL = os.environ["PARLEY_BASE_URL"]
API_KEY = os.environ["PARLEY_API_KEY"]
RATE = 24_000


def out(**fact):
    print(json.dumps(fact), flush=True)


def failed(error):
    out(failed=type(error).__name__, status=getattr(error, "status_code", None))


def wav(file):
    """The samples of a file behind a header."""
    import io
    import wave

    body = io.BytesIO()
    with wave.open(body, "wb") as writer, open(file, "rb") as samples:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(RATE)
        writer.writeframes(samples.read())
    return "audio.wav", body.getvalue(), "audio/wav"


class OpenAi:
    def __init__(self):
        from openai import OpenAI

        self.client = OpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=1)

    def ask(self, text, **more):
        messages = [{"role": "user", "content": text}]
        return self.client.chat.completions.create(model="eliza", messages=messages, **more)

    def chat(self, text):
        answer = self.ask(text)
        out(said=answer.choices[0].message.content, tokens=answer.usage.total_tokens)

    def stream(self, text):
        for chunk in self.ask(text, stream=True):
            if chunk.choices and chunk.choices[0].delta.content:
                out(said=chunk.choices[0].delta.content)

    def leave(self, text):
        with self.ask(text, stream=True) as chunks:
            for chunk in chunks:
                if chunk.choices[0].delta.content:
                    return out(said=chunk.choices[0].delta.content)

    def respond(self, text):
        response = self.client.responses.create(model="eliza", input=text)
        out(said=response.output_text, tokens=response.usage.total_tokens)
        with self.client.responses.stream(model="eliza", input=text) as events:
            out(said=events.get_final_response().output_text)

    def unknown(self, text):
        self.client.audio.speech.create(model="none", voice="alloy", input=text)

    def speak(self, text, file):
        call = self.client.audio.speech.with_streaming_response
        with call.create(model="tts-1", voice="alloy", input=text, response_format="pcm") as audio:
            audio.stream_to_file(file)

    def transcribe(self, _, file):
        create = self.client.audio.transcriptions.create
        heard = create(model="whisper-1", file=wav(file), languages=["en"], keywords=["Ada"], include=["logprobs"])
        out(heard=heard.text, usage=heard.usage.model_dump())
        words = create(
            model="whisper-1", file=wav(file), response_format="verbose_json", timestamp_granularities=["word"]
        )
        out(words=len(words.words))
        events = create(model="whisper-1", file=wav(file), response_format="verbose_json", stream=True)
        out(events=sorted({event.type for event in events}))
        out(srt=create(model="whisper-1", file=wav(file), response_format="srt"))


class Anthropic:
    def __init__(self):
        from anthropic import Anthropic

        self.client = Anthropic(base_url=BASE_URL.removesuffix("/v1"), api_key=API_KEY, max_retries=1)

    def ask(self, text):
        return {"model": "eliza", "max_tokens": 100, "messages": [{"role": "user", "content": text}]}

    def chat(self, text):
        message = self.client.messages.create(**self.ask(text))
        out(said=message.content[0].text, tokens=message.usage.input_tokens + message.usage.output_tokens)

    def stream(self, text):
        with self.client.messages.stream(**self.ask(text)) as stream:
            for piece in stream.text_stream:
                out(said=piece)
            out(ended=stream.get_final_message().stop_reason)

    def leave(self, text):
        with self.client.messages.stream(**self.ask(text)) as stream:
            for piece in stream.text_stream:
                return out(said=piece)

    def count(self, text):
        question = {"model": "eliza", "messages": [{"role": "user", "content": text}]}
        out(counted=self.client.messages.count_tokens(**question).input_tokens > 0)


class LiteLlm:
    def __init__(self):
        # Otherwise it asks the network for prices.
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        import litellm

        litellm.suppress_debug_info = True
        self.litellm = litellm
        self.server = {"api_base": BASE_URL, "api_key": API_KEY}

    def ask(self, text, **more):
        messages = [{"role": "user", "content": text}]
        return self.litellm.completion(model="openai/eliza", messages=messages, **self.server, **more)

    def chat(self, text):
        answer = self.ask(text, max_retries=1)
        out(said=answer.choices[0].message.content, tokens=answer.usage.total_tokens)

    def stream(self, text):
        for chunk in self.ask(text, stream=True):
            if chunk.choices[0].delta.content:
                out(said=chunk.choices[0].delta.content)

    def leave(self, text):
        chunks = self.ask(text, stream=True)
        for chunk in chunks:
            if chunk.choices[0].delta.content:
                return out(said=chunk.choices[0].delta.content)

    def respond(self, text):
        response = self.litellm.responses(model="openai/eliza", input=text, **self.server)
        out(said=response.output[0].content[0].text, tokens=response.usage.total_tokens)

    def unknown(self, text):
        self.litellm.speech(model="openai/none", voice="alloy", input=text, **self.server)

    def speak(self, text, file):
        audio = self.litellm.speech(
            model="openai/tts-1", voice="alloy", input=text, response_format="pcm", **self.server
        )
        audio.write_to_file(file)

    def transcribe(self, _, file):
        heard = self.litellm.transcription(model="openai/whisper-1", file=wav(file), **self.server)
        out(heard=heard.text)


class Pipecat:
    server = {"base_url": BASE_URL, "api_key": API_KEY}

    def __init__(self):
        from loguru import logger

        logger.remove()

    def chat(self, text):
        asyncio.run(self._chat(text))

    async def _chat(self, text):
        from pipecat.frames.frames import LLMContextFrame, LLMTextFrame
        from pipecat.processors.aggregators.llm_context import LLMContext
        from pipecat.services.openai.llm import OpenAILLMService
        from pipecat.tests.utils import run_test

        service = OpenAILLMService(settings=OpenAILLMService.Settings(model="eliza"), **self.server)
        context = LLMContext([{"role": "user", "content": text}])
        down, up = await run_test(service, frames_to_send=[LLMContextFrame(context)])
        for frame in down:
            if isinstance(frame, LLMTextFrame):
                out(said=frame.text)
        for frame in up:
            if type(frame).__name__ == "ErrorFrame":
                out(failed=type(frame).__name__)

    def speak(self, text, file):
        asyncio.run(self._speak(text, file))

    async def _speak(self, text, file):
        from pipecat.frames.frames import TTSAudioRawFrame, TTSSpeakFrame
        from pipecat.services.openai.tts import OpenAITTSService
        from pipecat.tests.utils import run_test

        settings = OpenAITTSService.Settings(model="tts-1", voice="alloy")
        service = OpenAITTSService(settings=settings, sample_rate=RATE, **self.server)
        down, _ = await run_test(service, frames_to_send=[TTSSpeakFrame(text)])
        with open(file, "wb") as samples:
            for frame in down:
                if isinstance(frame, TTSAudioRawFrame):
                    samples.write(frame.audio)

    def transcribe(self, _, file):
        asyncio.run(self._transcribe(file))

    async def _transcribe(self, file):
        from pipecat.services.openai.stt import OpenAISTTService

        service = OpenAISTTService(settings=OpenAISTTService.Settings(model="whisper-1"), **self.server)
        async for frame in service.run_stt(wav(file)[1]):
            out(heard=frame.text)

    def listen(self, detection, file):
        asyncio.run(self._listen(detection, file))

    async def _listen(self, detection, file):
        """Live: the server ends turns (`server`), or the pipeline does (`local`)."""
        import numpy
        import soxr
        from pipecat.frames.frames import InputAudioRawFrame, TranscriptionFrame, VADUserStoppedSpeakingFrame
        from pipecat.services.openai.stt import OpenAIRealtimeSTTService
        from pipecat.tests.utils import SleepFrame, run_test

        url = BASE_URL.replace("http", "ws") + "/realtime"
        if detection == "server":
            settings = OpenAIRealtimeSTTService.Settings(model="gpt-4o-transcribe")
            more = {"settings": settings, "turn_detection": {"type": "server_vad"}}
        else:
            more = {}
        service = OpenAIRealtimeSTTService(api_key=API_KEY, base_url=url, **more)
        # The rate of a pipeline.
        rate = 16_000
        with open(file, "rb") as samples:
            spoken = soxr.resample(numpy.frombuffer(samples.read(), numpy.int16), RATE, rate).tobytes()
        spoken += bytes(2 * rate)
        # It opens its session before it takes audio.
        frames = [SleepFrame(2)]
        for at in range(0, len(spoken), rate // 5):
            frames.append(InputAudioRawFrame(audio=spoken[at : at + rate // 5], sample_rate=rate, num_channels=1))
            frames.append(SleepFrame(0.1))
        if detection == "local":
            frames.append(VADUserStoppedSpeakingFrame())
        frames.append(SleepFrame(10))
        down, _ = await run_test(service, frames_to_send=frames)
        for frame in down:
            if isinstance(frame, TranscriptionFrame):
                out(heard=frame.text)

    def talk(self, file):
        asyncio.run(self._talk(file))

    async def _talk(self, file):
        """Talks to the service of docs/realtime.md."""
        from pipecat.frames.frames import InputAudioRawFrame, LLMTextFrame, TTSAudioRawFrame
        from pipecat.tests.utils import SleepFrame, run_test
        from pipecat_llm import llm

        with open(file, "rb") as samples:
            spoken = samples.read() + bytes(2 * RATE)
        # It opens its session before it takes audio.
        frames = [SleepFrame(2)]
        for at in range(0, len(spoken), RATE // 5):
            frames.append(InputAudioRawFrame(audio=spoken[at : at + RATE // 5], sample_rate=RATE, num_channels=1))
        frames.append(SleepFrame(20))
        down, _ = await run_test(llm, frames_to_send=frames)
        out(
            said="".join(frame.text for frame in down if isinstance(frame, LLMTextFrame)),
            spoken=any(isinstance(frame, TTSAudioRawFrame) for frame in down),
        )


clients = {"openai": OpenAi, "anthropic": Anthropic, "litellm": LiteLlm, "pipecat": Pipecat}
name, parts = sys.argv[1:]
client = clients[name]()
for part, *arguments in json.loads(parts):
    out(part=part)
    try:
        getattr(client, part)(*arguments)
    except Exception as error:
        failed(error)
