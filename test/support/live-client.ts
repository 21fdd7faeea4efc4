/** A client of live transcription: it sends when a test says so, and keeps what it receives. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import {
  type StreamTranscribeConfigSchema,
  type StreamTranscribeRequest,
  StreamTranscribeRequestSchema,
  type StreamTranscribeResponse,
} from '../../gen/parley/audio/v1/live_pb.ts';
import { TranscriptionService } from '../../gen/parley/audio/v1/transcription_service_pb.ts';
import { until } from './command-line.ts';
import type { Parley } from './parley.ts';

export const liveWires: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  grpc: (baseUrl) => createGrpcTransport({ baseUrl }),
  connect: (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '2' }),
};

type Event = StreamTranscribeResponse['event'];
type EventOf<K extends Event['case']> = Extract<Event, { readonly case: K }>['value'];
type Part = NonNullable<MessageInitShape<typeof StreamTranscribeRequestSchema>['part']>;

/** Bytes of audio in a message: a tenth of a second of the default audio. */
const partBytes = 3_200;

export class LiveClient {
  readonly events: Event[] = [];
  /** The code of the error that ended the stream; undefined for a stream that ended well. */
  readonly ended: Promise<string | undefined>;
  readonly #waiting: StreamTranscribeRequest[] = [];
  readonly #leave = new AbortController();
  #change = Promise.withResolvers<void>();
  #hasEnded = false;

  constructor({ baseUrl, apiKey }: Pick<Parley, 'baseUrl' | 'apiKey'>, { wire = 'grpc', key = apiKey } = {}) {
    const transport = liveWires[wire]?.(new URL(baseUrl).origin);
    if (transport === undefined) throw new Error(`no wire ${wire}`);
    const client = createClient(TranscriptionService, transport);
    const { signal } = this.#leave;
    const options = { headers: { authorization: `Bearer ${key}` }, signal };
    this.ended = this.#receive(client.streamTranscribe(this.#requests(), options));
  }

  configure(config: MessageInitShape<typeof StreamTranscribeConfigSchema> = {}): void {
    this.send({ case: 'config', value: config });
  }

  speak(samples: Int16Array): void {
    const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
    for (let at = 0; at < bytes.length; at += partBytes) {
      this.send({ case: 'audio', value: bytes.slice(at, at + partBytes) });
    }
  }

  commit(): void {
    this.send({ case: 'commit', value: {} });
  }

  clear(): void {
    this.send({ case: 'clear', value: {} });
  }

  send(part: Part): void {
    this.#waiting.push(create(StreamTranscribeRequestSchema, { part }));
    this.#changed();
  }

  /** Ends the client's side. */
  finish(): Promise<string | undefined> {
    this.#hasEnded = true;
    this.#changed();
    return this.ended;
  }

  leave(): void {
    this.#leave.abort();
  }

  /** The events of a kind so far. */
  all<K extends NonNullable<Event['case']>>(kind: K): readonly EventOf<K>[] {
    return this.events.flatMap((event) => (event.case === kind ? [event.value as EventOf<K>] : []));
  }

  /** Waits for this many events of a kind, and returns the last of them. */
  async next<K extends NonNullable<Event['case']>>(kind: K, count = 1): Promise<EventOf<K>> {
    await until(() => this.all(kind).length >= count);
    return this.all(kind)[count - 1] as EventOf<K>;
  }

  async #receive(responses: AsyncIterable<StreamTranscribeResponse>): Promise<string | undefined> {
    try {
      for await (const { event } of responses) this.events.push(event);
      return undefined;
    } catch (error) {
      const ended = ConnectError.from(error);
      const [info] = ended.findDetails(ErrorInfoSchema);
      return info?.reason ?? Code[ended.code];
    } finally {
      this.leave();
    }
  }

  async *#requests(): AsyncGenerator<StreamTranscribeRequest> {
    for (;;) {
      const request = this.#waiting.shift();
      if (request) yield request;
      else if (this.#hasEnded) return;
      else await this.#change.promise;
    }
  }

  #changed(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}
