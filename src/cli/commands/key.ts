import { create } from '@bufbuild/protobuf';
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type Key,
  type ListKeysResponse,
  ListKeysResponseSchema,
  type RotateKeyResponse,
} from '../../../gen/parley/admin/v1/admin_pb.ts';
import { type Scope, scopes } from '../../core/entities/key.ts';
import { type AdminConnection, type AdminResponse, withAdmin } from '../client/admin-connection.ts';
import { newCommand, usageError } from '../terminal/command.ts';
import { facts, table } from '../terminal/table.ts';
import { printStatus } from '../terminal/terminal.ts';
import { parseExpiry, parseSpan, timeText } from '../terminal/times.ts';
import {
  type AdminCommandFlags,
  adminCommand,
  callAndShow,
  collect,
  type PageRequest,
  show,
} from './admin-command.ts';
import {
  type LimitFlags,
  limitFacts,
  replacingLimits,
  wantedLimits,
  withLimitOptions,
  withNoLimits,
} from './limit-options.ts';

interface CreateFlags extends AdminCommandFlags, LimitFlags {
  readonly account?: string;
  readonly admin?: boolean;
  readonly name: string;
  readonly scopes?: Scope[];
  readonly expires?: Date;
}

interface ListFlags extends AdminCommandFlags {
  readonly account?: string;
  readonly admin?: boolean;
}

interface RotateFlags extends AdminCommandFlags {
  readonly overlap?: number;
}

export function keyCommand(): Command {
  const createOne = adminCommand('create', 'Create a key and print it. It is shown only once.', [
    'parley key create --account acme',
    'parley key create --account acme --name phone --scopes speech,chat --expires 90d',
    'parley key create --admin --name ops   # a key for admin calls',
  ]);
  const list = adminCommand('list', 'List the keys of an account, or the admin keys.', [
    'parley key list --account acme',
    'parley key list --admin',
  ]);
  const rotate = adminCommand('rotate', 'Replace a key by a new one and print the new key.', [
    'parley key rotate key_… --overlap 24h   # the old key works for one more day',
  ]);
  const revoke = adminCommand('revoke', 'Revoke a key. It stops working at once.', [
    'parley key revoke key_…',
  ]);
  const limit = adminCommand('limits', 'Set the limits of a key, and replace all earlier ones.', [
    'parley key limits key_… --requests-per-minute 60 --budget-per-month 20',
    'parley key limits key_… --models "gpt-*" --addresses 10.0.0.0/8',
    'parley key limits key_… --none',
  ]);
  return newCommand('key', 'Create, list, limit, rotate and revoke API keys.', [
    'parley key create --account acme',
    'parley key list --account acme',
  ])
    .addCommand(withCreateOptions(createOne).action(createKey))
    .addCommand(
      list
        .option('--account <account>', "the account's id or name")
        .addOption(new Option('--admin', 'the admin keys').conflicts('account'))
        .action(listKeys),
    )
    .addCommand(
      rotate
        .argument('<key-id>', 'the id from `parley key list`')
        .option('--overlap <span>', 'how long the old key still works, at most 30d (default: 0s)', parseSpan)
        .action(rotateKey),
    )
    .addCommand(
      withNoLimits(withLimitOptions(limit.argument('<key-id>', 'the id from `parley key list`'))).action(
        limitKey,
      ),
    )
    .addCommand(revoke.argument('<key-id>', 'the id from `parley key list`').action(revokeKey));
}

function withCreateOptions(command: Command): Command {
  return withLimitOptions(command)
    .option('--account <account>', "the account's id or name")
    .addOption(
      new Option('--admin', 'an admin key, which belongs to no account and manages all').conflicts([
        'account',
        'scopes',
      ]),
    )
    .option('--name <name>', 'a name for the key', 'cli')
    .option('--scopes <list>', `some of ${scopes.join(',')} (default: all except manage)`, parseScopes)
    .option(
      '--expires <when>',
      'a date such as 2027-01-31 (0:00 UTC), or a span such as 90d (default: never)',
      parseExpiry,
    );
}

