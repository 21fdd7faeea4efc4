/** The models that answer a chat in place of the one that was asked for, if its operator has named some. */
import type { Catalog } from '../catalog/catalog.ts';
import type { ChatModel, FallbackReason } from '../entities/model.ts';
import type { Affordable } from '../limits/affordable.ts';
import { type ParleyError, toParleyError } from '../values/errors.ts';
import { andThen, type Soon } from '../values/soon.ts';
import { type HoldPlan, PromptFacts, type PromptRequest, planHold } from './hold.ts';

/** The models that a request can run on, in their order, with what each may use. */
export type Runnable = readonly [HoldPlan, ...HoldPlan[]];

/** The prompt on the model that was asked for, then on others. */
export type Prompts = readonly [PromptFacts, ...PromptFacts[]];

/** The prompt on the model and on those that it falls back to, without models that the key or the account may not call. */
export function promptsFor(model: ChatModel, catalog: Catalog, request: PromptRequest): Prompts {
  const { price, fallback } = model;
  const first = new PromptFacts(model, price, request);
  if (fallback === undefined) return [first];
  const { limits } = request.call.caller;
  const others = fallback.models.flatMap((id) => catalog.chatModel(id) ?? []);
  const allowed = others.filter(({ id }) => limits?.allowsModel(id) ?? true);
  const priceOf = (other: ChatModel) => (fallback.price === 'first' ? price : other.price);
  return [first, ...allowed.map((other) => new PromptFacts(other, priceOf(other), request))];
}

/**
 * Plans the models that the request can run on, in their order; at least one.
 * @param isShort whether credits or limits do not cover the dearest one: then the others get what the first one holds
 * @throws the errors of `planHold` for the first one, unless its model falls back for them
 */
export function planAll(prompts: Prompts, affordable: Affordable, isShort: boolean): Soon<Runnable> {
  if (prompts.length > 1) return planSeveral(prompts, affordable, isShort);
  return andThen(planHold(prompts[0], affordable), (plan) => [plan]);
}

async function planSeveral(prompts: Prompts, affordable: Affordable, isShort: boolean): Promise<Runnable> {
  const { fallback } = prompts[0].model;
  const planned: HoldPlan[] = [];
  let refusal: unknown;
  for (const prompt of prompts) {
    const [held] = planned;
    try {
      planned.push(await planHold(prompt, held && isShort ? within(held, affordable) : affordable));
    } catch (thrown) {
      const error = toParleyError(thrown);
      refusal ??= error;
      // Another model than the first one is left out whatever its error.
      if (prompt === prompts[0] && !isReason(error, fallback?.on)) throw error;
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
