/**
 * The RPCs of NVIDIA Riva, as rows like those of the table in `core/rpcs.ts`: operations of core in the messages of Riva's clients,
 * served over gRPC, Connect and gRPC-Web.
 */
import type { DescMessage, DescMethodBiDiStreaming, DescMethodUnary, MessageShape } from '@bufbuild/protobuf';
import { RivaSpeechRecognition } from '../../../gen/nvidia/riva/asr/riva_asr_pb.ts';
import { RivaSpeechSynthesis } from '../../../gen/nvidia/riva/tts/riva_tts_pb.ts';
import type { Call } from '../../core/access/call.ts';
import type { RawAudio } from '../../core/entities/raw-audio.ts';
import type { Operation } from '../../core/entities/usage.ts';
import type { Rpc, SessionRpc, UnaryRpc } from '../../core/rpcs.ts';
import type { Services } from '../../core/services.ts';
import { type Batches, singly } from '../../core/values/batches.ts';
import { Recognition } from './recognition.ts';
import { streamingRecognize } from './streaming-recognition.ts';
import { Synthesis } from './synthesis.ts';

/** @param areVoicesOpen whether voices are listed without a key: some clients send none with GetRivaSynthesisConfig */
export function rivaRpcs(
  services: Services,
  rawAudio: RawAudio,
  { areVoicesOpen }: { readonly areVoicesOpen: boolean },
): readonly Rpc[] {
  const recognition = new Recognition(services, rawAudio);
  const synthesis = new Synthesis(services, rawAudio);
  const asr = RivaSpeechRecognition.method;
  const tts = RivaSpeechSynthesis.method;
  return [
    unary('transcription', asr.recognize, (request, call) => recognition.recognize(request, call)),
    session('transcription', asr.streamingRecognize, (requests, call) =>
      streamingRecognize(requests, { ...services, rawAudio }, call),
    ),
    unary('catalog', asr.getRivaSpeechRecognitionConfig, (request, call) =>
      recognition.config(request, call),
    ),
    unary('speech', tts.synthesize, (request, call) => synthesis.synthesize(request, call)),
    session('speech', tts.synthesizeOnline, (requests, call) =>
      singly(synthesis.synthesizeOnline(requests, call)),
    ),
    unary(
      'catalog',
      tts.getRivaSynthesisConfig,
      (request, call) => synthesis.config(request, call),
      areVoicesOpen ? (request) => synthesis.config(request, undefined) : undefined,
    ),
  ];
}

function unary<I extends DescMessage, O extends DescMessage>(
  operation: Operation,
  method: DescMethodUnary<I, O>,
  run: (request: MessageShape<I>, call: Call) => Promise<MessageShape<O>>,
  runKeyless?: (request: MessageShape<I>) => Promise<MessageShape<O>>,
): UnaryRpc<I, O, MessageShape<O>> {
  const row = {
    kind: 'unary',
    operation,
    method,
    run,
    toMessage: (answer: MessageShape<O>) => answer,
  } as const;
  return runKeyless ? { ...row, runKeyless } : row;
}

function session<I extends DescMessage, O extends DescMessage>(
  operation: Operation,
  method: DescMethodBiDiStreaming<I, O>,
  run: (requests: AsyncIterable<MessageShape<I>>, call: Call) => Batches<MessageShape<O>>,
): SessionRpc<I, O, MessageShape<O>> {
  return { kind: 'session', operation, method, run, toMessage: (part) => part, isOutput: () => true };
}
