/** Usage and cost in the form of FOCUS 1.2, the FinOps Open Cost and Usage Specification: a row for each day. */
import { type Command, InvalidArgumentError } from 'commander';
import type { UsageRecord } from '../../../gen/parley/account/v1/account_pb.ts';
import { nextMonthMs } from '../../core/entities/count.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { parseCredits } from '../../core/values/money.ts';
import type { AdminConnection } from '../client/admin-server.ts';
import { textLike } from '../flags.ts';
import { printData } from '../terminal/terminal.ts';
import { dayMs, msOf } from '../terminal/times.ts';
import { accountNames, allOrOwnCommand, pages, withAdmin } from './admin-command.ts';
import { csvLine } from './usage-export.ts';
import { type UsageFilterFlags, usageFilter, withFilters } from './usage-filter.ts';

const parseCurrency = textLike(/^[A-Z]{3}$/, 'Write the three capital letters of ISO 4217, such as EUR.');

interface FocusFlags extends UsageFilterFlags {
  readonly provider: string;
  readonly currency: string;
  /** The price of a credit, in units of 10^-9 of the currency. */
  readonly creditPrice: bigint;
}

const nothing = {
  dayMs: 0,
  accountId: '',
  keyId: '',
  operation: '',
  model: '',
  requests: 0,
  consumed: 0,
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  nanoCredits: 0n,
};

/** Usage of an account, a key and a model on a day (UTC). */
type DayUsage = typeof nothing;

/** The id of a record is created up to an hour before its request starts, and records come in the order of their ids. */
const lateMs = 2 * 3_600_000;
const units: Readonly<Record<string, string>> = {
  chat: 'Tokens',
  speech: 'Characters',
  transcription: 'Seconds',
};

export function focusCommand(): Command {
  const command = allOrOwnCommand('focus', 'Print daily usage and cost as CSV in the form of FOCUS 1.2.');
  return withFilters(command)
    .requiredOption('--provider <name>', 'your name, as the provider of the service')
    .requiredOption('--currency <code>', 'the currency of the costs, such as EUR', parseCurrency)
    .requiredOption('--credit-price <price>', 'the price of a credit in it, such as 0.9', parsePrice)
    .action((_, self: Command) => exportFocus(self.optsWithGlobals()));
}

function exportFocus(flags: FocusFlags): Promise<void> {
  return withAdmin(flags, async (admin) => {
    const names = new Map<string, string>();
    const days = new Map<string, DayUsage>();
    await printData(csvLine(Object.keys(rowOf(nothing, '', flags))));
    for await (const { records } of pages(admin, 'listUsageRecords', usageFilter(flags))) {
      for (const record of records) add(days, record);
      const last = records.at(-1)?.startedAt;
      if (last) await printAfter(msOf(last) + lateMs, admin, { days, names, flags });
    }
    await printAfter(Number.NEGATIVE_INFINITY, admin, { days, names, flags });
  });
}

function add(days: Map<string, DayUsage>, record: UsageRecord): void {
  const { accountId, keyId, operation, model = '', startedAt, costNanoCredits = 0n } = record;
  const consumed = consumedBy(record);
  if (startedAt === undefined || (consumed === 0 && costNanoCredits === 0n)) return;
  const startMs = Math.floor(msOf(startedAt) / dayMs) * dayMs;
  const key = JSON.stringify([startMs, accountId, keyId, operation, model]);
  const day = days.get(key) ?? { ...nothing, dayMs: startMs, accountId, keyId, operation, model };
  day.requests += 1;
  day.consumed += consumed;
  day.promptTokens += record.promptTokens ?? 0;
  day.cachedTokens += record.cachedTokens ?? 0;
  day.completionTokens += record.completionTokens ?? 0;
  day.nanoCredits += costNanoCredits;
  days.set(key, day);
}

/** In the unit of the operation. Speech and transcription that spent no fair use consumed nothing. */
function consumedBy({ operation, ...record }: UsageRecord): number {
  if (operation === 'chat') return (record.promptTokens ?? 0) + (record.completionTokens ?? 0);
  if (!record.fairUseUnits) return 0;
  return operation === 'speech' ? (record.characters ?? 0) : Math.round(record.audioSecondsIn ?? 0);
}

