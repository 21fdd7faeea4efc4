/** The alerts of an account: of the key's own account with the scope `manage`, of any account for administrators. */
import { type Command, InvalidArgumentError } from 'commander';
import type { Alert, AlertSettings, WaitingAddress } from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import { ServerError } from '../client/server-error.ts';
import { CliError, newCommand, usageError } from '../terminal/command.ts';
import { facts, table } from '../terminal/table.ts';
import { printStatus } from '../terminal/terminal.ts';
import { timeText } from '../terminal/times.ts';
import {
  type AdminCommandFlags,
  callAndShow,
  type LimitFlag,
  limitOption,
  listAndShow,
  ownOr,
  ownOrCommand,
} from './admin-command.ts';
import {
  type DestinationFlags,
  destinationFact,
  readDestination,
  waitingFacts,
  withDestinationOptions,
} from './alert-destination.ts';

export function alertsCommand(): Command {
  return newCommand(
    'alerts',
    'Set and list alerts about budgets, credits and plans, by webhook, mail, Slack or Matrix.',
    [
      'parley alerts set --webhook https://example.com/alerts --balance-below 5',
      'parley alerts test',
      'parley alerts list',
    ],
  )
    .addCommand(
      ownOrCommand('show', 'Show the settings of alerts.', [
        'parley alerts show',
        'parley alerts show acme   # of an account, as administrator',
      ]).action(showSettings),
    )
    .addCommand(setCommand())
    .addCommand(
      ownOrCommand('confirm', 'Confirm an address of mail with the code that was sent to it.', [
        'parley alerts confirm --code ABCD-EFGH-JKMN',
        'parley alerts confirm --send-again ops@example.com',
      ])
        .option('--code <code>', 'the code in the latest mail')
        .option('--send-again <address>', 'mail another code to this address')
        .action(confirmAddress),
    )
    .addCommand(
      ownOrCommand('list', 'Show the alerts that were raised, the newest first.', ['parley alerts list'])
        .addOption(limitOption('alerts'))
        .action(listAlerts),
    )
    .addCommand(
      ownOrCommand('test', 'Send a test to the destination, and show its answer.', [
        'parley alerts test',
      ]).action(sendTest),
    );
}

function setCommand(): Command {
  const command = ownOrCommand('set', 'Set alerts, and replace all earlier settings.', [
    'parley alerts set --webhook https://example.com/alerts --percents 80,100 --balance-below 5',
    'parley alerts set acme --mail ops@example.com',
    "parley alerts set --matrix '!id:example.com' --homeserver https://matrix.example.com --token-file token",
    'parley alerts set acme --none',
  ]);
  return withDestinationOptions(command)
    .option('--percents <list>', 'of budgets and fair use (default: 50,80,100)', parsePercents)
    .option('--balance-below <credits>', 'the balance below which an alert is raised (default: none)')
    .option('--new-secret', 'create a new signing secret, also for the same webhook')
    .option('--none', 'no alerts')
    .action(setAlerts);
}

async function showSettings(account: string | undefined, flags: AdminCommandFlags): Promise<void> {
  const { request, connection } = ownOr(account, flags);
  await callAndShow(connection, 'getAlertSettings', request, ({ settings, webhookOffAt, ...state }) =>
    settingsFacts(settings, {
      off: webhookOffAt && `off since ${timeText(webhookOffAt)}: it answered 410`,
      waiting: state.waitingAddresses,
    }),
  );
}

interface SetFlags extends AdminCommandFlags, DestinationFlags {
  readonly percents?: number[];
  readonly balanceBelow?: string;
  readonly newSecret?: boolean;
  readonly none?: boolean;
}

async function setAlerts(account: string | undefined, flags: SetFlags, command: Command): Promise<void> {
  const { percents = [], balanceBelow, newSecret, none = false } = flags;
  const destination = await readDestination(flags, command);
  const hasSettings = [destination, flags.percents, balanceBelow].some((flag) => flag !== undefined);
  if (none === hasSettings)
    usageError(
      command,
      'give --none, or any of --webhook, --mail, --slack, --matrix, --percents, --balance-below',
    );
  const settings = { percents, ...destination, ...(balanceBelow !== undefined && { balanceBelow }) };
  const { request, connection } = ownOr(account, flags);
  const wanted = { ...request, ...(hasSettings && { settings }), ...(newSecret && { newSecret }) };
  const { secret, waitingAddresses } = await callAndShow(connection, 'setAlertSettings', wanted, (set) =>
    settingsFacts(set.settings, { secret: set.secret, waiting: set.waitingAddresses }),
  ).catch(namingOptions);
  if (secret !== undefined) printStatus('Keep the secret, it is not shown again.');
  if (waitingAddresses.length > 0)
    printStatus('Enter the code of each mail with `parley alerts confirm --code CODE`.');
}

