/** Sends a ParleyError over gRPC: through grpc-js once a call runs, as bare trailers if the gate refused it. */
import { constants, type ServerHttp2Stream } from 'node:http2';
import { Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import { rpcMessage, statusCode, statusDetails } from '../rpc/errors.ts';
import type { ServedCall } from '../run-call.ts';

export function serviceError(thrown: unknown, served: ServedCall): ServiceError {
  const error = served.errorOf(thrown);
  const details = rpcMessage(error);
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', Buffer.from(statusDetails(error, served.id)));
  const status: StatusObject = { code: statusCode(error), details, metadata };
  return Object.assign(new Error(details), status);
}

/** Answers a call whose body has not been read, and tells the client to stop sending it. */
export function refuse(stream: ServerHttp2Stream, thrown: unknown, served: ServedCall): void {
  const error = served.errorOf(thrown);
  if (stream.destroyed || stream.closed || stream.headersSent) return;
  stream.respond(
    { ':status': 200, 'content-type': 'application/grpc+proto', 'x-request-id': served.id },
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
