"""Plays nvidia-riva-client against a server: `client.py <WAV file>`. Prints what happens, as JSON in lines."""

import json
import os
import sys
import time

import grpc
import riva.client
import riva.client.proto.riva_asr_pb2 as asr
import riva.client.proto.riva_tts_pb2 as tts

AUTH = riva.client.Auth(
    uri=os.environ["PARLEY_HOST"],
    metadata_args=[["authorization", "Bearer " + os.environ["PARLEY_API_KEY"]]],
)
RECOGNITION = riva.client.ASRService(AUTH)
SPEECH = riva.client.SpeechSynthesisService(AUTH)
METADATA = AUTH.get_auth_metadata()


def out(**fact):
    print(json.dumps(fact), flush=True)


def models():
    """As the scripts of the client list them."""
    known = RECOGNITION.stub.GetRivaSpeechRecognitionConfig(asr.RivaSpeechRecognitionConfigRequest(), metadata=METADATA)
    out(models=[[model.model_name, model.parameters["type"]] for model in known.model_config])
    spoken = SPEECH.stub.GetRivaSynthesisConfig(tts.RivaSynthesisConfigRequest(), metadata=METADATA)
    voices = [
        model.parameters["voice_name"] + "." + voice.split(":")[0]
        for model in spoken.model_config
        for voice in model.parameters["subvoices"].split(",")
    ]
    out(voices=voices)


def recording(file):
    config = riva.client.RecognitionConfig(language_code="en-US", max_alternatives=1, enable_word_time_offsets=True)
    riva.client.add_audio_file_specs_to_config(config, file)
    with open(file, "rb") as content:
        response = RECOGNITION.offline_recognize(content.read(), config)
    [result] = response.results
    out(text=result.alternatives[0].transcript, words=len(result.alternatives[0].words), encoding=config.encoding)


def live(file):
    """At the pace of the speaker, with the header of the file, as the client's scripts send it."""
    config = riva.client.StreamingRecognitionConfig(
        config=riva.client.RecognitionConfig(language_code="en-US"), interim_results=True
    )
    with riva.client.AudioChunkFileIterator(file, 1600, lambda _, seconds: time.sleep(seconds)) as chunks:
        results = [r for response in RECOGNITION.streaming_response_generator(chunks, config) for r in response.results]
    out(
        interim=any(not result.is_final for result in results),
        final="".join(result.alternatives[0].transcript for result in results if result.is_final),
    )


def speech():
    audio = SPEECH.synthesize("Hello there.", "flite.slt", sample_rate_hz=44_100).audio
    out(milliseconds=round(len(audio) / 88.2))
    parts = SPEECH.synthesize_online("Hello there.", "flite.slt", encoding=riva.client.AudioEncoding.OGGOPUS)
    out(begins=b"".join(part.audio for part in parts)[:4].decode())


def refused():
    try:
        SPEECH.synthesize("Hello.", "English-US.Female-1")
    except grpc.RpcError as error:
        out(code=error.code().name, details=error.details())


models()
recording(sys.argv[1])
live(sys.argv[1])
speech()
refused()
