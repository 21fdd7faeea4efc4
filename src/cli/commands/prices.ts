import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Config } from '../../config/config.ts';
import {
  creditDecimals,
  formatCredits,
  nanoCredits,
  nanoCreditsMax,
  type Price,
} from '../../core/values/money.ts';
import { fileReason } from '../../files/reason.ts';
import { type LocalFlags, localCommand } from '../flags.ts';
import { CliError, newCommand } from '../terminal/command.ts';
import { table } from '../terminal/table.ts';
import { printData, printJson, printStatus } from '../terminal/terminal.ts';

interface DiffFlags extends LocalFlags {
  readonly creditsPerUnit: Decimal;
}

/** An exact decimal: `digits` times ten to the power of `exponent`. */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/** The members of an entry of the list, which has prices for one token. */
const listNames = {
  input: 'input_cost_per_token',
  output: 'output_cost_per_token',
  cachedInput: 'cache_read_input_token_cost',
  cacheWrite: 'cache_creation_input_token_cost',
} as const;
type PriceName = keyof typeof listNames;

type PriceList = Readonly<Record<string, Partial<Readonly<Record<string, unknown>>>>>;

interface Difference {
  readonly model: string;
  /** The name in the list. */
  readonly listed: string;
  readonly price: PriceName;
  /** Nano-credits per million tokens; undefined if there is none. */
  readonly configured: bigint | undefined;
  readonly wanted: bigint;
}

const listBytesMax = 32 * 1024 * 1024;
const fetchMsMax = 60_000;

export function pricesCommand(): Command {
  const diff = localCommand('diff', 'Compare the prices in parley.yaml with a price list. Changes nothing.')
    .argument(
      '<list>',
      "a file or an https URL with LiteLLM's form: prices for one token, by the name of the model",
    )
    .addOption(
      new Option(
        '--credits-per-unit <credits>',
        "credits for one unit of the list's currency, such as 1.2 for a fifth more",
      )
        .argParser(parseRate)
        .default(parseDecimal('1'), '1'),
    );
  return newCommand('prices', 'Check the prices of chat models.').addCommand(diff.action(showDifferences));
}

async function showDifferences(source: string, flags: DiffFlags): Promise<void> {
  const { configOf } = await import('../configuration.ts');
  const config = configOf(flags);
  const list = parseList(await readList(source), source);
  const chats = config.models.filter((model) => model.type === 'chat');
  const known = chats.map((model) => ({ model, listed: namesOf(config, model).find((name) => list[name]) }));
  const unlisted = known.filter(({ listed }) => listed === undefined).map(({ model }) => model.id);
  const differences = known.flatMap(({ model, listed = '' }) =>
    differencesOf(model.price, list[listed] ?? {}, flags.creditsPerUnit).map((one) => ({
      model: model.id,
      listed,
      ...one,
    })),
  );
  if (flags.json) {
    return printJson({
      differences: differences.map(({ model, listed, price, configured, wanted }) => ({
        model,
        listed_as: listed,
        price,
        configured: amountText(configured) ?? null,
        listed: amountText(wanted) ?? null,
      })),
      unlisted,
    });
  }
  if (differences.length > 0) await printData(differenceTable(differences));
  else printStatus('The prices of all listed models are those of the list.');
  if (unlisted.length > 0) printStatus(`Not in the list: ${unlisted.join(', ')}.`);
}

type Model = Config['models'][number];

/** The names of a model in lists: those of its upstreams, with their provider or without, then its id. */
function namesOf(config: Config, { engine, id }: Model): string[] {
  const names = [engine].flat().map((name) => {
    const settings = config.engines[name];
    return (settings && 'models' in settings && settings.models?.[id]) || id;
  });
  return [...names, ...names.map((name) => name.slice(name.lastIndexOf('/') + 1)), id];
}

