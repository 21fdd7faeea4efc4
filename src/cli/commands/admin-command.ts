/** Shared by the admin commands: flags, output and paging. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { responseBodyCodec } from '../../codec/response-body.ts';
import { type AdminMethod, adminMethods } from '../../core/services.ts';
import {
  type AdminConnection,
  type AdminConnectionOptions,
  type AdminRequest,
  type AdminResponse,
  withAdmin,
} from '../client/admin-connection.ts';
import { type AdminFlags, type JsonFlag, withAdminFlags, withOwnFlags } from '../flags.ts';
import { newCommand } from '../terminal/command.ts';
import { printData, printJson } from '../terminal/terminal.ts';

export type AdminCommandFlags = AdminFlags & JsonFlag;

export function adminCommand(name: string, description: string, examples: readonly string[]): Command {
  const command = newCommand(name, description, examples);
  return withAdminFlags(command.option(...jsonOption));
}

const jsonOption = ['--json', 'print one JSON document, in the form of the REST API'] as const;

/** A command about an account: one that an administrator names, else the API key's. */
export function ownOrCommand(name: string, description: string, examples: readonly string[]): Command {
  return withOwnFlags(newCommand(name, description, examples).option(...jsonOption)).argument(
    '[account]',
    "its id or name, for administrators (default: the API key's account)",
  );
}

/** The request and the connection of such a command. */
export function ownOr(accountId: string | undefined, flags: AdminCommandFlags) {
  if (accountId !== undefined) return { request: { accountId }, connection: flags };
  return { request: {}, connection: { ...flags, isOwn: true } };
}

/** A command about all accounts, or with `--own` about the API key's. */
export function allOrOwnCommand(name: string, description: string, examples: readonly string[]): Command {
  return withOwnFlags(newCommand(name, description, examples).option(...jsonOption)).option(
    '--own',
    "only of the API key's account",
  );
}

interface OwnFlag extends AdminCommandFlags {
  readonly own?: boolean;
}

/** The connection of such a command. */
export function allOrOwn<Flags extends OwnFlag>(flags: Flags): Flags {
  return { ...flags, isOwn: flags.own ?? false };
}

/** Prints a response, as the JSON of the REST API or as text. */
export function show<K extends AdminMethod>(
  { json }: JsonFlag,
  method: K,
  response: AdminResponse<K>,
  text: (response: AdminResponse<K>) => string,
): Promise<void> {
  return json
    ? printJson(responseBodyCodec(adminMethods[method]).encode(response))
    : printData(text(response));
}

/** Calls one method and prints its response. */
export function callAndShow<K extends AdminMethod>(
  flags: AdminCommandFlags,
  method: K,
  request: AdminRequest<K>,
  text: (response: AdminResponse<K>) => string,
  options?: AdminConnectionOptions,
): Promise<void> {
  return withAdmin(
    flags,
    async (admin) => show(flags, method, await admin.invoke(method, request), text),
    options,
  );
}

export interface LimitFlag {
  readonly limit: number;
}

/** @param items such as `entries` */
export function limitOption(items: string): Option {
  return new Option('--limit <number>', `how many ${items}`).argParser(parseLimit).default(20);
}

function parseLimit(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Write a whole number from 1 to 999999.');
}

/** Maximum items that the server puts on a page. */
const pageSizeMax = 1_000;

export interface PageRequest {
  readonly pageSize: number;
  readonly pageToken?: string;
}

/** The pages of a list, up to `limit` items in total. */
export async function* pages<Page extends { readonly nextPageToken?: string | undefined }, Item>(
  read: (request: PageRequest) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly Item[]> {
  let left = limit;
  let pageToken: string | undefined;
  do {
    const pageSize = Math.min(left, pageSizeMax);
    const page = await read({ pageSize, ...(pageToken !== undefined && { pageToken }) });
    const items = itemsOf(page);
    yield items;
    left -= items.length;
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined && left > 0);
}

/** The items of all pages, up to `limit`. */
export async function collect<Page extends { readonly nextPageToken?: string | undefined }, Item>(
  read: (request: PageRequest) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
  limit?: number,
): Promise<Item[]> {
  const all: Item[] = [];
  for await (const items of pages(read, itemsOf, limit)) all.push(...items);
  return all;
}

/** The names of accounts by id. */
export async function accountNames(
  admin: AdminConnection,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for (const accountId of new Set(ids)) {
    const { account } = await admin.invoke('getAccount', { accountId });
    names.set(accountId, account?.name ?? accountId);
  }
  return names;
}
