/** Sends a ParleyError over gRPC: through grpc-js once a call runs, as bare trailers if the gate refused it. */
import { constants, type ServerHttp2Stream } from 'node:http2';
import { Metadata, type ServiceError, type StatusObject, status } from '@grpc/grpc-js';
import type { ParleyError } from '../../core/values/errors.ts';
import { rpcMessage, statusCode, statusDetails } from '../rpc/errors.ts';
import { malformed, tooLarge } from '../rpc/request-errors.ts';
import type { ServedCall } from '../run-call.ts';
import { acceptedEncodings } from './admission.ts';
import type { Frames } from './frames.ts';

const detailsHeader = 'grpc-status-details-bin';

export function serviceError(thrown: unknown, served: ServedCall): ServiceError {
  const error = served.errorOf(thrown);
  const details = rpcMessage(error);
  const metadata = new Metadata();
  metadata.set(detailsHeader, Buffer.from(statusDetails(error, served.id)));
  for (const [name, value] of Object.entries(served.rateHeaders)) metadata.set(name, value);
  const object: StatusObject = { code: statusCode(error), details, metadata };
  return Object.assign(new Error(details), object);
}

/** Statuses that grpc-js sends by itself, for a message that is too large or cannot be decompressed. */
const ownErrors: Readonly<Record<string, () => ParleyError>> = {
  [status.INTERNAL]: malformed,
  [status.RESOURCE_EXHAUSTED]: tooLarge,
};

/** Replaces the statuses that grpc-js sends by itself for faults of the body with errors that have details. */
export function explainOwnErrors(stream: ServerHttp2Stream, served: ServedCall, frames: Frames): void {
  const respond = stream.respond.bind(stream);
  stream.respond = (headers, options) => {
    // Parley's own answers begin with a head; their status comes in the trailers.
    const ownStatus: unknown = Reflect.get(headers ?? {}, 'grpc-status');
    const error = ownStatus === undefined ? undefined : (frames.fault ?? ownErrors[String(ownStatus)]?.());
    stream.respond = respond;
    if (error) refuse(stream, error, served);
    else respond(headers, options);
  };
}

/** Removes additions of grpc-js to trailers: the padding of base64, and a message that says OK. */
export function sendPlainTrailers(stream: ServerHttp2Stream): void {
  const send = stream.sendTrailers.bind(stream);
  stream.sendTrailers = (trailers) => {
    const { 'grpc-message': message, [detailsHeader]: details } = trailers;
    if (message === 'OK') delete trailers['grpc-message'];
    if (details !== undefined) trailers[detailsHeader] = unpadded(String(details));
    send(trailers);
    stopSending(stream);
  };
}

/** Stops a client that is still sending, once the trailers have left. */
function stopSending(stream: ServerHttp2Stream): void {
  setImmediate(() => {
    if (!stream.destroyed && stream.state.remoteClose === 0) stream.close(constants.NGHTTP2_NO_ERROR);
  });
}

function unpadded(base64: string): string {
  return base64.replace(/=+$/, '');
}

/** Answers a call without reading its body, and asks the client to stop sending. */
export function refuse(stream: ServerHttp2Stream, thrown: unknown, served: ServedCall): void {
  const error = served.errorOf(thrown);
  if (stream.destroyed || stream.closed || stream.headersSent) return;
  stream.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc+proto',
      'grpc-accept-encoding': acceptedEncodings.join(','),
      'x-request-id': served.id,
      ...served.rateHeaders,
    },
    { waitForTrailers: true },
  );
  stream.once('wantTrailers', () => {
    stream.sendTrailers({
      'grpc-status': String(statusCode(error)),
      'grpc-message': encodeURI(rpcMessage(error)),
      [detailsHeader]: unpadded(Buffer.from(statusDetails(error, served.id)).toString('base64')),
    });
    stopSending(stream);
  });
  stream.end();
}
