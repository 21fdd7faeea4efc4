/** A client of one wire: calls an RPC, and returns the answer as messages of the schema. */
import type {
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  Message,
} from '@bufbuild/protobuf';
import type { Wire } from '../../src/core/entities/usage.ts';

/** A server under test, wherever it runs and whether or not it speaks TLS. */
export interface Target {
  /** `http://127.0.0.1:8080` or `https://…`, without a path. */
  readonly origin: string;
  readonly adminKey: string;
  /** The certificate, in PEM, that vouches for an `https` origin. Default: those of the system. */
  readonly ca?: string | undefined;
}

export type Method = DescMethodUnary | DescMethodServerStreaming | DescMethodClientStreaming;

export interface WireCall {
  readonly method: Method;
  /** One message; of a client stream, all of them. */
  readonly requests: readonly Message[];
  readonly headers: Readonly<Record<string, string>>;
  /** When the client gives up. Default: never. */
  readonly timeoutMs?: number | undefined;
  /** The client leaves when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Told of each message as it comes; over REST, of each piece of the body. */
  readonly onMessage?: (() => void) | undefined;
}

export interface WireError {
  /**
   * The code of Parley's table. Besides, `deadline_exceeded` where the client's own time was up, `cancelled` where it left,
   * `cut` where the answer broke off without a word, and `protocol` where the protocol itself refused, in the words of
   * `message`.
   */
  readonly code: string;
  readonly httpStatus: number | undefined;
  readonly param: string | undefined;
  readonly message: string;
  readonly retryAfterSeconds: number | undefined;
  /** The number of google.rpc.Code; REST has none. */
  readonly grpcCode: number | undefined;
}

export interface WireAnswer {
  /** The messages that arrived, also before an error. */
  readonly messages: readonly Message[];
  readonly requestId: string | undefined;
  readonly isReplay: boolean;
  readonly error: WireError | undefined;
}

export interface WireClient {
  readonly name: string;
  /** The name of the wire in usage records. */
  readonly wire: Wire;
  call(call: WireCall): Promise<WireAnswer>;
  close(): Promise<void>;
}

/** Opens a client of one wire for one server. */
export type OpenWire = (target: Target) => WireClient;

/** The error that a client gives itself after it has given up or left. */
function ownEnd(code: string): WireError {
  return {
    code,
    httpStatus: undefined,
    param: undefined,
    message: '',
    retryAfterSeconds: undefined,
    grpcCode: undefined,
  };
}

export const deadlineExceeded = ownEnd('deadline_exceeded');
export const cancelled = ownEnd('cancelled');

/** `/parley.speech.v1.SpeechService/SynthesizeSpeech`. */
export function pathOf({ parent, name }: Method): string {
  return `/${parent.typeName}/${name}`;
}
