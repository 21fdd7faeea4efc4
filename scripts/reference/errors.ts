/** The error answers of an operation: the table of error codes, and which operations give each. */
import type { JsonObject } from '@bufbuild/protobuf';
import type { Operation } from '../../src/core/entities/usage.ts';
import { type ErrorCode, errorTable, ParleyError } from '../../src/core/values/errors.ts';
import { errorBody, errorHeaders, messageErrorBody, restMessage } from '../../src/transports/rest/errors.ts';

/** Facts that decide which errors an operation can give. */
export interface OperationFacts {
  readonly operation: Operation;
  readonly hasBody: boolean;
  /** Whether it reads parameters or a body, or refuses unknown ones. */
  readonly hasParameters: boolean;
  /** Whether the request names an object of the server, such as an account. */
  readonly namesObject: boolean;
  /** Whether the request can have an idempotency key. */
  readonly hasIdempotencyKey: boolean;
  /** The schema of the errors. Default: `Error`, with an example of each code. */
  readonly error?: 'Error' | 'MessageError' | undefined;
  /** The comments of the service, the RPC and the request, which may name codes. */
  readonly comments: string;
}

type Rule = readonly Operation[] | ((facts: OperationFacts) => boolean);

const always: Rule = () => true;
const withBody: Rule = ({ hasBody }) => hasBody;
const withEngine: Rule = ['speech', 'transcription', 'chat'];

/** Whether the comment of a field or of a service says so. */
const asCommented: Rule = [];

/** The operations that give each code. Each operation also gives the codes that its comments name. */
const rules: Readonly<Record<Exclude<ErrorCode, 'request_cancelled'>, Rule>> = {
  invalid_request_error: withBody,
  missing_model: asCommented,
  missing_input: asCommented,
  invalid_input: asCommented,
  unknown_model: asCommented,
  input_too_long: asCommented,
  unsupported_response_format: asCommented,
  unknown_voice: asCommented,
  missing_file: asCommented,
  invalid_file: asCommented,
  unsupported_file_format: asCommented,
  missing_messages: asCommented,
  invalid_messages: asCommented,
  invalid_parameter: ({ hasParameters }) => hasParameters,
  context_length_exceeded: ['chat'],
  content_filter: ['chat'],
  guard_refused: ['chat'],
  too_many_keys: asCommented,
  invalid_api_key: always,
  subscription_required: ['speech', 'transcription'],
  fair_use_limit_reached: ['speech', 'transcription'],
  budget_exceeded: ['chat'],
  insufficient_credits: ['chat'],
  insufficient_scope: always,
  account_suspended: ({ operation }) => operation !== 'admin',
  not_found: ({ namesObject }) => namesObject,
  idempotency_conflict: ({ hasIdempotencyKey }) => hasIdempotencyKey,
  payload_too_large: withBody,
  rate_limit_exceeded: always,
  internal_error: always,
  upstream_error: withEngine,
  overloaded: always,
  guard_unavailable: ['chat'],
  engine_unavailable: withEngine,
};

function gives(rule: Rule, facts: OperationFacts): boolean {
  return typeof rule === 'function' ? rule(facts) : rule.includes(facts.operation);
}

/** The responses of an operation that are errors, by status. */
export function errorResponses(facts: OperationFacts): JsonObject {
  const codes = Object.entries(rules).flatMap(([code, rule]) =>
    gives(rule, facts) || facts.comments.includes(`\`${code}\``) ? [code as ErrorCode] : [],
  );
  const byStatus = Object.groupBy(codes, (code) => String(errorTable[code].http));
  const hasEngine = gives(withEngine, facts);
  const responses = Object.entries(byStatus).map(([status, those = []]) => [
    status,
    errorResponse(those, hasEngine && !those.includes('upstream_error'), facts),
  ]);
  return { ...Object.fromEntries(responses), ...(hasEngine && { default: passedOnResponse(facts) }) };
}

/** @param mayBePassedOn whether an upstream may also have answered with the status */
function errorResponse(own: readonly ErrorCode[], mayBePassedOn: boolean, facts: OperationFacts): JsonObject {
  const lines = own.map((code) => `- \`${code}\`: ${restMessage(new ParleyError(code))}`);
  if (mayBePassedOn)
    lines.push('- `upstream_error`: The engine behind this model answered with this status.');
  const codes = mayBePassedOn ? [...own, 'upstream_error' as const] : own;
  const headers = Object.assign({}, ...codes.map((code) => headersOf(code)));
  return { description: lines.join('\n'), ...errorContent(codes, headers, facts) };
}

/** An upstream's own status, which is passed on. */
function passedOnResponse(facts: OperationFacts): JsonObject {
  const description =
    'The engine answered with an error of its own: its status, with the code `upstream_error`, and its `Retry-After`.';
  return { description, ...errorContent(['upstream_error'], headersOf('upstream_error'), facts) };
}

function errorContent(
  codes: readonly ErrorCode[],
  headers: JsonObject,
  { error = 'Error' }: OperationFacts,
): JsonObject {
  const examples = codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]);
  return {
    headers: { 'x-request-id': headerRef('x-request-id'), ...headers },
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${error}` },
        ...(error === 'Error' ? { examples: Object.fromEntries(examples) } : messageExample(codes)),
      },
    },
  };
}

function messageExample([code = 'internal_error']: readonly ErrorCode[]): JsonObject {
  const body = messageErrorBody(new ParleyError(code), 'req_0198f2c1a5b27c3d8e4f5a6b7c8d9e11');
  return { example: { ...body, error: { ...body.error } } };
}

export function headerRef(name: string): JsonObject {
  return { $ref: `#/components/headers/${name}` };
}

/** Codes whose answers may have `Retry-After`. */
const retryLater: ReadonlySet<ErrorCode> = new Set([
  'rate_limit_exceeded',
  'overloaded',
  'upstream_error',
  'idempotency_conflict',
]);

function headersOf(code: ErrorCode): JsonObject {
  const names = Object.keys(errorHeaders(new ParleyError(code)));
  if (retryLater.has(code)) names.push('retry-after');
  if (code === 'upstream_error') names.push('x-should-retry');
  return Object.fromEntries(names.map((name) => [name, headerRef(name)]));
}

export const errorHeaderComponents: JsonObject = {
  'retry-after': {
    description: 'Seconds after which to try again. Absent if the time is unknown.',
    schema: { type: 'integer', minimum: 0 },
    example: 7,
  },
  'x-should-retry': {
    description:
      'The same request will not succeed, or has run an upstream that another attempt would run again. SDKs respect this header.',
    schema: { const: 'false' },
    example: 'false',
  },
  'www-authenticate': { description: 'How to send a key.', schema: { const: 'Bearer' }, example: 'Bearer' },
};

/** An example of each error, by its code. */
export const errorExamples: JsonObject = Object.fromEntries(
  Object.keys(rules).map((code) => {
    const error = new ParleyError(code as ErrorCode);
    return [code, { summary: code, value: { error: { ...errorBody(error).error } } }];
  }),
);

export const errorSchema: JsonObject = {
  type: 'object',
  description: 'The body of every error. All four members are always there.',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['message', 'type', 'param', 'code'],
      properties: {
        message: { type: 'string', description: 'The problem and the next step, for people.' },
        type: { type: 'string', description: 'A coarse kind, as hosted APIs name it.' },
        param: { type: ['string', 'null'], description: 'The field that the error is about.' },
        code: {
          type: 'string',
          enum: Object.keys(rules),
          description: 'Branch on the HTTP status and on this.',
        },
      },
    },
  },
};
