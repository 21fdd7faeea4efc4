/** The settings that the model and the program are both given, the arithmetic of the rules, and what the model expects. */
import type { ChatModelName, ChatRequest, Request } from './money-steps.ts';

export const planUnits = 160;
export const trialUnits = 100;
export const unitsPerSecond = 15;
/** Tokens that a chat model takes, and that it writes. */
export const chatTokens = 20;
/** Half of what the four tokens of a prompt and its role leave of the context. */
const roomTokens = 8;
/** Nano-credits per million tokens. */
export const prices: Readonly<Record<ChatModelName, { readonly input: bigint; readonly output: bigint }>> = {
  fine: { input: 333_333n, output: 777_777n },
  dear: { input: 3_000_000_000n, output: 7_000_000_000n },
  free: { input: 0n, output: 0n },
};
/** Nano-credits that an account may spend in a month, and its key in a day. */
export const budgets = { account: 500_000n, key: 300_000n } as const;
export type BudgetOwner = keyof typeof budgets;
export const prompt = 'Hello there';
export const word = 'word ';

/** The token counts that the model needs: of the prompt, and of a number of words. */
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
  /** Prompt, completion and where they are from; only of what is charged. */
  tokens: readonly [number, number, string] | undefined;
}

interface ExpectedEntry {
  readonly kind: 'load' | 'adjustment' | 'debit';
  readonly amount: bigint;
}

/** A request that runs. */
export interface Running {
  readonly id: string;
  readonly request: Request;
  readonly month: string;
  readonly day: string;
  readonly limitUnits: number;
  units: number;
  readonly hold: bigint;
  /** For chat: the limit that its engine gets. */
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
  balance: bigint;
  readonly entries: Map<string, ExpectedEntry>;
  readonly records: Map<string, ExpectedRecord>;
  readonly usedUnits: Map<string, number>;
  /** Nano-credits of ended chats by owner and period. */
  readonly spent: Map<string, bigint>;
  readonly kept: Map<string, Kept>;
}

/** `runs`, `answered`, or the code of a refusal. */
export type Outcome = string;

/** The hold of a chat and the limit that its engine gets; undefined if the credits do not cover a token. */
export function planHold(request: ChatRequest, available: bigint) {
  const input = Math.min(chatTokens, request.bytes);
  const { maxTokens } = request;
  const most = maxTokens !== undefined && maxTokens <= chatTokens ? maxTokens : roomTokens;
  for (let output = most; output > 0; output--) {
    const hold = costOf(request.model, input, output * request.n);
    if (hold <= available) return { hold, maxTokens: output };
  }
  return undefined;
}

/** The count of an owner to which a request belongs. */
export function countName(owner: BudgetOwner, { month, day }: Pick<Running, 'month' | 'day'>): string {
  return `${owner} ${owner === 'account' ? month : day}`;
}

export const budgetOwners = ['account', 'key'] as const satisfies readonly BudgetOwner[];

/** Rounded up to a whole nano-credit. */
export function costOf(model: ChatModelName, input: number, output: number): bigint {
  const millionths = prices[model].input * BigInt(input) + prices[model].output * BigInt(output);
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

/** A record of which nothing is known but its state. */
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
