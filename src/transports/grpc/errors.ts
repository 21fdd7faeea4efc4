/** Sends a ParleyError over gRPC: through grpc-js once a call runs, as bare trailers if the gate refused it. */
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { Metadata, type StatusObject } from '@grpc/grpc-js';
import { rpcMessage, statusCode, statusDetails } from '../rpc/errors.ts';
import type { ServedCall } from '../run-call.ts';
import { acceptedEncodings } from './request.ts';

const detailsHeader = 'grpc-status-details-bin';

export function statusOf(thrown: unknown, served: ServedCall): StatusObject {
  const error = served.errorOf(thrown);
  const metadata = new Metadata();
  metadata.set(detailsHeader, Buffer.from(statusDetails(error, served.id)));
  for (const [name, value] of Object.entries(served.rateHeaders)) metadata.set(name, value);
  return { code: statusCode(error), details: rpcMessage(error), metadata };
}

/** Sends trailers without the additions of grpc-js: the padding of base64, and a message that says OK. */
export function sendTrailers(stream: ServerHttp2Stream, trailers: OutgoingHttpHeaders): void {
  const { 'grpc-message': message, [detailsHeader]: details } = trailers;
  if (message === 'OK') delete trailers['grpc-message'];
  if (details !== undefined) trailers[detailsHeader] = String(details).replace(/=+$/, '');
  stream.sendTrailers(trailers);
  stopSending(stream);
}

/** Stops a client that is still sending, once the trailers have left. */
function stopSending(stream: ServerHttp2Stream): void {
  setImmediate(() => {
    if (!stream.destroyed && stream.state.remoteClose === 0) stream.close(constants.NGHTTP2_NO_ERROR);
  });
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
    sendTrailers(stream, {
      'grpc-status': String(statusCode(error)),
      'grpc-message': encodeURI(rpcMessage(error)),
      [detailsHeader]: Buffer.from(statusDetails(error, served.id)).toString('base64'),
    });
  });
  stream.end();
}