interface Output {
  readonly days: Map<string, DayUsage>;
  readonly names: Map<string, string>;
  readonly flags: FocusFlags;
}

/** Prints and forgets the days that begin later, so that memory holds few days. */
async function printAfter(ms: number, admin: AdminConnection, { days, names, flags }: Output): Promise<void> {
  const done = [...days].filter(([, day]) => day.dayMs > ms);
  const unnamed = done.map(([, { accountId }]) => accountId).filter((id) => !names.has(id));
  for (const [id, name] of await accountNames(admin, unnamed)) names.set(id, name);
  const lines = done.map(([key, day]) => {
    days.delete(key);
    const row = rowOf(day, names.get(day.accountId) ?? '', flags);
    return csvLine(Object.values(row).map(String));
  });
  await printData(lines.join(''));
}

/**
 * Credits are a virtual currency that is paid in advance: usage has an effective cost, and its billed cost is 0. As prices
 * differ for prompt, cache and answer, the priced quantity is the credits. Null cells are empty.
 */
function rowOf(day: DayUsage, accountName: string, { provider, currency, creditPrice }: FocusFlags) {
  const { operation, model, nanoCredits, consumed } = day;
  const start = new Date(day.dayMs);
  const month = Date.UTC(start.getUTCFullYear(), start.getUTCMonth());
  const cost = decimal(nanoCredits * creditPrice, 18);
  const credits = decimal(nanoCredits, 9);
  const price = decimal(creditPrice, 9);
  const sku = model === '' ? operation : `${operation}/${model}`;
  return {
    BilledCost: '0.0',
    BillingAccountId: day.accountId,
    BillingAccountName: accountName,
    BillingCurrency: currency,
    BillingPeriodEnd: time(nextMonthMs(month)),
    BillingPeriodStart: time(month),
    ChargeCategory: 'Usage',
    ChargeClass: '',
    ChargeDescription: `${operation} with ${model}, ${day.requests} requests`,
    ChargeFrequency: 'Usage-Based',
    ChargePeriodEnd: time(day.dayMs + dayMs),
    ChargePeriodStart: time(day.dayMs),
    ConsumedQuantity: `${consumed}.0`,
    ConsumedUnit: units[operation] ?? '',
    ContractedCost: cost,
    ContractedUnitPrice: price,
    EffectiveCost: cost,
    InvoiceIssuerName: provider,
    ListCost: cost,
    ListUnitPrice: price,
    PricingCategory: 'Standard',
    PricingCurrency: 'Credits',
    PricingCurrencyContractedUnitPrice: '1.0',
    PricingCurrencyEffectiveCost: credits,
    PricingCurrencyListUnitPrice: '1.0',
    PricingQuantity: credits,
    PricingUnit: 'Credits',
    ProviderName: provider,
    PublisherName: provider,
    ResourceId: day.keyId,
    ResourceType: 'API key',
    ServiceCategory: 'AI and Machine Learning',
    ServiceName: 'Parley',
    ServiceSubcategory: 'Generative AI',
    SkuId: sku,
    SkuPriceId: sku,
    x_PromptTokens: day.promptTokens,
    x_CachedTokens: day.cachedTokens,
    x_CompletionTokens: day.completionTokens,
    x_Requests: day.requests,
  };
}

const time = (ms: number): string => new Date(ms).toISOString().replace('.000', '');

/** A whole number of units of 10^-`places`, as an exact decimal such as `0.9` or `2.0`, which readers take for no integer. */
function decimal(value: bigint, places: number): string {
  const digits = String(value).padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/0+$/, '') || '0';
  return `${digits.slice(0, -places)}.${fraction}`;
}

function parsePrice(text: string): bigint {
  try {
    const price = parseCredits(text);
    if (price >= 0n) return price;
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
  }
  throw new InvalidArgumentError('Write a decimal number of at most nine decimals, such as 0.9.');
}
