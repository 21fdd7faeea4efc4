/** Shared by the admin commands: flags, output and paging. */
import { type Command, Option } from 'commander';
import type { AdminMethod } from '../../core/services.ts';
import type { AdminConnectionOptions } from '../client/admin-connection.ts';
import type { AdminConnection, AdminRequest, AdminResponse } from '../client/admin-server.ts';
import {
  type AdminFlags,
  type JsonFlag,
  wholeNumber,
  withAdminFlags,
  withClientFlags,
  withOwnFlags,
} from '../flags.ts';
import { newCommand } from '../terminal/command.ts';
import { printData, printJson } from '../terminal/terminal.ts';

export type AdminCommandFlags = AdminFlags & JsonFlag;

export function adminCommand(name: string, description: string): Command {
  const command = newCommand(name, description);
  return withAdminFlags(command.option(...jsonOption));
}

const jsonOption = ['--json', 'print one JSON document, in the form of the REST API'] as const;

/** A command about the account of an API key. */
export function ownCommand(name: string, description: string): Command {
  const command = newCommand(name, description);
  return withClientFlags(command.option(...jsonOption)).setOptionValue('own', true);
}

/** A command about an account: one that an administrator names, else that of the API key. */
export function ownOrCommand(name: string, description: string): Command {
  return withOwnFlags(newCommand(name, description).option(...jsonOption))
    .argument('[account]', "its id or name, for administrators (default: the API key's account)")
    .hook('preAction', (command) => {
      command.setOptionValue('own', command.args.length === 0);
    });
}

/** The account in a request of such a command. */
export function ofAccount(accountId: string | undefined): { readonly accountId?: string } {
  return accountId === undefined ? {} : { accountId };
}

/** A command about all accounts, or with `--own` about the API key's. */
export function allOrOwnCommand(name: string, description: string): Command {
  return withOwnFlags(newCommand(name, description).option(...jsonOption)).option(
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

/** The action of a command that only does that. @param requestOf gets the arguments and the flags of the command */
export function calling<K extends AdminMethod, Args extends readonly unknown[]>(
  method: K,
  requestOf: (...args: Args) => AdminRequest<K>,
  text: TextOf<AdminResponse<K>>,
  options?: AdminConnectionOptions,
) {
  return async (...given: readonly unknown[]): Promise<void> => {
    // A command above this one may take the flags.
    const flags = (given.at(-1) as Command).optsWithGlobals<AdminCommandFlags>();
    await callAndShow(flags, method, requestOf(...(given as unknown as Args)), text, options);
  };
}

/** The methods that return pages, and the member with the items of each. */
const lists = {
  listAccounts: 'accounts',
  listAdminKeys: 'keys',
  listAlerts: 'alerts',
  listAuditEntries: 'entries',
  listKeys: 'keys',
  listLedgerEntries: 'entries',
  listUsageRecords: 'records',
} as const;
export type ListMethod = keyof typeof lists;

/** The items of a page, in the form of messages or of the REST API. */
export function itemsOf(method: ListMethod, page: object): unknown[] {
  return Reflect.get(page, lists[method]) ?? [];
}

/** Prints all pages of a list as one response, up to `--limit` items. Returns how many there are. */
export function listAndShow<K extends ListMethod>(
  flags: AdminCommandFlags & Partial<LimitFlag>,
  method: K,
  request: AdminRequest<K>,
  text: TextOf<AdminResponse<K>>,
  options?: AdminConnectionOptions,
): Promise<number> {
  const run = async (admin: AdminConnection) => {
    let whole: AdminResponse<K> | undefined;
    for await (const page of pages(admin, method, request, flags.limit)) {
      if (whole) itemsOf(method, whole).push(...itemsOf(method, page));
      else whole = page;
    }
    if (whole === undefined) return 0;
    Object.assign(whole, { nextPageToken: undefined });
    await show(flags, method, whole, () => text(whole, admin));
    return itemsOf(method, whole).length;
  };
  return withAdmin(flags, run, options);
}

export interface LimitFlag {
  readonly limit: number;
}

/** @param items such as `entries` */
export function limitOption(items: string): Option {
  return new Option('--limit <number>', `how many ${items}`).argParser(wholeNumber(1, 999_999)).default(20);
}

/** Maximum items that the server puts on a page. */
const pageSizeMax = 1_000;

/** The pages of a list, up to `limit` items in all. */
export async function* pages<K extends ListMethod>(
  admin: AdminConnection,
  method: K,
  request: AdminRequest<K>,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<AdminResponse<K>> {
  let left = limit;
  let pageToken: string | undefined;
  do {
    const place = { pageSize: Math.min(left, pageSizeMax), ...(pageToken !== undefined && { pageToken }) };
    const page = await admin.invoke(method, { ...request, ...place });
    left -= itemsOf(method, page).length;
    pageToken = page.nextPageToken;
    yield page;
  } while (pageToken !== undefined && left > 0);
}

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
