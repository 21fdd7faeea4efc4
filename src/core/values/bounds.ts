/**
 * Limits on the values of requests, as keywords of JSON Schema, for the checks and the OpenAPI document. Lengths are in
 * Unicode code points.
 */

const notBlank = '\\S';
const text = (maxLength: number) => ({ minLength: 1, maxLength, pattern: notBlank });

/** Credits, at most some 9.2 billion, the maximum of an account, with nine decimals. */
const credits = '0*(\\d{1,9}|[1-8]\\d{9}|9[01]\\d{8}|92[01]\\d{7})(\\.\\d{1,9})?$';

export const bounds = {
  name: text(100),
  reason: text(200),
  idempotencyKey: { minLength: 1, maxLength: 255 },
  notBlank: { pattern: notBlank },
  pageSize: { minimum: 1, maximum: 1_000 },
  /** The id of the page's last item. */
  pageToken: { pattern: '^[a-z]{3}_[0-9a-f]{32}$' },
  /** Empty, or the id of an audit entry. */
  auditCursor: { pattern: '^(aud_[0-9a-f]{32})?$' },
  /** Accounts or keys with totals of their own. */
  top: { minimum: 1, maximum: 100 },
  /** Models of a server that is checked. */
  checkedModels: { maxItems: 20 },
  modelName: text(200),
  /** The settings of an engine, a model or a conversation in YAML. */
  entryYaml: { maxLength: 5_000 },
  configurationVersion: { pattern: '^[0-9a-f]{64}$' },
  /** An engine with the models that are offered at once. */
  configurationEdits: { minItems: 1, maxItems: 21 },
  /** A header carries it. */
  upstreamKey: { pattern: '^[\\x21-\\x7e]{1,4096}$' },
  /** Accounts or keys whose names one call returns. */
  namedIds: { maxItems: 100 },
  requestId: { pattern: '^req_[0-9a-f]{32}$' },
  /** 30 days. */
  overlapSeconds: { minimum: 0, maximum: 2_592_000 },
  rate: { minimum: 0 },
  /** Names of end users, as records keep them. */
  endUser: { maxLength: 128 },
  tags: { maxItems: 3 },
  tag: { maxLength: 64 },
  percents: { maxItems: 10 },
  percent: { minimum: 1, maximum: 100 },
  limitEntries: { maxItems: 100 },
  /** At most three wildcards (`*`). */
  modelPattern: { ...text(200), pattern: '^(?=.*\\S)[^*]*(\\*[^*]*){0,3}$' },
  webhookUrl: { maxLength: 2_000 },
  mailAddresses: { maxItems: 5 },
  /** As HTML defines it for forms: without quotes, comments, or characters beyond ASCII. */
  mailAddress: {
    maxLength: 254,
    pattern:
      "^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$",
  },
  matrixRoom: { maxLength: 255, pattern: '^![\\x21-\\x7e]+$' },
  matrixToken: { maxLength: 2_000, pattern: '^[\\x21-\\x7e]+$' },
  /** OpenAI's own limit for `n`. */
  choices: { minimum: 1, maximum: 128 },
  messages: { minItems: 1 },
  /** The contract's limit. */
  speechInput: { minLength: 1, maxLength: 4_000, pattern: notBlank },
  credits: { pattern: `^${credits}` },
  creditsAboveZero: { pattern: `^(?=.*[1-9])${credits}` },
  creditsNotZero: { pattern: `^(?=.*[1-9])-?${credits}` },
  /** A month in UTC, such as `2026-11`. */
  month: { pattern: '^(19[7-9]\\d|[2-9]\\d{3})-(0[1-9]|1[0-2])$' },
  clientSecretSeconds: { minimum: 10, maximum: 7_200 },
  /** The first moment of a day. */
  dayStart: {
    pattern:
      '^(19[7-9]\\d|[2-9]\\d{3})-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T00:00:00(\\.0{1,9})?(Z|[+-]00:00)$',
  },
} as const;

interface Length {
  readonly minLength?: number;
  readonly maxLength: number;
}

/** Whether a text has as many code points as its bound allows. */
export function hasLength(text: string, { minLength = 0, maxLength }: Length): boolean {
  // A code point has one or two UTF-16 units.
  if (text.length > 2 * maxLength) return false;
  const length = Array.from(text).length;
  return length >= minLength && length <= maxLength;
}

export function isWithin(
  value: number,
  { minimum, maximum }: { readonly minimum: number; readonly maximum: number },
): boolean {
  return value >= minimum && value <= maximum;
}

export function matches(text: string, { pattern }: { readonly pattern: string }): boolean {
  return new RegExp(pattern, 'u').test(text);
}

export function isMailAddress(text: string): boolean {
  return hasLength(text, bounds.mailAddress) && matches(text, bounds.mailAddress);
}
