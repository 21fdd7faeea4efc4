/**
 * The RPCs of NVIDIA Riva, as rows like those of the table in `core/rpcs.ts`: operations of core in the messages of Riva's clients,
 * served over gRPC, Connect and gRPC-Web.
 */
import { RivaSpeechRecognition } from '../../../gen/nvidia/riva/asr/riva_asr_pb.ts';
import { RivaSpeechSynthesis } from '../../../gen/nvidia/riva/tts/riva_tts_pb.ts';
import type { RawAudio } from '../../core/entities/live.ts';
import { type Rpc, session, unary } from '../../core/rpcs.ts';
import type { Services } from '../../core/services.ts';
import { singly } from '../../core/values/batches.ts';
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
  const voices = synthesis.config.bind(synthesis);
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
    { ...unary('catalog', tts.getRivaSynthesisConfig, voices), ...(areVoicesOpen && { runKeyless: voices }) },
  ];
}
