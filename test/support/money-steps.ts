/** Random histories of two accounts, as lists of steps. */
import fc from 'fast-check';

export const accountNames = ['ada', 'bob'] as const;
export type AccountName = (typeof accountNames)[number];
export const chatModels = ['fine', 'dear', 'free'] as const;
export type ChatModelName = (typeof chatModels)[number];

interface RequestFacts {
  readonly account: AccountName;
  /** The fault of the request; undefined for a good one. */
  readonly flaw: 'no key' | 'no scope' | 'bad field' | undefined;
  readonly idempotencyKey: string | undefined;
}

export interface ChatRequest extends RequestFacts {
  readonly operation: 'chat';
  readonly streamed: boolean;
  readonly model: ChatModelName;
  readonly bytes: number;
  readonly maxTokens: number | undefined;
  readonly n: number;
}

export interface SpeechRequest extends RequestFacts {
  readonly operation: 'speech';
  readonly characters: number;
}

export interface TranscriptionRequest extends RequestFacts {
  readonly operation: 'transcription';
  readonly streamed: boolean;
}

export type Request = ChatRequest | SpeechRequest | TranscriptionRequest;

/** The usage that a chat engine reports. */
export interface Report {
  readonly prompt: number;
  readonly completion: number;
  /** Reasoning tokens that only the total includes. */
  readonly apart: number;
  /** Tokens of the prompt that were read from a cache, and that were written to it. */
  readonly cache?: readonly [read: number, written: number] | undefined;
}

/** An event of a running request. An event without meaning for its operation changes nothing. */
export type Act =
  | { readonly act: 'role' }
  | { readonly act: 'output' }
  | { readonly act: 'heard'; readonly durationMs: number }
  | { readonly act: 'end'; readonly report: Report | undefined; readonly durationMs: number }
  | { readonly act: 'break off' }
  | { readonly act: 'fail' }
  /** The client leaves: its signal aborts. */
  | { readonly act: 'leave' }
  /** The client leaves: the transport stops reading. */
  | { readonly act: 'hang up' }
  | { readonly act: 'time out' };

export interface Entry {
  readonly account: AccountName;
  readonly nano: number;
  readonly reference: string;
}

export type Step =
  | { readonly step: 'request'; readonly request: Request }
  /** An earlier request is repeated. `which` counts through these requests, and starts again after the last. */
  | { readonly step: 'repeat'; readonly which: number }
  /** `which` counts through the running requests, oldest first, and starts again after the last. */
  | { readonly step: 'act'; readonly which: number; readonly act: Act }
  | ({ readonly step: 'load' } & Entry)
  | ({ readonly step: 'adjust' } & Entry)
  | { readonly step: 'plan'; readonly account: AccountName; readonly days: number }
  | { readonly step: 'time'; readonly hours: number }
  | { readonly step: 'restart' }
  | { readonly step: 'kill' };

const accounts = fc.constantFrom(...accountNames);
const sometimes = <T>(arbitrary: fc.Arbitrary<T>, weight: number) =>
  fc.oneof(
    { arbitrary: fc.constant<undefined>(undefined), weight },
    { arbitrary: arbitrary.map((value): T | undefined => value), weight: 1 },
  );

const facts = {
  account: accounts,
  flaw: sometimes(
    fc.constantFrom<'no key' | 'no scope' | 'bad field'>('no key', 'no scope', 'bad field'),
    15,
  ),
  idempotencyKey: sometimes(fc.constantFrom('one', 'two', 'three'), 2),
};

const requests: fc.Arbitrary<Request> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      ...facts,
      operation: fc.constant<'chat'>('chat'),
      streamed: fc.boolean(),
      model: fc.constantFrom<ChatModelName>('fine', 'dear', 'dear', 'dear', 'free'),
      bytes: fc.constantFrom(5, 500),
      maxTokens: sometimes(fc.integer({ min: 1, max: 40 }), 2),
      n: fc.constantFrom(1, 1, 3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...facts,
      operation: fc.constant<'speech'>('speech'),
      characters: fc.integer({ min: 1, max: 60 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...facts,
      operation: fc.constant<'transcription'>('transcription'),
      streamed: fc.boolean(),
    }),
  },
);

