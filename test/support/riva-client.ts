/** Clients of Riva's streams, which send when a test says so, and keep what they receive. */
import type { DescMethodBiDiStreaming, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { type Client, Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { RivaSpeechRecognition } from '../../gen/nvidia/riva/asr/riva_asr_pb.ts';
import { RivaSpeechSynthesis } from '../../gen/nvidia/riva/tts/riva_tts_pb.ts';
import type { Parley } from './parley.ts';

interface Server extends Pick<Parley, 'baseUrl'> {
  /** Undefined to send none. */
  readonly apiKey: string | undefined;
}

export function speechRecognition(server: Server): Client<typeof RivaSpeechRecognition> {
  return createClient(RivaSpeechRecognition, transportTo(server));
}

export function speechSynthesis(server: Server): Client<typeof RivaSpeechSynthesis> {
  return createClient(RivaSpeechSynthesis, transportTo(server));
}

export function transportTo({ baseUrl, apiKey }: Server) {
  return createGrpcTransport({
    baseUrl: new URL(baseUrl).origin,
    interceptors: [
      (next) => (request) => {
        if (apiKey !== undefined) request.header.set('authorization', `Bearer ${apiKey}`);
        return next(request);
      },
    ],
  });
}

/** The code of an error of Parley. */
export function codeOf(thrown: unknown): string {
  const error = ConnectError.from(thrown);
  const [info] = error.findDetails(ErrorInfoSchema);
  return info?.reason ?? Code[error.code];
}

type Streams<M extends DescMethodBiDiStreaming> = (
  requests: AsyncIterable<MessageInitShape<M['input']>>,
  options: { readonly signal: AbortSignal },
) => AsyncIterable<MessageShape<M['output']>>;

export class RivaStream<M extends DescMethodBiDiStreaming> {
  readonly received: MessageShape<M['output']>[] = [];
  /** The code of the error that ended the stream; undefined for a stream that ended well. */
  readonly ended: Promise<string | undefined>;
  readonly #waiting: MessageInitShape<M['input']>[] = [];
  readonly #leave = new AbortController();
  #change = Promise.withResolvers<void>();
  #hasEnded = false;

  constructor(call: Streams<M>) {
    this.ended = this.#receive(call(this.#requests(), { signal: this.#leave.signal }));
  }

  send(request: MessageInitShape<M['input']>): void {
    this.#waiting.push(request);
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

  async #receive(responses: AsyncIterable<MessageShape<M['output']>>): Promise<string | undefined> {
    try {
      for await (const response of responses) this.received.push(response);
      return undefined;
    } catch (error) {
      return codeOf(error);
    } finally {
      this.leave();
    }
  }

  async *#requests(): AsyncGenerator<MessageInitShape<M['input']>> {
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
