/**
 * Adds the headers, trailers, codes and details that the suite requests to the answers of Parley's transports, which do
 * not let clients choose any.
 */
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { base64Decode, base64Encode } from '@bufbuild/protobuf/wire';
import { ConnectError, type Interceptor } from '@connectrpc/connect';
import { StatusSchema } from '../../../gen/google/rpc/status_pb.ts';
import { calls, type Header, type SuiteCall } from './service.ts';

/** Wraps Parley's functions for Connect and gRPC-Web. */
export const withReply: Interceptor = (next) => async (request) => {
  const call = calls.getStore() ?? { headers: {} };
  try {
    const response = await next(request);
    if (!response.stream) {
      addReply(call, response);
      return response;
    }
    return { ...response, message: withReplyOf(call, response) };
  } catch (error) {
    throw wantedError(call, error);
  }
};

interface Parts {
  readonly header: Headers;
  readonly trailer: Headers;
}

async function* withReplyOf<T>(
  call: SuiteCall,
  response: Parts & { readonly message: AsyncIterable<T> },
): AsyncGenerator<T> {
  let hasReply = false;
  const begin = () => {
    if (!hasReply) addReply(call, response);
    hasReply = true;
  };
  try {
    for await (const message of response.message) {
      begin();
      yield message;
    }
    begin();
  } catch (error) {
    begin();
    throw wantedError(call, error, false);
  }
}

function addReply({ definition }: SuiteCall, { header, trailer }: Parts): void {
  append(header, definition?.responseHeaders);
  append(trailer, definition?.responseTrailers);
}

function append(headers: Headers, more: readonly Header[] = []): void {
  for (const { name, value } of more) for (const each of value) headers.append(name, each);
}

/** @param isWhole whether the answer has not begun: then the error carries headers and trailers */
function wantedError({ definition, error }: SuiteCall, thrown: unknown, isWhole = true): ConnectError {
  const own = ConnectError.from(thrown);
  if (error === undefined) return own;
  const wanted = new ConnectError(own.rawMessage, error.code);
  wanted.details = error.details.map(({ typeUrl, value }) => ({
    type: typeUrl.split('/').at(-1) ?? '',
    value,
  }));
  if (isWhole) {
    append(wanted.metadata, definition?.responseHeaders);
    append(wanted.metadata, definition?.responseTrailers);
  }
  return wanted;
}

/**
 * For gRPC over HTTP/2: changes the data that Parley sends on a stream. The service receives the events of the stream
 * as parts of the call.
 */
export function setReplyOnStream(stream: ServerHttp2Stream, call: SuiteCall): void {
  const emit = stream.emit.bind(stream);
  stream.emit = (...event: Parameters<typeof emit>) => calls.run(call, () => emit(...event));
  const [respond, sendTrailers] = [stream.respond.bind(stream), stream.sendTrailers.bind(stream)];
  stream.respond = (head, options) =>
    respond({ ...head, ...record(call.definition?.responseHeaders) }, options);
  stream.sendTrailers = (trailers) =>
    sendTrailers({ ...wantedTrailers(trailers, call), ...record(call.definition?.responseTrailers) });
}

function record(headers: readonly Header[] = []): OutgoingHttpHeaders {
  return Object.fromEntries(headers.map(({ name, value }) => [name, [...value]]));
}

function wantedTrailers(trailers: OutgoingHttpHeaders, { error }: SuiteCall): OutgoingHttpHeaders {
  if (error === undefined) return trailers;
  const { code } = error;
  const status = fromBinary(StatusSchema, base64Decode(String(trailers['grpc-status-details-bin'])));
  const wanted = toBinary(
    StatusSchema,
    create(StatusSchema, { ...status, code, details: [...error.details] }),
  );
  return {
    ...trailers,
    'grpc-status': String(code),
    'grpc-status-details-bin': base64Encode(wanted, 'std_raw'),
  };
}