const durations = fc.integer({ min: 0, max: 5_000 });
const reports: fc.Arbitrary<Report> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      prompt: fc.integer({ min: 0, max: 20 }),
      completion: fc.integer({ min: 0, max: 20 }),
      apart: fc.constantFrom(0, 0, 5),
      // More than some prompts have.
      cache: fc.constantFrom(undefined, [2, 0], [1, 3], [12, 4], [-1, 2]) as fc.Arbitrary<Report['cache']>,
    }),
  },
  // More than most holds cover.
  { weight: 5, arbitrary: fc.constant({ prompt: 20, completion: 1, apart: 0 }) },
  { weight: 1, arbitrary: fc.constant<Report>({ prompt: 20, completion: 1, apart: 0, cache: [0, 20] }) },
  // Reports that cannot be true.
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      { prompt: 50, completion: 90, apart: 0 },
      { prompt: 21, completion: 1, apart: 0 },
      { prompt: 4, completion: 1_000_000_000, apart: 0 },
      { prompt: -3, completion: 4, apart: 0 },
      { prompt: 3, completion: -4, apart: 9 },
    ),
  },
);

const acts: fc.Arbitrary<Act> = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Act>({ act: 'role' }) },
  { weight: 10, arbitrary: fc.constant<Act>({ act: 'output' }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant<'heard'>('heard'), durationMs: durations }) },
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant<'end'>('end'),
      report: fc.option(reports, { nil: undefined }),
      durationMs: durations,
    }),
  },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom<'break off' | 'fail' | 'leave' | 'hang up' | 'time out'>(
        'break off',
        'fail',
        'leave',
        'hang up',
        'time out',
      )
      .map((act) => ({ act })),
  },
);

const references = fc.constantFrom('r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8', 'r9');
const dearHold = 200_000;
const step = <Name extends string>(name: Name) => ({ step: fc.constant<Name>(name) });

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 36, arbitrary: fc.record({ ...step('request'), request: requests }) },
  { weight: 10, arbitrary: fc.record({ ...step('repeat'), which: fc.nat(100) }) },
  { weight: 48, arbitrary: fc.record({ ...step('act'), which: fc.nat(100), act: acts }) },
  {
    weight: 6,
    arbitrary: fc.record({
      ...step('load'),
      account: accounts,
      nano: fc.oneof(fc.constant(dearHold), fc.integer({ min: 1, max: 5 * dearHold })),
      reference: references,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      ...step('adjust'),
      account: accounts,
      nano: fc.oneof(fc.integer({ min: -dearHold, max: -1 }), fc.integer({ min: 1, max: 100 })),
      reference: references,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ ...step('plan'), account: accounts, days: fc.integer({ min: 1, max: 40 }) }),
  },
  { weight: 4, arbitrary: fc.record({ ...step('time'), hours: fc.constantFrom(1, 1, 25, 24 * 4, 24 * 20) }) },
  { weight: 1, arbitrary: fc.record(step('restart')) },
  { weight: 2, arbitrary: fc.record(step('kill')) },
);

/** Both accounts start with some credits, so that most requests are not refused. */
const beginning: readonly Step[] = accountNames.map((account) => ({
  step: 'load',
  account,
  nano: 2 * dearHold,
  reference: 'first',
}));

/** Long enough for several requests at once and for limits to be reached. */
export const histories = fc
  .array(steps, { maxLength: 200, size: 'max' })
  .map((history) => [...beginning, ...history]);

const [first, second] = accountNames;
const upload: Request = {
  account: second,
  flaw: undefined,
  idempotencyKey: 'one',
  operation: 'transcription',
  streamed: false,
};

/**
 * Events that occur too seldom by chance: a cost that neither the hold nor the balance covers, and a transcription
 * without a file under the key of a running one.
 */
export const rareHistory: readonly Step[] = [
  ...beginning,
  { step: 'adjust', account: first, nano: 30_000 - 2 * dearHold, reference: 'r1' },
  {
    step: 'request',
    request: {
      account: first,
      flaw: undefined,
      idempotencyKey: undefined,
      operation: 'chat',
      streamed: false,
      model: 'dear',
      bytes: 5,
      maxTokens: 1,
      n: 1,
    },
  },
  {
    step: 'act',
    which: 0,
    act: { act: 'end', report: { prompt: 20, completion: 1, apart: 0 }, durationMs: 0 },
  },
  { step: 'request', request: upload },
  { step: 'request', request: { ...upload, flaw: 'bad field' } },
];

/** Whether an act has a meaning for a request. */
export function concerns(request: Request, { act }: Act): boolean {
  switch (act) {
    case 'role':
      return request.operation === 'chat' && request.streamed;
    case 'heard':
      return request.operation === 'transcription';
    case 'break off':
      return request.operation === 'transcription' || (request.operation === 'chat' && request.streamed);
    default:
      return true;
  }
}
