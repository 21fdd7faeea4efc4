/** `parley key` for administrators; `parley keys` for the account of a key that has the scope `manage`. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Key } from '../../../gen/parley/management/v1/management_pb.ts';
import { adminScopes, scopes } from '../../core/entities/key.ts';
import { newCommand, usageError } from '../terminal/command.ts';
import { confirm, withYes, type YesFlag } from '../terminal/confirm.ts';
import { facts, table } from '../terminal/table.ts';
import { printStatus } from '../terminal/terminal.ts';
import { msOf, parseExpiry, parseSpan, timestampOf, timeText } from '../terminal/times.ts';
import {
  type AdminCommandFlags,
  adminCommand,
  callAndShow,
  calling,
  listAndShow,
  ownCommand,
} from './admin-command.ts';
import {
  limitFacts,
  type NoLimitsFlag,
  replacingLimits,
  wantedLimits,
  withLimitOptions,
  withNoLimits,
} from './limit-options.ts';
import { keyTotalsCommand } from './usage-totals.ts';

export function keyCommand(): Command {
  return newCommand('key', 'Create, list, limit, rotate and revoke API keys.')
    .addCommand(
      withCreateOptions(
        withOwner(
          adminCommand('create', createText),
          'an admin key, which belongs to no account and manages all',
        ),
        `all but manage; with --admin some of ${adminScopes.join(',')}, default: all`,
        'never',
      ),
    )
    .addCommand(
      withInviteOptions(withOwner(adminCommand('invite', inviteText), 'an operator, who gets an admin key')),
    )
    .addCommand(
      withOwner(
        adminCommand('list', 'List the keys of an account, or the admin keys.'),
        'the admin keys',
      ).action(listKeys),
    )
    .addCommand(rotateCommand(adminCommand, 'key'))
    .addCommand(withLimits(adminCommand('limits', limitsText), 'key'))
    .addCommand(revokeCommand(adminCommand, 'key'));
}

export function keysCommand(): Command {
  return newCommand('keys', 'Manage the keys of your own account, with a key that has the scope manage.')
    .addCommand(ownCommand('list', 'List the keys.').action(listKeys))
    .addCommand(
      withCreateOptions(ownCommand('create', createText), 'those of your key but manage', 'as your key'),
    )
    .addCommand(withLimits(ownCommand('limits', limitsText), 'keys'))
    .addCommand(rotateCommand(ownCommand, 'keys'))
    .addCommand(revokeCommand(ownCommand, 'keys'))
    .addCommand(keyTotalsCommand());
}

const createText = 'Create a key and print it. It is shown only once.';
const inviteText = 'Print a link that makes the key of a person and signs them in to the console, once.';
const limitsText = 'Set the limits of a key, and replace all earlier ones.';

function withOwner(command: Command, admin: string): Command {
  return command
    .option('--account <account>', "the account's id or name")
    .addOption(new Option('--admin', admin).conflicts('account'));
}

function withCreateOptions(command: Command, scopesByDefault: string, endByDefault: string): Command {
  return withLimitOptions(command)
    .option('--name <name>', 'a name for the key', 'cli')
    .option('--scopes <list>', `some of ${scopes.join(',')} (default: ${scopesByDefault})`, parseScopes)
    .option(
      '--expires <when>',
      `a date such as 2027-01-31 (0:00 UTC), or a span such as 90d (default: ${endByDefault})`,
      parseExpiry,
    )
    .action(createKey);
}

function withInviteOptions(command: Command): Command {
  return command
    .requiredOption('--name <name>', "the person's name, which the key gets")
    .requiredOption('--console <url>', 'the address of the console, such as https://parley.example.com')
    .option('--scopes <list>', 'the scopes of the key, as for `parley key create`', parseScopes)
    .option('--expires <when>', 'when the link ends, at most 30d (default: 7d)', parseExpiry)
    .option('--mail <address>', 'also mail the link to this address')
    .action(invitePerson);
}

function withLimits(command: Command, group: string): Command {
  return withNoLimits(withLimitOptions(withKeyId(command, group))).action(
    calling('setKeyLimits', limitsRequest, ({ key }) =>
      facts([...keyFacts(key), ...limitFacts(key?.limits, key?.limitCounts ?? [])]),
    ),
  );
}

function limitsRequest(keyId: string, flags: NoLimitsFlag, self: Command) {
  return { keyId, ...replacingLimits(flags, self) };
}

function rotateCommand(newOne: typeof adminCommand, group: string): Command {
  const rotate = newOne('rotate', 'Replace a key by a new one and print that.');
  return withYes(withKeyId(rotate, group))
    .option('--overlap <span>', 'how long the old key still works, at most 30d (default: 0s)', parseSpan)
    .action(rotateKey);
}

function revokeCommand(newOne: typeof adminCommand, group: string): Command {
  const revoke = newOne('revoke', 'Revoke a key. It stops working at once.');
  return withYes(withKeyId(revoke, group)).action(revokeKey);
}

function withKeyId(command: Command, group: string): Command {
  return command.argument('<key-id>', `as \`parley ${group} list\` shows it`);
}

interface OwnerFlags extends AdminCommandFlags {
  readonly account?: string;
  readonly admin?: boolean;
}

interface CreateFlags extends OwnerFlags {
  readonly name: string;
  readonly scopes?: string[];
  readonly expires?: Date;
}

/** Prints only the secret to standard output, for scripts. */
async function createKey(flags: CreateFlags, command: Command): Promise<void> {
  const { name, expires } = flags;
  const facts = {
    name,
    scopes: flags.scopes ?? [],
    ...(expires && { expiresAt: timestampOf(expires.getTime()) }),
  };
  const limits = wantedLimits(flags);
  const request = { ...facts, ...ownerOf(flags, command), ...(limits && { limits }) };
  const options = { mayMakeFolder: true, mayBeGuest: true };
  const { key } = flags.admin
    ? await callAndShow(flags, 'createAdminKey', facts, secretLine, options)
    : await callAndShow(flags, 'createKey', request, secretLine);
  printStatus(`${key?.id}: keep the key. It is not shown again.`);
}

