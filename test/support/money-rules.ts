/** The settings of the model and the program, the arithmetic of the rules, and the expectations of the model. */
import type { Reserved } from './expected-books.ts';
import type { ChatModelName, ChatRequest, Request } from './money-steps.ts';

export const planUnits = 160;
export const trialUnits = 100;
export const unitsPerSecond = 15;
/** Tokens that a chat model accepts, and that it writes. */
export const chatTokens = 20;
/** Half of the context after the four tokens of a prompt and its role. */
const roomTokens = 8;
/** Nano-credits per million tokens. */
export const prices: Readonly<Record<ChatModelName, Record<PricedTokens, bigint>>> = {
  fine: { input: 333_333n, cached: 33_333n, written: 416_667n, output: 777_777n },
  dear: { input: 3_000_000_000n, cached: 300_000_001n, written: 3_000_000_000n, output: 7_000_000_000n },
  free: { input: 0n, cached: 0n, written: 0n, output: 0n },
};
export type PricedTokens = 'input' | 'cached' | 'written' | 'output';
/** Nano-credits that an account may spend per month, and its key per day. */
export const budgets = { account: 500_000n, key: 300_000n } as const;
export type BudgetOwner = keyof typeof budgets;
export const prompt = 'Hello there';
export const word = 'word ';

/** Token counts that the model needs: of the prompt, and of a number of words. */
export interface TextTokens {
  readonly prompt: number;
  words(count: number): number;
}

export interface ExpectedRecord {
  state: string;
  status: number | undefined;
  code: string | undefined;
  units: number | undefined;
  cost: bigint | undefined;
  overrun: bigint | undefined;
  /** Tokens of prompt and completion with their source, and those of a cache, for charged requests only. */
  tokens: ChargedTokens | undefined;
}

export type ChargedTokens = readonly [
  prompt: number,
  completion: number,
  source: string,
  ...cache: [read: number, written: number],
];

/** A running request. */
export interface Running {
  readonly id: string;
  readonly request: Request;
  readonly reserved: Reserved;
  /** For chat the limit that its engine gets. */
  readonly maxTokens: number | undefined;
  words: number;
  heardMs: number;
  hasOutput: boolean;
}

export interface Kept {
  readonly fingerprint: string;
  readonly id: string;
  readonly atMs: number;
  isRunning: boolean;
}

export interface ExpectedAccount {
  readonly trialEndsMs: number;
  plan: { readonly startsMs: number; readonly endsMs: number } | undefined;
  readonly records: Map<string, ExpectedRecord>;
  readonly kept: Map<string, Kept>;
}

/** `runs`, `answered`, or the code of a refusal. */
export type Outcome = string;

/** The hold of a chat and the limit that its engine gets; undefined if the credits do not cover one token. */
export function planHold(request: ChatRequest, available: bigint) {
  const input = Math.min(chatTokens, request.bytes);
  const { maxTokens } = request;
  const most = maxTokens !== undefined && maxTokens <= chatTokens ? maxTokens : roomTokens;
  for (let output = most; output > 0; output--) {
    const hold = holdOf(request.model, input, output * request.n);
    if (hold <= available) return { hold, maxTokens: output };
  }
  return undefined;
}

export const budgetOwners = ['account', 'key'] as const satisfies readonly BudgetOwner[];

/** The cost if the whole prompt is written to the cache, which is never cheaper. */
function holdOf(model: ChatModelName, prompt: number, output: number): bigint {
  return costOf(model, [prompt, output, 'reported', 0, prompt]);
}

/** Rounds up to a whole nano-credit. */
export function costOf(model: ChatModelName, [prompt, output, , cached, written]: ChargedTokens): bigint {
  const price = prices[model];
  const millionths =
    price.input * BigInt(prompt - cached - written) +
    price.cached * BigInt(cached) +
    price.written * BigInt(written) +
    price.output * BigInt(output);
  const whole = millionths / 1_000_000n;
  return whole * 1_000_000n === millionths ? whole : whole + 1n;
}

/** The HTTP status of each error code. */
export const statuses: Readonly<Record<string, number>> = {
  invalid_input: 400,
  unknown_model: 400,
  missing_file: 400,
  subscription_required: 402,
  fair_use_limit_reached: 402,
  insufficient_credits: 402,
  budget_exceeded: 402,
  insufficient_scope: 403,
  idempotency_conflict: 409,
  request_cancelled: 499,
  internal_error: 500,
  upstream_error: 502,
  overloaded: 503,
};

/** A record of which only the state is known. */
export function ended(state: string): ExpectedRecord {
  return {
    state,
    status: undefined,
    code: undefined,
    units: undefined,
    cost: undefined,
    overrun: undefined,
    tokens: undefined,
  };
}
