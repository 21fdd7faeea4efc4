/** Refusals of an upstream that the client can fix: they keep their code and their field, never the upstream's sentences. */
import { objectsOf } from '../../codec/shape.ts';
import { type ErrorCode, type ErrorDetails, ParleyError } from '../../core/values/errors.ts';
import { isObject } from '../../core/values/json.ts';

interface ErrorAnswer {
  readonly status: number;
  /** JSON with the member `error`, or another text. */
  readonly body: string;
  /** Whether another Parley sent it. Default: false. */
  readonly isParley?: boolean | undefined;
  /** The JSON of a request whose fields may be named. Default: none are. */
  readonly sent?: Uint8Array | undefined;
}

/** The error for the client; undefined if only an operator can fix it, or the upstream does not name the reason. */
export function clientError(answer: ErrorAnswer, details: ErrorDetails): ParleyError | undefined {
  const error = readError(answer.body);
  return (answer.isParley && errorOfParley(error, details)) || namedRefusal(error, answer, details);
}

/** Codes of another Parley that are passed on, with a message that replaces the table's, as a local engine would refuse the request too. */
const parleyErrors: Readonly<Partial<Record<ErrorCode, string | undefined>>> = {
  invalid_input: '`input` has nothing that can be spoken: send words or numbers.',
  input_too_long: undefined,
  unknown_voice: undefined,
  unsupported_response_format: undefined,
  invalid_file: undefined,
  unsupported_file_format: undefined,
  payload_too_large: undefined,
  invalid_messages: undefined,
  invalid_parameter: 'The engine behind this model refuses the value of a parameter.',
  content_filter: undefined,
};

/** The form that the other server's `param` must have to be passed on. */
const fieldPath = /^[\w.[\]-]{1,100}$/;

function errorOfParley({ code, param }: UpstreamError, details: ErrorDetails): ParleyError | undefined {
  if (!isParleyCode(code)) return undefined;
  const message = parleyErrors[code];
  return new ParleyError(code, {
    ...details,
    ...(message !== undefined && { message }),
    ...(typeof param === 'string' && fieldPath.test(param) && { param }),
  });
}

function isParleyCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(parleyErrors, code);
}

const ofContent = /^(content_filter|content_policy_violation|data_?inspection_?failed)$/i;
const ofUnknown = /^(unsupported|unknown)_parameter$/;
const ofSchema = /^invalid_(function_parameters|json_schema)$/;
const ofValue =
  /^(unsupported_value|invalid_(value|type)|missing_required_parameter|\w+_(above_max|below_min)_\w+)$/;

function sentenceOf(name: string): string | undefined {
  if (ofUnknown.test(name)) return 'The model does not take a parameter';
  if (ofSchema.test(name)) return 'The model does not accept the schema of a tool or of the answer';
  return ofValue.test(name) ? 'The model does not accept the value of a parameter' : undefined;
}

/** The error of a refusal that names a field of the request, or has a known code. Keeps the status. */
function namedRefusal(
  { code, type, param }: UpstreamError,
  { status: httpStatus, sent }: ErrorAnswer,
  details: ErrorDetails,
): ParleyError | undefined {
  if (sent === undefined || (httpStatus !== 400 && httpStatus !== 422)) return undefined;
  const names = [code, type].filter((name) => typeof name === 'string');
  if (names.some((name) => ofContent.test(name)))
    return new ParleyError('content_filter', { ...details, httpStatus });
  const field = sentField(param, sent);
  const sentence = names.map(sentenceOf).find(Boolean) ?? (field && 'The model refuses a parameter');
  if (!sentence) return undefined;
  const message = field === undefined ? `${sentence}.` : `${sentence}: \`${field}\`.`;
  return new ParleyError('invalid_parameter', {
    ...details,
    httpStatus,
    message,
    ...(field && { param: field }),
  });
}

const pathLengthMax = 200;
const stepsMax = 16;
/** Members that Parley adds. */
const ownMembers: readonly string[] = ['model', 'stream', 'stream_options'];

/**
 * The longest beginning of a path that is one of a field of the request, such as `tools[0].function.parameters`: a name
 * that was not sent may be text.
 */
function sentField(param: unknown, sent: Uint8Array): string | undefined {
  if (typeof param !== 'string' || param.length > pathLengthMax) return undefined;
  const json = Buffer.from(sent.buffer, sent.byteOffset, sent.byteLength);
  const steps = param
    .split(/[.[\]]+/)
    .filter(Boolean)
    .slice(0, stepsMax);
  const foreign = steps.findIndex(
    (step) => !/^\d{1,6}$/.test(step) && !(/^[\w-]+$/.test(step) && json.includes(`"${step}":`)),
  );
  const [first, ...rest] = foreign < 0 ? steps : steps.slice(0, foreign);
  if (first === undefined || /^\d/.test(first) || ownMembers.includes(first)) return undefined;
  return first + rest.map((step) => (/^\d/.test(step) ? `[${step}]` : `.${step}`)).join('');
}

interface UpstreamError {
  readonly code?: unknown;
  readonly type?: unknown;
  readonly param?: unknown;
}

/** Reads the error of OpenAI's API, of Gemini's, which is in a list, or of FastAPI, whose path of the field is a list. */
export function readError(body: string): UpstreamError {
  try {
    const [json]: unknown[] = [JSON.parse(body)].flat();
    if (!isObject(json)) return {};
    const [detail] = objectsOf(json['detail']);
    const path = Array.isArray(detail?.['loc']) ? detail['loc'] : [];
    const param = path.filter((step) => step !== 'body').join('.');
    return { param, ...json, ...(isObject(json['error']) && json['error']) };
  } catch {
    // Not JSON, or cut off.
    return {};
  }
}
