/** Errors of requests whose frames or messages cannot be read, equal for gRPC, gRPC-Web and Connect. */
import { ParleyError } from '../../core/values/errors.ts';

export function malformed(cause?: unknown): ParleyError {
  return new ParleyError('invalid_request_error', {
    message: 'A message of the request cannot be read. Send it as the schema of the RPC describes it.',
    cause,
  });
}

export function tooLarge(): ParleyError {
  return new ParleyError('payload_too_large', { message: 'A message of the request is too large.' });
}

/** For a message that is marked as compressed although the headers name no compression, and for an unknown mark. */
export function wrongFlag(): ParleyError {
  return new ParleyError('invalid_request_error', {
    message:
      'The flags of a message do not fit the headers of the request. Name its compression, or send it uncompressed.',
    grpcCode: 'INTERNAL',
  });
}

/** An RPC takes one message, and the request has none or several. */
export function notOneMessage(): ParleyError {
  return new ParleyError('invalid_request_error', {
    message: 'This RPC takes one message. Send exactly one.',
    grpcCode: 'UNIMPLEMENTED',
  });
}

export function noSuchMethod(): ParleyError {
  return new ParleyError('not_found', {
    message: 'There is no such method here.',
    grpcCode: 'UNIMPLEMENTED',
  });
}