function differencesOf(
  price: Price,
  listed: PriceList[string],
  rate: Decimal,
): Omit<Difference, 'model' | 'listed'>[] {
  const configured: Record<PriceName, bigint | undefined> = {
    input: price.inputPerMillion,
    output: price.outputPerMillion,
    cachedInput: price.cachedInputPerMillion,
    cacheWrite: price.cacheWritePerMillion,
  };
  return (Object.keys(listNames) as PriceName[]).flatMap((name) => {
    const perToken = listed[listNames[name]];
    if (typeof perToken !== 'string') return [];
    const wanted = nanoPerMillion(parseDecimal(perToken), rate);
    // A price of the cache that is not set is that of input.
    const effective = configured[name] ?? configured.input;
    if (wanted > nanoCreditsMax)
      throw new CliError(`The list has ${perToken} for a token, which no price can be.`);
    return effective === wanted ? [] : [{ price: name, configured: configured[name], wanted }];
  });
}

async function readList(source: string): Promise<string> {
  const url = /^https?:/.test(source) ? URL.parse(source) : null;
  try {
    if (url === null) return await readFile(source, 'utf8');
    const response = await fetch(url, { signal: AbortSignal.timeout(fetchMsMax) });
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    return await textOf(response);
  } catch (error) {
    const reason = url === null ? fileReason(error) : messageOf(error);
    throw new CliError(`The price list ${source} cannot be read: ${reason}.`, error);
  }
}

async function textOf(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > listBytesMax) throw new Error('it is longer than 32 MiB');
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/** Numbers become texts, so that no price is ever a float. */
function parseList(text: string, source: string): PriceList {
  const asText: Reviver = (_, value, { source: digits }) => (typeof value === 'number' ? digits : value);
  try {
    const list: unknown = JSON.parse(text, asText as Parameters<typeof JSON.parse>[1]);
    if (typeof list !== 'object' || list === null || Array.isArray(list))
      throw new Error('it is not an object');
    const entries = Object.entries(list).filter(([, entry]) => typeof entry === 'object' && entry !== null);
    return Object.assign(Object.create(null), Object.fromEntries(entries));
  } catch (error) {
    throw new CliError(`The price list ${source} is not JSON of that form: ${messageOf(error)}.`, error);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;

const decimalPattern = /^(\d{1,20})(?:\.(\d{1,30}))?(?:e([+-]?\d{1,2}))?$/i;

/** @throws CliError */
function parseDecimal(text: string): Decimal {
  const [, whole, decimals = '', power = '0'] = decimalPattern.exec(text) ?? [];
  if (whole === undefined)
    throw new CliError(`${JSON.stringify(text)} is not a price. Write digits such as 2.5e-06.`);
  return { digits: BigInt(whole + decimals), exponent: Number(power) - decimals.length };
}

function parseRate(text: string): Decimal {
  if (!decimalPattern.test(text)) throw new InvalidArgumentError('Write a number such as 1.2.');
  return parseDecimal(text);
}

/** Rounded to a whole nano-credit. */
function nanoPerMillion(perToken: Decimal, rate: Decimal): bigint {
  const millionInNano = 6 + creditDecimals;
  const exponent = perToken.exponent + rate.exponent + millionInNano;
  const digits = perToken.digits * rate.digits;
  if (exponent >= 0) return digits * 10n ** BigInt(exponent);
  const divisor = 10n ** BigInt(-exponent);
  return (digits + divisor / 2n) / divisor;
}

function amountText(nano: bigint | undefined): string | undefined {
  return nano === undefined ? undefined : formatCredits(nanoCredits(nano));
}

function differenceTable(differences: readonly Difference[]): string {
  return table(differences, [
    { title: 'MODEL', cell: ({ model }) => model },
    { title: 'IN THE LIST', cell: ({ listed }) => listed },
    { title: 'PRICE', cell: ({ price }) => price },
    { title: 'CONFIGURED', cell: ({ configured }) => amountText(configured) ?? 'as input', align: 'right' },
    { title: 'LISTED', cell: ({ wanted }) => amountText(wanted), align: 'right' },
  ]);
}
