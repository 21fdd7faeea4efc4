/** Shared by the admin commands: flags, output and paging. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AdminMethod } from '../../core/services.ts';
import type { AdminConnectionOptions } from '../client/admin-connection.ts';
import type { AdminConnection, AdminRequest, AdminResponse } from '../client/admin-server.ts';
import { type AdminFlags, type JsonFlag, withAdminFlags, withClientFlags, withOwnFlags } from '../flags.ts';
import { newCommand } from '../terminal/command.ts';
import { printData, printJson } from '../terminal/terminal.ts';

export type AdminCommandFlags = AdminFlags & JsonFlag;

export function adminCommand(name: string, description: string, examples: readonly string[]): Command {
  const command = newCommand(name, description, examples);
  return withAdminFlags(command.option(...jsonOption));
}

const jsonOption = ['--json', 'print one JSON document, in the form of the REST API'] as const;

/** A command about the account of an API key. */
export function ownCommand(name: string, description: string, examples: readonly string[]): Command {
  const command = newCommand(name, description, examples);
  return withClientFlags(command.option(...jsonOption)).setOptionValue('own', true);
}

/** A command about an account: one that an administrator names, else that of the API key. */
export function ownOrCommand(name: string, description: string, examples: readonly string[]): Command {
  return withOwnFlags(newCommand(name, description, examples).option(...jsonOption)).argument(
    '[account]',
    "its id or name, for administrators (default: the API key's account)",
  );
}

/** The request and the connection of such a command. */
export function ownOr(accountId: string | undefined, flags: AdminCommandFlags) {
  if (accountId !== undefined) return { request: { accountId }, connection: flags };
  return { request: {}, connection: { ...flags, own: true } };
}

/** A command about all accounts, or with `--own` about the API key's. */
export function allOrOwnCommand(name: string, description: string, examples: readonly string[]): Command {
  return withOwnFlags(newCommand(name, description, examples).option(...jsonOption)).option(
    '--own',
    "only of the API key's account",
  );
}

/** Prints a response, as the JSON of the REST API or as text. */
export async function show<K extends AdminMethod>(
  { json }: JsonFlag,
  method: K,
  response: AdminResponse<K>,
  text: (response: AdminResponse<K>) => string | Promise<string>,
): Promise<void> {
  if (!json) return printData(await text(response));
  const { adminMethods, responseBodyCodec } = await import('../client/admin-connection.ts');
  await printJson(responseBodyCodec(adminMethods[method]).encode(response));
}

type TextOf<Response> = (response: Response, admin: AdminConnection) => string | Promise<string>;

/** Connects while `run` runs. */
export async function withAdmin<T>(
  flags: AdminFlags,
  run: (admin: AdminConnection) => Promise<T>,
  options?: AdminConnectionOptions,
): Promise<T> {
  const { connectAdmin } = await import('../client/admin-connection.ts');
  const admin = await connectAdmin(flags, options);
  try {
    return await run(admin);
  } finally {
    await admin.close();
  }
}

/** Calls one method and prints its response. */
export function callAndShow<K extends AdminMethod>(
  flags: AdminCommandFlags,
  method: K,
  request: AdminRequest<K>,
  text: TextOf<AdminResponse<K>>,
  options?: AdminConnectionOptions,
): Promise<AdminResponse<K>> {
  const run = async (admin: AdminConnection) => {
    const response = await admin.invoke(method, request);
    await show(flags, method, response, () => text(response, admin));
    return response;
  };
  return withAdmin(flags, run, options);
}

/** Prints all pages of a list as one response, up to `--limit` items. */
export function listAndShow<K extends AdminMethod, Page extends AdminResponse<K> & Paged, Item>(
  flags: AdminCommandFlags & Partial<LimitFlag>,
  method: K,
  read: (admin: AdminConnection, page: PageRequest) => Promise<Page>,
  itemsOf: (page: Page) => Item[],
  text: TextOf<Page>,
  options?: AdminConnectionOptions,
): Promise<Item[]> {
  const run = async (admin: AdminConnection) => {
    let whole: Page | undefined;
    for await (const page of pages((request) => read(admin, request), itemsOf, flags.limit)) {
      if (whole) itemsOf(whole).push(...itemsOf(page));
      else whole = page;
    }
    if (whole === undefined) return [];
    whole.nextPageToken = undefined;
    await show(flags, method, whole, () => text(whole, admin));
    return itemsOf(whole);
  };
  return withAdmin(flags, run, options);
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

interface Paged {
  nextPageToken?: string | undefined;
}

/** The pages of a list, up to `limit` items in all. */
export async function* pages<Page extends Paged>(
  read: (request: PageRequest) => Promise<Page>,
  itemsOf: (page: Page) => readonly unknown[],
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<Page> {
  let left = limit;
  let pageToken: string | undefined;
  do {
    const pageSize = Math.min(left, pageSizeMax);
    const page = await read({ pageSize, ...(pageToken !== undefined && { pageToken }) });
    left -= itemsOf(page).length;
    pageToken = page.nextPageToken;
    yield page;
  } while (pageToken !== undefined && left > 0);
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
