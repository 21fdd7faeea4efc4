/** The keys and the usage of the caller's own account, with a key that has the scope `manage`. */
import { create, type DescMessage, type DescMethodUnary, type MessageShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { CallOptions, Client } from '@connectrpc/connect';
import { type Command, InvalidArgumentError } from 'commander';
import { AccountService } from '../../../gen/parley/account/v1/account_service_pb.ts';
import type { Key } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { ListKeysResponseSchema } from '../../../gen/parley/management/v1/management_pb.ts';
import { ManagementService } from '../../../gen/parley/management/v1/management_service_pb.ts';
import { responseBodyCodec } from '../../codec/response-body.ts';
import { type Scope, scopes } from '../../core/entities/key.ts';
import { totalDimensions } from '../../core/entities/usage.ts';
import { clientServer } from '../client/known-servers.ts';
import { type ClientFlags, type JsonFlag, withClientFlags } from '../flags.ts';
import { newCommand } from '../terminal/command.ts';
import { printData, printJson, printStatus } from '../terminal/terminal.ts';
import { parseExpiry, parseMoment, parseSpan } from '../terminal/times.ts';
import { collect } from './admin-command.ts';
import { keyFacts, keyTable, parseScopes } from './key.ts';
import {
  type LimitFlags,
  replacingLimits,
  wantedLimits,
  withLimitOptions,
  withNoLimits,
} from './limit-options.ts';
import { firstOfDay, totalsTable } from './usage-totals.ts';

type Flags = ClientFlags & JsonFlag;
const { method: methods } = ManagementService;

/** The dimensions of totals for one account. */
const dimensions = totalDimensions.filter((name) => name !== 'account');

export function keysCommand(): Command {
  return newCommand('keys', 'Manage the keys of your own account, with a key that has the scope manage.', [
    'parley keys list',
    'parley keys create --name app --budget-per-month 20',
    'parley keys usage --by key,day',
  ])
    .addCommand(manageCommand('list', 'List the keys.', ['parley keys list']).action(listKeys))
    .addCommand(createCommand())
    .addCommand(
      withNoLimits(
        withLimitOptions(
          manageCommand('limits', 'Set the limits of a key, and replace all earlier ones.', [
            'parley keys limits key_… --requests-per-minute 60',
            'parley keys limits key_… --none   # those of your own key stay',
          ]).argument('<key-id>', 'the id from `parley keys list`'),
        ),
      ).action(limitKey),
    )
    .addCommand(
      manageCommand('rotate', 'Replace a key by a new one and print the new key.', [
        'parley keys rotate key_… --overlap 24h',
      ])
        .argument('<key-id>', 'the id from `parley keys list`')
        .option('--overlap <span>', 'how long the old key still works, at most 30d (default: 0s)', parseSpan)
        .action(rotateKey),
    )
    .addCommand(
      manageCommand('revoke', 'Revoke a key. It stops working at once.', ['parley keys revoke key_…'])
        .argument('<key-id>', 'the id from `parley keys list`')
        .action(revokeKey),
    )
    .addCommand(usageCommand());
}

function createCommand(): Command {
  const command = manageCommand('create', 'Create a key and print it. It is shown only once.', [
    'parley keys create --name app',
    'parley keys create --name phone --scopes speech,chat --expires 90d --models "gpt-*"',
  ]);
  return withLimitOptions(command)
    .option('--name <name>', 'a name for the key', 'cli')
    .option(
      '--scopes <list>',
      `some of ${scopes.join(',')} (default: those of your key except manage)`,
      parseScopes,
    )
    .option(
      '--expires <when>',
      'a date, or a span such as 90d (default: the expiry of your key)',
      parseExpiry,
    )
    .action(createKey);
}

function usageCommand(): Command {
  return manageCommand('usage', 'Show totals of the usage.', [
    'parley keys usage --by key,model',
    'parley keys usage --by day --since 30d --json',
  ])
    .option('--by <what>', `group by some of ${dimensions.join(', ')}`, parseDimensions, ['key'])
    .option('--since <when>', 'only from that day on: a date, or a span before now such as 30d', parseMoment)
    .option('--until <when>', 'only before that day', parseMoment)
    .action(showUsage);
}

function manageCommand(name: string, description: string, examples: readonly string[]): Command {
  const command = newCommand(name, description, examples);
  return withClientFlags(command.option('--json', 'print one JSON document, in the form of the REST API'));
}

/** Calls one method and prints its response. */
async function callAndShow<O extends DescMessage>(
  flags: Flags,
  method: DescMethodUnary<DescMessage, O>,
  call: (client: Client<typeof ManagementService>, options: CallOptions) => Promise<MessageShape<O>>,
  text: (response: MessageShape<O>) => string,
): Promise<MessageShape<O>> {
  const response = await clientServer(flags).call(ManagementService, call);
  if (flags.json) await printJson(responseBodyCodec(method).encode(response));
  else await printData(text(response));
  return response;
}

async function listKeys(flags: Flags): Promise<void> {
  const server = clientServer(flags);
  const keys = await collect(
    (page) => server.call(ManagementService, (client, options) => client.listKeys(page, options)),
    (page) => page.keys,
  );
  const all = create(ListKeysResponseSchema, { keys });
  if (flags.json) await printJson(responseBodyCodec(methods.listKeys).encode(all));
  else await printData(keyTable(all));
}

interface CreateFlags extends Flags, LimitFlags {
  readonly name: string;
  readonly scopes?: Scope[];
  readonly expires?: Date;
}

/** Prints only the secret to standard output, for scripts. */
async function createKey(flags: CreateFlags): Promise<void> {
  const limits = wantedLimits(flags);
  const request = {
    name: flags.name,
    scopes: flags.scopes ?? [],
    ...(flags.expires && { expiresAt: timestampFromDate(flags.expires) }),
    ...(limits && { limits }),
  };
  const { key } = await callAndShow(
    flags,
    methods.createKey,
    (client, options) => client.createKey(request, options),
    ({ secret }) => `${secret}\n`,
  );
  printStatus(`${key?.id}: keep the key. It is not shown again.`);
}

async function limitKey(keyId: string, flags: Flags & LimitFlags, command: Command): Promise<void> {
  const request = { keyId, ...replacingLimits(flags, command) };
  await callAndShow(
    flags,
    methods.setKeyLimits,
    (client, options) => client.setKeyLimits(request, options),
    oneKey,
  );
}

async function rotateKey(keyId: string, flags: Flags & { readonly overlap?: number }): Promise<void> {
  const request = { keyId, overlapSeconds: flags.overlap ?? 0 };
  const { key } = await callAndShow(
    flags,
    methods.rotateKey,
    (client, options) => client.rotateKey(request, options),
    ({ secret }) => `${secret}\n`,
  );
  printStatus(`${key?.id}: keep the key. It is not shown again.`);
}

async function revokeKey(keyId: string, flags: Flags): Promise<void> {
  await callAndShow(
    flags,
    methods.revokeKey,
    (client, options) => client.revokeKey({ keyId }, options),
    oneKey,
  );
}

function oneKey({ key }: { readonly key?: Key | undefined }): string {
  return keyFacts(key);
}

interface UsageFlags extends Flags {
  readonly by: readonly string[];
  readonly since?: Date;
  readonly until?: Date;
}

async function showUsage(flags: UsageFlags): Promise<void> {
  const { by, since, until } = flags;
  const request = {
    groupBy: [...by],
    ...(since && { startTime: firstOfDay(since) }),
    ...(until && { endTime: firstOfDay(until) }),
  };
  const response = await clientServer(flags).call(AccountService, (client, options) =>
    client.getUsageTotals(request, options),
  );
  const { getUsageTotals } = AccountService.method;
  if (flags.json) await printJson(responseBodyCodec(getUsageTotals).encode(response));
  else await printData(totalsTable(response.totals, by, new Map()));
}

function parseDimensions(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => dimensions.some((known) => known === name))) return names;
  throw new InvalidArgumentError(`Write one or more of ${dimensions.join(',')}.`);
}
