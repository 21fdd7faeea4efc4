import {
  type SynthesizeSpeechRequest,
  SynthesizeSpeechRequestSchema,
} from '../../../gen/parley/speech/v1/speech_pb.ts';
import { jsonCodec } from '../../codec/codec.ts';
import type { Call } from '../../core/access/call.ts';
import type { RpcTable } from '../../core/rpcs.ts';
import type { Exchange, RestHandler } from './exchange.ts';
import { type RestLimits, readJson, requireMembers } from './request.ts';

const codec = jsonCodec(SynthesizeSpeechRequestSchema);
/** The contract's four fields. Any other has no effect. */
const names = SynthesizeSpeechRequestSchema.fields.map(({ jsonName }) => jsonName);

/** POST /audio/speech: takes JSON, answers with raw audio as it is produced. */
export function speechHandler(
  { synthesizeSpeech }: RpcTable,
  { speechBodyBytesMax, requestElementsMax }: RestLimits,
): RestHandler {
  const limits = { bytesMax: speechBodyBytesMax, elementsMax: requestElementsMax };
  return async (exchange) => {
    const { served } = exchange;
    const request = await served.read((call) => readSpeech(exchange, call, limits));
    for await (const parts of served.stream(synthesizeSpeech, request)) {
      for (const { audio, contentType } of parts) {
        if (contentType !== '') exchange.begin({ 'content-type': contentType });
        await exchange.write(audio);
      }
    }
    exchange.end();
  };
}

/** Other members are dropped, whatever they contain. Nothing recurses into them, so they may be nested to any depth. */
async function readSpeech(
  exchange: Exchange,
  call: Call,
  limits: { readonly bytesMax: number; readonly elementsMax: number },
): Promise<SynthesizeSpeechRequest> {
  const body = await readJson(exchange, call, { ...limits, levelsMax: Number.POSITIVE_INFINITY });
  const json = Object.fromEntries(Object.entries(body).filter(([name]) => names.includes(name)));
  requireMembers(json, { model: 'missing_model', input: 'missing_input' });
  // A wrong type counts as a wrong format, which is refused in its own place in the order of checks.
  const { response_format: format = null } = json;
  if (format !== null && typeof format !== 'string') json['response_format'] = '';
  return codec.decode(json, () => 'invalid_input');
}
