/** Explains a failed call to a server. */
import { Code, ConnectError } from '@connectrpc/connect';
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { type AdviceKind, adviceKinds } from '../../core/values/errors.ts';
import { systemCode } from '../../files/reason.ts';
import { CliError, ServerError } from '../terminal/command.ts';

/** TLS error codes such as ERR_TLS_CERT_ALTNAME_INVALID, SELF_SIGNED_CERT_IN_CHAIN or UNABLE_TO_VERIFY_LEAF_SIGNATURE. */
const certificateCodes = /_CERT(_|$)|^CERT_|_SIGNATURE$/;

/** @param hasBegun whether a part of the response arrived before the failure */
export function failedCall(thrown: unknown, baseUrl: string, hasBegun = false): CliError {
  const error = ConnectError.from(thrown);
  const info = error.findDetails(ErrorInfoSchema).find(({ domain }) => domain === 'parley');
  if (info) {
    const { problem = error.rawMessage, advice, advice_type: type } = info.metadata;
    return new ServerError(withAdvice(problem, advice, type), info);
  }
  const code = causeCode(error);
  if (code !== undefined) return failedConnection(code, baseUrl, error);
  if (error.code === Code.DeadlineExceeded) {
    return new CliError(`${baseUrl} did not answer in time. Try again.`, error);
  }
  if (hasBegun) return new CliError('The answer was cut short. Try again.', error);
  return new CliError(
    `${baseUrl} does not answer like a Parley server (${error.rawMessage}). Check --base-url.`,
    error,
  );
}

function failedConnection(code: string, baseUrl: string, error: Error): CliError {
  if (code === 'ECONNREFUSED') {
    return new CliError(
      `No server answers at ${baseUrl}. Start one with \`parley serve\`, or name another with --base-url.`,
      error,
    );
  }
  if (certificateCodes.test(code)) {
    return new CliError(
      `The certificate of ${baseUrl} is not accepted (${code}). Name the server by --base-url as its certificate does, or trust its authority: NODE_EXTRA_CA_CERTS=FILE.`,
      error,
    );
  }
  return new CliError(
    `The connection to ${baseUrl} failed (${code}). Check --base-url, or try again.`,
    error,
  );
}

/** The system's code for a failed connection. Connect wraps that error once or twice. */
function causeCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return systemCode(error) ?? causeCode(error.cause);
}

const advices: Readonly<Record<AdviceKind, (type: string | undefined) => string>> = {
  list_models: (type) => `${modelsCommand(type)} lists those that your key can call.`,
  choose_model: (type) => `${modelsCommand(type)} lists those that your key can call.`,
  list_voices: (type) => `${modelsCommand(type)} lists its voices.`,
  send_key: () =>
    'Give one with --api-key or PARLEY_API_KEY, for administration with --admin-key or PARLEY_ADMIN_KEY.',
  open_subscription: () =>
    'The operator of the server opens one with `parley plan start-trial <account>` or `parley plan activate <account> --until <when>`.',
  load_credits: () =>
    'The operator of the server loads more with `parley credits load <account> <amount> --reason <text>`.',
};

function modelsCommand(type: string | undefined): string {
  return `\`parley models${type === undefined ? '' : ` --type ${type}`}\``;
}

/** The problem and the next step, as commands and flags. Ignores an unknown kind of advice, which a newer server may send. */
export function withAdvice(problem: string, kind: string | undefined, type: string | undefined): string {
  const known = adviceKinds.find((name) => name === kind);
  return known === undefined ? problem : `${problem} ${advices[known](type)}`;
}
