/** The models that answer a chat in place of the one that was asked for, if its operator has named some. */
import type { Call } from '../access/call.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { ChatModel, FallbackReason } from '../entities/model.ts';
import type { Affordable } from '../limits/affordable.ts';
import { type ParleyError, toParleyError } from '../values/errors.ts';
import type { Price } from '../values/money.ts';
import { andThen, type Soon } from '../values/soon.ts';
import { type HoldPlan, type PromptFacts, planHold } from './hold.ts';

/** A model that may answer, with the price that the client pays for its tokens. */
export interface Candidate {
  readonly model: ChatModel;
  readonly price: Price;
}

export interface Planned extends Candidate {
  readonly plan: HoldPlan;
  /** The context of the model at that moment. */
  readonly contextTokens: number;
}

/** The models that a request can run on, in their order. */
export type Runnable = readonly [Planned, ...Planned[]];

/** The model that was asked for, then others. */
export type Candidates = readonly [Candidate, ...Candidate[]];

/** The model and those that it falls back to, without models that the key or the account may not call. */
export function candidatesFor(model: ChatModel, catalog: Catalog, { caller }: Call): Candidates {
  const { price, fallback } = model;
  const others = fallback?.models.flatMap((id) => catalog.chatModel(id) ?? []) ?? [];
  const allowed = others.filter(({ id }) => caller.limits?.allowsModel(id) ?? true);
  const priceOf = (other: ChatModel) => (fallback?.price === 'first' ? price : other.price);
  return [{ model, price }, ...allowed.map((other) => ({ model: other, price: priceOf(other) }))];
}

/**
 * Plans the candidates that the request can run on, in their order; at least one.
 * @param isShort whether credits or limits do not cover the dearest one: then the others get what the first one holds
 * @throws the errors of `planHold` for the first one, unless its model falls back for them
 */
export function planAll(
  [first, ...others]: Candidates,
  factsOf: (candidate: Candidate) => PromptFacts,
  affordable: Affordable,
  isShort: boolean,
): Soon<Runnable> {
  const planOf = (candidate: Candidate, most: Affordable) =>
    andThen(planHold(factsOf(candidate), most), (plan) => ({
      ...candidate,
      plan,
      contextTokens: candidate.model.contextTokens,
    }));
  if (others.length === 0) return andThen(planOf(first, affordable), (planned) => [planned]);
  return planSeveral([first, ...others], async (candidate, held) =>
    planOf(candidate, held && isShort ? within(held, affordable) : affordable),
  );
}

async function planSeveral(
  candidates: Candidates,
  planOf: (candidate: Candidate, held: HoldPlan | undefined) => Promise<Planned>,
): Promise<Runnable> {
  const { fallback } = candidates[0].model;
  const planned: Planned[] = [];
  let refusal: unknown;
  for (const candidate of candidates) {
    try {
      planned.push(await planOf(candidate, planned[0]?.plan));
    } catch (thrown) {
      const error = toParleyError(thrown);
      refusal ??= error;
      // Another model than the first one is left out whatever its error.
      if (candidate === candidates[0] && !isReason(error, fallback?.on)) throw error;
    }
  }
  const [first, ...others] = planned;
  if (first === undefined) throw refusal;
  return [first, ...others];
}

/** The credits and tokens that another model may hold: at most those of the first one. */
function within({ amount, tokens }: HoldPlan, affordable: Affordable): Affordable {
  const { credits, tokens: rate } = affordable;
  return {
    ...affordable,
    credits: amount < credits ? amount : credits,
    ...(rate && { tokens: { ...rate, left: Math.min(rate.left, tokens) } }),
  };
}

export function isReason(error: ParleyError, reasons: ReadonlySet<FallbackReason> | undefined): boolean {
  const reason = reasonOf(error);
  return reason !== undefined && reasons?.has(reason) === true;
}

/** Undefined for an error of the request, or an answer that came and is malformed. */
function reasonOf(error: ParleyError): FallbackReason | undefined {
  const { code, httpStatus, upstream } = error;
  if (code === 'context_length_exceeded') return 'context';
  if (code === 'engine_unavailable') return 'connect';
  if (code === 'overloaded') return '5xx';
  if (code !== 'upstream_error') return undefined;
  if (error.isLate || httpStatus === 408) return 'timeout';
  if (upstream === undefined) return error.hasRun ? undefined : 'connect';
  if (httpStatus === 402 || httpStatus === 429) return httpStatus;
  return httpStatus >= 500 ? '5xx' : undefined;
}
