"""Calls a server by Debian's gRPC and the stubs that protoc made, and prints what came of each check as JSON.

    checks.py <host:port> <api key>

Each function whose name begins with `check_` is run; what it returns, or raises, is its result.
"""

import json
import sys
import threading
import time

import grpc
from google.rpc import error_details_pb2, status_pb2

from health.v1 import health_pb2, health_pb2_grpc
from parley.audio.v1 import transcription_pb2, transcription_service_pb2_grpc
from parley.catalog.v1 import catalog_pb2, catalog_service_pb2_grpc
from parley.chat.v1 import chat_pb2, chat_service_pb2_grpc
from parley.speech.v1 import speech_pb2, speech_service_pb2_grpc
from reflection.v1 import reflection_pb2, reflection_pb2_grpc

target, api_key = sys.argv[1:3]
channel = grpc.insecure_channel(target)
key = [("authorization", f"Bearer {api_key}")]

catalog = catalog_service_pb2_grpc.CatalogServiceStub(channel)
speech = speech_service_pb2_grpc.SpeechServiceStub(channel)
transcription = transcription_service_pb2_grpc.TranscriptionServiceStub(channel)
chat = chat_service_pb2_grpc.ChatServiceStub(channel)
health = health_pb2_grpc.HealthStub(channel)
reflection = reflection_pb2_grpc.ServerReflectionStub(channel)


def said(script):
    return speech_pb2.SynthesizeSpeechRequest(model="flite", input=script, response_format="pcm")


def asked(script):
    content = chat_pb2.MessageContent(text=script)
    message = chat_pb2.ChatMessage(role="user", content=content)
    return chat_pb2.ChatCompletionParams(model="eliza", messages=[message])


def error_of(error):
    """What a client can read of a failed call."""
    trailers = dict(error.trailing_metadata())
    packed = trailers.get("grpc-status-details-bin")
    result = {"code": error.code().name, "message": error.details(), "details": []}
    if packed is None:
        return result
    status = status_pb2.Status.FromString(packed)
    result["same"] = status.message == error.details() and status.code == error.code().value[0]
    for detail in status.details:
        info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            result["info"] = {"reason": info.reason, "domain": info.domain, **info.metadata}
        if detail.Unpack(retry):
            result["retrySeconds"] = retry.retry_delay.seconds
        result["details"].append(detail.type_url)
    return result


def failing(call):
    try:
        call()
    except grpc.RpcError as error:
        return error_of(error)
    return {"code": "OK"}


def check_unary():
    response, call = catalog.ListModels.with_call(catalog_pb2.ListModelsRequest(), metadata=key)
    return {
        "models": [model.id for model in response.data],
        "requestId": dict(call.initial_metadata())["x-request-id"],
    }


def check_server_stream():
    parts = list(speech.SynthesizeSpeech(said("play: say one ; say “zwei” 🎉"), metadata=key))
    return {
        "contentTypes": [part.content_type for part in parts],
        "audio": b"".join(part.audio for part in parts).decode(),
    }


def check_chat_stream():
    request = chat_pb2.StreamChatCompletionRequest(params=asked("play: say one ; say two"))
    chunks = [response.chunk for response in chat.StreamChatCompletion(request, metadata=key)]
    return {
        "text": "".join(choice.delta.content for chunk in chunks for choice in chunk.choices),
        "finishReason": chunks[-1].choices[0].finish_reason,
        "totalTokens": chunks[-1].usage.total_tokens,
    }


def check_unknown_parameters():
    params = asked("play: say one")
    params.other.update({"future": {"nested": [1.5, None, "🎉"]}})
    response = chat.CreateChatCompletion(
        chat_pb2.CreateChatCompletionRequest(params=params), metadata=key
    )
    return dict(response.completion.other["seen"]["other"]["future"])["nested"][2]


def upload(script, size=1000):
    def parts():
        recording = transcription_pb2.CreateTranscriptionRequest(
            file_name="a.wav", timestamp_granularities=["word"]
        )
        yield transcription_pb2.UploadTranscriptionRequest(transcription=recording)
        for offset in range(0, len(script), size):
            yield transcription_pb2.UploadTranscriptionRequest(chunk=script[offset : offset + size])

    return transcription.UploadTranscription(parts(), metadata=key).transcript


def check_client_stream():
    transcript = upload(b"play: hear 700; say one two; say three", 7)
    return {
        "text": transcript.text,
        "duration": transcript.duration,
        "words": [word.word for word in transcript.words],
    }


def check_too_large_upload():
    return failing(lambda: upload(bytes(4_194_305), 65_536))


def check_error():
    return failing(lambda: catalog.GetModel(catalog_pb2.GetModelRequest(id="nope"), metadata=key))


def check_error_with_retry():
    return failing(lambda: list(speech.SynthesizeSpeech(said("play: fail upstream_error 429 7"), metadata=key)))


def check_error_in_the_middle():
    texts = []

    def read():
        request = chat_pb2.StreamChatCompletionRequest(params=asked("play: say one; fail upstream_error"))
        for response in chat.StreamChatCompletion(request, metadata=key):
            texts.append(response.chunk.choices[0].delta.content)

    return {**failing(read), "texts": texts}


def check_no_key():
    return failing(lambda: catalog.ListModels(catalog_pb2.ListModelsRequest()))


def check_deadline():
    started = time.monotonic()
    error = failing(lambda: list(speech.SynthesizeSpeech(said("play: wait"), metadata=key, timeout=0.5)))
    return {**error, "seconds": time.monotonic() - started}


def check_cancel():
    call = speech.SynthesizeSpeech(said("play: say one; wait"), metadata=key)
    first = next(call)
    threading.Timer(0.1, call.cancel).start()
    return {**failing(lambda: next(call)), "audio": first.audio.decode()}


def check_gzip():
    request = catalog_pb2.GetModelRequest(id="eliza")
    return catalog.GetModel(request, metadata=key, compression=grpc.Compression.Gzip).model.id


def check_many_at_once():
    request = chat_pb2.CreateChatCompletionRequest(params=asked("play: say one"))
    calls = [chat.CreateChatCompletion.future(request, metadata=key) for _ in range(50)]
    texts = {call.result().completion.choices[0].message.content.text for call in calls}
    return {"texts": sorted(texts), "calls": len(calls)}


def check_health():
    watch = health.Watch(health_pb2.HealthCheckRequest(service="parley.chat.v1.ChatService"))
    watched = next(watch).status
    watch.cancel()
    checked = health.Check(health_pb2.HealthCheckRequest()).status
    name = health_pb2.HealthCheckResponse.ServingStatus.Name
    return [name(watched), name(checked)]


def check_reflection():
    def questions():
        yield reflection_pb2.ServerReflectionRequest(list_services="")
        yield reflection_pb2.ServerReflectionRequest(file_containing_symbol="parley.chat.v1.ChatService")

    services, files = reflection.ServerReflectionInfo(questions())
    return {
        "services": [service.name for service in services.list_services_response.service],
        "files": len(files.file_descriptor_response.file_descriptor_proto),
    }


def run(check):
    try:
        return check()
    except Exception as error:  # whatever it is, it is this check's result
        return {"raised": f"{type(error).__name__}: {error}"}


checks = {name[len("check_") :]: check for name, check in list(globals().items()) if name.startswith("check_")}
print(json.dumps({name: run(check) for name, check in checks.items()}))
channel.close()
