/** Live speech, as Riva's clients stream it: a session whose turns end by silence. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import * as pb from '../../../gen/nvidia/riva/asr/riva_asr_pb.ts';
import { AudioEncoding } from '../../../gen/nvidia/riva/riva_audio_pb.ts';
import type { RequestId } from '../../../gen/nvidia/riva/riva_common_pb.ts';
import type { Call } from '../../core/access/call.ts';
import type { RawAudio, RawForm } from '../../core/entities/live.ts';
import type { LiveSession } from '../../core/realtime/live-session.ts';
import type { SessionReport } from '../../core/realtime/reports.ts';
import { checkedAudio, feed, sampleRateOf, toDetection } from '../../core/realtime/transcribe-request.ts';
import type { Services } from '../../core/services.ts';
import { invalidInput } from '../../core/values/parameters.ts';
import { checkedConfig, languageOf, rawEncodingOf, rawFormOf } from './recognition-config.ts';

interface Deps extends Pick<Services, 'realtime'> {
  readonly rawAudio: RawAudio;
}

export async function* streamingRecognize(
  requests: AsyncIterable<pb.StreamingRecognizeRequest>,
  { realtime, rawAudio }: Deps,
  call: Call,
): AsyncGenerator<readonly pb.StreamingRecognizeResponse[], void, void> {
  let stream: RecognitionStream | undefined;
  const begin = ({ session }: { readonly session: LiveSession }) => {
    const opened = new RecognitionStream(session, rawAudio);
    stream = opened;
    void feed(requests, session, (request) => opened.read(request));
  };
  for await (const reports of realtime.run(begin, call)) {
    const responses = reports.flatMap((report) => stream?.responseTo(report) ?? []);
    if (responses.length > 0) yield responses;
  }
}

class RecognitionStream {
  readonly #session: LiveSession;
  readonly #rawAudio: RawAudio;
  #config: pb.StreamingRecognitionConfig | undefined;
  #id: RequestId | undefined;
  #hasAudio = false;

  constructor(session: LiveSession, rawAudio: RawAudio) {
    this.#session = session;
    this.#rawAudio = rawAudio;
  }

  async read({ streamingRequest: { case: kind, value }, id }: pb.StreamingRecognizeRequest): Promise<void> {
    if (kind === 'streamingConfig') {
      this.#id ??= id;
      this.#config = value;
      this.#configure(value);
    } else if (this.#config === undefined) {
      throw invalidInput('streaming_config', 'The first message must be `streaming_config`.');
    } else if (kind === 'audioContent') {
      const audio = checkedAudio(value);
      await this.#session.audio(this.#hasAudio ? audio : this.#withoutHeader(audio, this.#config));
      this.#hasAudio = true;
    }
  }

  responseTo(report: SessionReport): pb.StreamingRecognizeResponse | undefined {
    // Riva has no message for a turn without a text.
    if (report.kind === 'failed') this.#session.finish(report.error);
    const result = this.#resultOf(report);
    if (result === undefined) return undefined;
    const results = [{ ...result, channelTag: 1 }];
    return create(pb.StreamingRecognizeResponseSchema, { results, ...(this.#id && { id: this.#id }) });
  }

  /** @param found the form of the samples, if a header has told it */
  #configure(
    { config: given, interimResults: hasPartials }: pb.StreamingRecognitionConfig,
    found?: RawForm,
  ): void {
    const config = checkedConfig(given);
    const isUnnamed = config.encoding === AudioEncoding.ENCODING_UNSPECIFIED;
    const encoding = isUnnamed ? 'pcm16' : rawEncodingOf(config);
    if (encoding === undefined) {
      throw invalidInput(
        'encoding',
        'StreamingRecognize takes LINEAR_PCM, MULAW or ALAW. Recognize takes files.',
      );
    }
    const form = found ?? rawFormOf(config, encoding, 1);
    const silenceMs = config.endpointingConfig?.stopHistory;
    this.#session.configure({
      encoding: form.encoding,
      sampleRate: sampleRateOf(form.encoding, form.sampleRate, 'sample_rate_hertz'),
      language: languageOf(config),
      detection: toDetection(silenceMs, undefined, ['stop_history', 'prefix_ms']),
      hasPartials,
    });
  }

  /** Clients may send a WAV file as it is. Then its header counts. */
  #withoutHeader(audio: Uint8Array, config: pb.StreamingRecognitionConfig): Uint8Array {
    const head = this.#rawAudio.readWav(audio);
    if (head === undefined) return audio;
    if (head.channels > 1) throw invalidInput('audio_channel_count', 'StreamingRecognize takes one channel.');
    this.#configure(config, head);
    return audio.subarray(head.dataAt);
  }

  #resultOf(report: SessionReport): MessageInitShape<typeof pb.StreamingRecognitionResultSchema> | undefined {
    if (report.kind === 'partial' && report.text !== '') {
      const words = report.text.split(' ').length;
      const alternatives = [{ transcript: report.text }];
      return { alternatives, isFinal: false, stability: report.stableWords / words };
    }
    if (report.kind !== 'completed' || report.transcript.text === '') return undefined;
    const { transcript, startMs, durationMs } = report;
    const words = transcript.words.map(({ word, startMs: from, endMs: to, probability = 0 }) => ({
      word,
      startTime: Math.round(startMs + from),
      endTime: Math.round(startMs + to),
      confidence: probability,
    }));
    const confidence = words.reduce((sum, word) => sum + word.confidence, 0) / (words.length || 1);
    const isTimed = this.#config?.config?.enableWordTimeOffsets === true;
    const alternatives = [{ transcript: `${transcript.text} `, confidence, words: isTimed ? words : [] }];
    return { alternatives, isFinal: true, stability: 1, audioProcessed: (startMs + durationMs) / 1000 };
  }
}
