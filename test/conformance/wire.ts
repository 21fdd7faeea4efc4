/** A client of one wire: calls an RPC, and returns the answer as messages of the schema. */
import type {
  DescMethodBiDiStreaming,
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  Message,
} from '@bufbuild/protobuf';
import type { Wire } from '../../src/core/entities/usage.ts';

/** A server under test, on any machine, with or without TLS. */
export interface Target {
  /** `http://127.0.0.1:8080` or `https://…`, without a path. */
  readonly origin: string;
  readonly adminKey: string;
  /** The PEM certificate that authenticates an `https` origin. Default: those of the system. */
  readonly ca?: string | undefined;
}

export type Method =
  | DescMethodUnary
  | DescMethodServerStreaming
  | DescMethodClientStreaming
  | DescMethodBiDiStreaming;

export interface WireCall {
  readonly method: Method;
  /** One message; for a stream of the client all of them. */
  readonly requests: readonly Message[];
  readonly headers: Readonly<Record<string, string>>;
  /** When the client cancels. Default: never. */
  readonly timeoutMs?: number | undefined;
  /** Cancels the call when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Called with each received message; over REST, with each piece of the body. */
  readonly onMessage?: (() => void) | undefined;
}

export interface WireError {
  /**
   * A code of Parley's table, or one of these: `deadline_exceeded` at the client's own deadline, `cancelled` by the
   * client, `cut` if the answer ended without notice, and `protocol` if the protocol itself refused, with its words in
   * `message`.
   */
  readonly code: string;
  readonly httpStatus: number | undefined;
  readonly param: string | undefined;
  readonly message: string;
  readonly retryAfterSeconds: number | undefined;
  /** The number of google.rpc.Code; undefined over REST. */
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

/** The error that a client reports after it has cancelled. */
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

/** Path such as `/parley.speech.v1.SpeechService/SynthesizeSpeech`. */
export function pathOf({ parent, name }: Method): string {
  return `/${parent.typeName}/${name}`;
}
