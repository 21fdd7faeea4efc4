import { create } from '@bufbuild/protobuf';
import { SynthesizeSpeechRequestSchema } from '../../../gen/parley/speech/v1/speech_pb.ts';
import { SpeechService } from '../../../gen/parley/speech/v1/speech_service_pb.ts';
import type { SpeechEngine, SpeechOutput, SpeechRequest } from '../../core/entities/engine.ts';
import type { Signal } from '../../core/values/signal.ts';
import { AudioLength } from '../speech-length.ts';
import type { RemoteModel } from './catalog.ts';

export function createRemoteSpeech(model: RemoteModel): SpeechEngine {
  const { name, catalog } = model;
  return {
    availability: () => catalog.availability(name, 'speech'),
    voices: () => catalog.voices(name),
    // Only the remote knows whether a text can be spoken; `synthesize` fails if it cannot.
    check: () => undefined,
    synthesize: (request, signal) => synthesize(model, request, signal),
  };
}

function synthesize(
  { name, calls }: RemoteModel,
  { input, voice, format }: SpeechRequest,
  signal: Signal,
): SpeechOutput {
  const request = create(SynthesizeSpeechRequestSchema, {
    model: name,
    input,
    voice,
    responseFormat: format,
  });
  const length = new AudioLength(format);
  async function* relayed(): AsyncGenerator<Uint8Array, void, void> {
    for await (const { audio } of calls.stream(SpeechService.method.synthesizeSpeech, request, signal)) {
      length.add(audio);
      yield audio;
    }
  }
  return { audio: relayed(), durationMs: () => length.ms() };
}