/** The fields of the settings, by their paths, as options. */
const options: Readonly<Record<string, string>> = {
  'settings.webhook_url': '--webhook',
  'settings.slack_url': '--slack',
  'settings.balance_below': '--balance-below',
};

function namingOptions(error: unknown): never {
  const option = error instanceof ServerError ? options[error.param ?? ''] : undefined;
  if (!(error instanceof ServerError) || option === undefined) throw error;
  throw new CliError(error.message.replaceAll(`\`${error.param}\``, `\`${option}\``), error);
}

interface ConfirmFlags extends AdminCommandFlags {
  readonly code?: string;
  readonly sendAgain?: string;
}

async function confirmAddress(account: string | undefined, flags: ConfirmFlags, command: Command) {
  const { code, sendAgain: address } = flags;
  const { request, connection } = ownOr(account, flags);
  if (code !== undefined && address === undefined) {
    await callAndShow(connection, 'confirmMailAddress', { ...request, code }, (confirmed) =>
      facts([['confirmed', confirmed.address]]),
    );
  } else if (address !== undefined && code === undefined) {
    await callAndShow(connection, 'sendMailConfirmation', { ...request, address }, ({ waitingAddress }) =>
      facts(waitingFacts(waitingAddress ? [waitingAddress] : [])),
    );
  } else usageError(command, 'give either --code or --send-again');
}

async function listAlerts(account: string | undefined, flags: AdminCommandFlags & LimitFlag): Promise<void> {
  const { request, connection } = ownOr(account, flags);
  const shown = await listAndShow(
    connection,
    'listAlerts',
    (admin, page) => admin.invoke('listAlerts', { ...page, ...request }),
    ({ alerts }) => alerts,
    alertTable,
  );
  if (shown.length === 0 && !flags.json) printStatus('There are no alerts.');
}

async function sendTest(account: string | undefined, flags: AdminCommandFlags): Promise<void> {
  const { request, connection } = ownOr(account, flags);
  await callAndShow(connection, 'sendTestAlert', request, ({ alert }) =>
    facts([
      ['alert', alert?.id],
      ['delivery', alert?.delivery?.state],
      ...(alert?.delivery?.lastFailure ? [['failure', alert.delivery.lastFailure] as const] : []),
    ]),
  );
}

interface MoreFacts {
  readonly off?: string | undefined;
  readonly secret?: string | undefined;
  readonly waiting: readonly WaitingAddress[];
}

function settingsFacts(settings: AlertSettings | undefined, { off, secret, waiting }: MoreFacts): string {
  if (settings === undefined) return 'No alerts are set.\n';
  const { percents, balanceBelow } = settings;
  const destination = destinationFact(settings);
  return facts([
    destination,
    ...(off === undefined ? [] : [[`${destination[0]} is`, off] as const]),
    ...(secret === undefined ? [] : [['secret', secret] as const]),
    ...waitingFacts(waiting),
    ['percents', percents.join(', ')],
    ['balance below', balanceBelow],
  ]);
}

async function alertTable({ alerts }: { readonly alerts: readonly Alert[] }): Promise<string> {
  const { alertWords } = await import('../../core/alerts/alert-words.ts');
  return table(alerts, [
    { title: 'TIME (UTC)', cell: ({ createdAt }) => timeText(createdAt) },
    { title: 'TYPE', cell: ({ type }) => type },
    { title: 'KEY', cell: ({ keyId }) => keyId },
    { title: 'WHAT', cell: (alert) => alertWords(alert) },
    { title: 'DELIVERY', cell: ({ delivery }) => delivery?.state },
    { title: 'ATTEMPTS', cell: ({ delivery }) => String(delivery?.attempts ?? 0), align: 'right' },
    { title: 'FAILURE', cell: ({ delivery }) => delivery?.lastFailure },
  ]);
}

function parsePercents(text: string): number[] {
  const percents = text.split(',').map((part) => part.trim());
  if (percents.every((part) => /^\d{1,3}$/.test(part))) return percents.map(Number);
  throw new InvalidArgumentError('Write whole numbers such as 50,80,100.');
}
