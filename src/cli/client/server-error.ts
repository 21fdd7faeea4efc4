import type { ErrorInfo } from '../../../gen/google/rpc/error_details_pb.ts';
import { CliError } from '../terminal/command.ts';

/** An error response of a Parley. */
export class ServerError extends CliError {
  readonly code: string;
  readonly requestId: string;
  /** The field that the error is about, if any. */
  readonly param: string | undefined;
  /** The message without code and request id: problem and advice. */
  readonly words: string;

  constructor(words: string, { reason, metadata }: ErrorInfo) {
    const { request_id: requestId = '', param } = metadata;
    super(`${words} (${reason}, request ${requestId})`);
    this.words = words;
    this.code = reason;
    this.requestId = requestId;
    this.param = param;
  }
}