interface InviteFlags extends CreateFlags {
  readonly console: string;
  readonly mail?: string;
}

/** Prints only the link to standard output. */
async function invitePerson(flags: InviteFlags, command: Command): Promise<void> {
  const { name, scopes: wanted = [], expires, console: consoleUrl, mail: mailAddress } = flags;
  const request = {
    ...ownerOf(flags, command),
    name,
    scopes: wanted,
    consoleUrl,
    ...(expires && { expiresAt: timestampOf(expires.getTime()) }),
    ...(mailAddress !== undefined && { mailAddress }),
  };
  const { key, mailFailure } = await callAndShow(flags, 'createInvitation', request, ({ url }) => `${url}\n`);
  if (mailFailure !== undefined) printStatus(`The mail was not sent: ${mailFailure}`);
  printStatus(
    `${key?.id}: send the link to ${name} alone. It works once, until ${timeText(key?.expiresAt)} UTC.`,
  );
}

function secretLine({ secret }: { readonly secret: string }): string {
  return `${secret}\n`;
}

/** The account that an administrator must name, unless it is about admin keys. */
function ownerOf({ account, admin, own }: OwnerFlags, command: Command): { accountId?: string } {
  if (account !== undefined) return { accountId: account };
  if (!admin && !own) usageError(command, 'give --account <account>, or --admin');
  return {};
}

async function listKeys(flags: OwnerFlags, command: Command): Promise<void> {
  const owner = ownerOf(flags, command);
  if (flags.admin) await listAndShow(flags, 'listAdminKeys', {}, keyTable);
  else await listAndShow(flags, 'listKeys', owner, keyTable);
}

async function rotateKey(
  keyId: string,
  flags: AdminCommandFlags & YesFlag & { readonly overlap?: number },
): Promise<void> {
  const overlapSeconds = flags.overlap ?? 0;
  if (overlapSeconds === 0) {
    const lost = 'Programs that use it are refused from now on; --overlap lets it work for a while.';
    await confirm(`Replace the key ${keyId} at once? ${lost}`, flags);
  }
  const { key } = await callAndShow(flags, 'rotateKey', { keyId, overlapSeconds }, secretLine);
  const until = overlapSeconds === 0 ? 'no longer works' : `works for another ${overlapSeconds} seconds`;
  printStatus(`${key?.id}: keep the key. It is not shown again. ${keyId} ${until}.`);
}

async function revokeKey(keyId: string, flags: AdminCommandFlags & YesFlag): Promise<void> {
  await confirm(`Revoke the key ${keyId} for good? Programs that use it are refused from now on.`, flags);
  await callAndShow(flags, 'revokeKey', { keyId }, ({ key }) => facts(keyFacts(key)));
}

function keyFacts(key: Key | undefined): [string, string | undefined][] {
  return [
    ['id', key?.id],
    ['name', key?.name],
    ['revoked', timeText(key?.revokedAt)],
  ];
}

function keyTable({ keys }: { readonly keys: readonly Key[] }): string {
  return table(keys, [
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'ID', cell: ({ id }) => id },
    { title: 'KEY', cell: ({ prefix, lastFour }) => `${prefix}…${lastFour}` },
    { title: 'SCOPES', cell: (key) => key.scopes.join(',') || 'all' },
    { title: 'STATE', cell: stateText },
    { title: 'CREATED (UTC)', cell: ({ createdAt }) => timeText(createdAt) },
    { title: 'EXPIRES (UTC)', cell: ({ expiresAt }) => timeText(expiresAt) },
    { title: 'USED (UTC)', cell: ({ lastUsedAt }) => timeText(lastUsedAt) },
  ]);
}

function stateText({ revokedAt, expiresAt, invitation }: Key): string {
  if (revokedAt) return 'revoked';
  if (expiresAt && msOf(expiresAt) <= Date.now()) return 'expired';
  return invitation ? 'invited' : 'live';
}

/** The server refuses scopes of the other kind of key. */
function parseScopes(text: string): string[] {
  return text.split(',').map((name) => {
    const scope = [...scopes, ...adminScopes].find((known) => known === name.trim());
    if (scope === undefined) throw new InvalidArgumentError(`Write some of ${scopes.join(',')}.`);
    return scope;
  });
}
