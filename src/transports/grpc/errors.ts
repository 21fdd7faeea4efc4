/** Sends a ParleyError over gRPC: through grpc-js once a call runs, as bare trailers if the gate refused it. */
import { constants, type ServerHttp2Stream } from 'node:http2';
import { Metadata, type ServiceError, type StatusObject, status } from '@grpc/grpc-js';
import { ParleyError } from '../../core/errors.ts';
import { malformedMessage, rpcMessage, statusCode, statusDetails, tooLargeMessage } from '../rpc/errors.ts';
import type { ServedCall } from '../run-call.ts';
import { acceptedEncodings } from './admission.ts';

export function serviceError(thrown: unknown, served: ServedCall): ServiceError {
  const error = served.errorOf(thrown);
  const details = rpcMessage(error);
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', Buffer.from(statusDetails(error, served.id)));
  for (const [name, value] of Object.entries(served.rateHeaders)) metadata.set(name, value);
  const object: StatusObject = { code: statusCode(error), details, metadata };
  return Object.assign(new Error(details), object);
}

/** Statuses that grpc-js gives a call by itself, for a message that it cannot unpack or that is too large. */
const ownErrors: Readonly<Record<string, () => ParleyError>> = {
  [status.INTERNAL]: () => new ParleyError('invalid_request_error', { message: malformedMessage }),
  [status.RESOURCE_EXHAUSTED]: () => new ParleyError('payload_too_large', { message: tooLargeMessage }),
};

/** Replaces the statuses that grpc-js gives by itself with errors that have details. */
export function explainOwnErrors(stream: ServerHttp2Stream, served: ServedCall): void {
  const respond = stream.respond.bind(stream);
  stream.respond = (headers, options) => {
    // Parley's own answers begin with a head; their status comes in the trailers.
    const error = ownErrors[String(Reflect.get(headers ?? {}, 'grpc-status'))];
    stream.respond = respond;
    if (error) refuse(stream, error(), served);
    else respond(headers, options);
  };
}

/** Answers a call whose body has not been read, and tells the client to stop sending it. */
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
      'grpc-status-details-bin': Buffer.from(statusDetails(error, served.id)).toString('base64'),
    });
    setImmediate(() => {
      // The trailers have left by now. Stops a client that is still sending.
      if (!stream.destroyed && stream.state.remoteClose === 0) stream.close(constants.NGHTTP2_NO_ERROR);
    });
  });
  stream.end();
}