function createKey(flags: CreateFlags, command: Command): Promise<void> {
  const { account, name, expires } = flags;
  const facts = { name, ...(expires && { expiresAt: timestampFromDate(expires) }) };
  if (flags.admin) {
    const createOne = async (admin: AdminConnection) =>
      issue(flags, 'createAdminKey', await admin.invoke('createAdminKey', facts));
    return withAdmin(flags, createOne, { mayMakeFolder: true, mayBeGuest: true });
  }
  if (account === undefined) usageError(command, 'give --account <account>, or --admin');
  const limits = wantedLimits(flags);
  const request = { ...facts, accountId: account, scopes: flags.scopes ?? [], ...(limits && { limits }) };
  return withAdmin(flags, async (admin) =>
    issue(flags, 'createKey', await admin.invoke('createKey', request)),
  );
}

/** Prints only the secret to standard output, for scripts. */
async function issue<K extends 'createKey' | 'createAdminKey'>(
  flags: AdminCommandFlags,
  method: K,
  response: AdminResponse<K>,
): Promise<void> {
  await show(flags, method, response, ({ secret }) => `${secret}\n`);
  printStatus(`${response.key?.id}: keep the key. It is not shown again.`);
}

type KeysPage = Pick<ListKeysResponse, 'keys' | 'nextPageToken'>;

function listKeys(flags: ListFlags, command: Command): Promise<void> {
  const { account, admin: areAdmin } = flags;
  if (account === undefined && !areAdmin) usageError(command, 'give --account <account>, or --admin');
  return withAdmin(flags, async (admin) => {
    const readPage = (page: PageRequest): Promise<KeysPage> =>
      account === undefined
        ? admin.invoke('listAdminKeys', page)
        : admin.invoke('listKeys', { ...page, accountId: account });
    const keys = await collect(readPage, (page) => page.keys);
    await show(flags, 'listKeys', create(ListKeysResponseSchema, { keys }), keyTable);
  });
}

function rotateKey(keyId: string, flags: RotateFlags): Promise<void> {
  return withAdmin(flags, async (admin) => {
    const overlapSeconds = flags.overlap ?? 0;
    const rotated: RotateKeyResponse = await admin.invoke('rotateKey', { keyId, overlapSeconds });
    await show(flags, 'rotateKey', rotated, ({ secret }) => `${secret}\n`);
    const until = overlapSeconds === 0 ? 'no longer works' : `works for another ${overlapSeconds} seconds`;
    printStatus(`${rotated.key?.id}: keep the key. It is not shown again. ${keyId} ${until}.`);
  });
}

function limitKey(keyId: string, flags: AdminCommandFlags & LimitFlags, command: Command): Promise<void> {
  const request = { keyId, ...replacingLimits(flags, command) };
  return callAndShow(flags, 'setKeyLimits', request, ({ key }) => keyFacts(key));
}

function revokeKey(keyId: string, flags: AdminCommandFlags): Promise<void> {
  return callAndShow(flags, 'revokeKey', { keyId }, ({ key }) =>
    facts([
      ['id', key?.id],
      ['name', key?.name],
      ['revoked', timeText(key?.revokedAt)],
    ]),
  );
}

/** A key without its secret, one line per fact. */
export function keyFacts(key: Key | undefined): string {
  return facts([
    ['id', key?.id],
    ['name', key?.name],
    ['revoked', timeText(key?.revokedAt)],
    ...limitFacts(key?.limits, key?.limitCounts ?? []),
  ]);
}

export function keyTable({ keys }: { readonly keys: readonly Key[] }): string {
  return table(keys, [
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'ID', cell: ({ id }) => id },
    { title: 'KEY', cell: ({ prefix, lastFour }) => `${prefix}…${lastFour}` },
    { title: 'SCOPES', cell: (key) => key.scopes.join(',') },
    { title: 'STATE', cell: stateText },
    { title: 'CREATED (UTC)', cell: ({ createdAt }) => timeText(createdAt) },
    { title: 'EXPIRES (UTC)', cell: ({ expiresAt }) => timeText(expiresAt) },
    { title: 'USED (UTC)', cell: ({ lastUsedAt }) => timeText(lastUsedAt) },
  ]);
}

function stateText({ revokedAt, expiresAt }: Key): string {
  if (revokedAt) return 'revoked';
  return expiresAt && timestampDate(expiresAt).getTime() <= Date.now() ? 'expired' : 'live';
}

export function parseScopes(text: string): Scope[] {
  return text.split(',').map((name) => {
    const scope = scopes.find((known) => known === name.trim());
    if (scope === undefined) throw new InvalidArgumentError(`Write some of ${scopes.join(',')}.`);
    return scope;
  });
}
