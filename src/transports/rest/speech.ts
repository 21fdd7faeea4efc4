import { SynthesizeSpeechRequestSchema } from '../../../gen/parley/speech/v1/speech_pb.ts';
import { jsonCodec } from '../../codec/codec.ts';
import type { Call } from '../../core/call.ts';
import type { SpeechOperations } from '../../core/speech/service.ts';
import { noteAskedModel } from './asked-model.ts';
import { accept, requireMembers } from './bad-fields.ts';
import type { Exchange } from './exchange.ts';
import { replayHeaders } from './replay.ts';
import { readJson } from './request.ts';

const codec = jsonCodec(SynthesizeSpeechRequestSchema);

/** POST /audio/speech: JSON in, raw audio out as it is produced. */
export function speechHandler(speech: SpeechOperations, bodyBytesMax: number) {
  return async (exchange: Exchange, call: Call): Promise<void> => {
    const { json, bytes } = await readJson(exchange, bodyBytesMax);
    call.requestBytes = bytes;
    noteAskedModel(json, call);
    requireMembers(json, { model: 'missing_model', input: 'missing_input' });
    const request = accept(codec.decode(json), () => 'invalid_input');
    for await (const { audio, contentType } of speech.synthesizeSpeech(request, call)) {
      if (contentType !== '') exchange.begin({ 'content-type': contentType, ...replayHeaders(call) });
      await exchange.write(audio);
    }
    exchange.end();
  };
}
