/** The alerts of an account: of the key's own account with the scope `manage`, of any account for administrators. */
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { type Command, InvalidArgumentError } from 'commander';
import type {
  Alert,
  GetAlertSettingsResponse,
  WaitingAddress,
} from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import { parseList } from '../flags.ts';
import { CliError, newCommand, usageError } from '../terminal/command.ts';
import { facts, table } from '../terminal/table.ts';
import { printStatus } from '../terminal/terminal.ts';
import { timeText } from '../terminal/times.ts';
import {
  type AdminCommandFlags,
  callAndShow,
  calling,
  type LimitFlag,
  limitOption,
  listAndShow,
  ofAccount,
  ownOrCommand,
} from './admin-command.ts';

export function alertsCommand(): Command {
  return newCommand(
    'alerts',
    'Set and list alerts about budgets, credits and plans, by webhook, mail, Slack or Matrix.',
  )
    .addCommand(
      ownOrCommand('show', 'Show the settings of alerts.').action(
        calling('getAlertSettings', ofAccount, settingsFacts),
      ),
    )
    .addCommand(setCommand())
    .addCommand(
      ownOrCommand('confirm', 'Confirm an address of mail with the code that was sent to it.')
        .option('--code <code>', 'the code in the latest mail')
        .option('--send-again <address>', 'mail another code to this address')
        .action(confirmAddress),
    )
    .addCommand(
      ownOrCommand('list', 'Show the alerts that were raised, the newest first.')
        .addOption(limitOption('alerts'))
        .action(listAlerts),
    )
    .addCommand(
      ownOrCommand('test', 'Send a test to the destination, and show its answer.').action(
        calling('sendTestAlert', ofAccount, ({ alert: { id, delivery } = {} }) =>
          facts([
            ['alert', id],
            ['delivery', delivery?.state],
            ...(delivery?.lastFailure ? [['failure', delivery.lastFailure] as const] : []),
          ]),
        ),
      ),
    );
}

function setCommand(): Command {
  return ownOrCommand('set', 'Set alerts, and replace all earlier settings.')
    .option('--webhook <url>', 'post alerts there (default: alerts are only listed)')
    .option('--mail <list>', 'mail alerts there, such as ops@example.com,desk@example.com', parseList)
    .option('--slack <url>', 'post alerts to this incoming webhook of Slack')
    .option('--matrix <room>', 'send alerts to this room, such as !id:example.com')
    .option('--homeserver <url>', 'the homeserver, with --matrix')
    .option('--token-file <file>', 'a file with the access token (default: the token set before)')
    .option('--percents <list>', 'of budgets and fair use (default: 50,80,100)', parsePercents)
    .option('--balance-below <credits>', 'the balance below which an alert is raised (default: none)')
    .option('--new-secret', 'create a new signing secret, also for the same webhook')
    .option('--none', 'no alerts')
    .action(setAlerts);
}

interface SetFlags extends AdminCommandFlags {
  readonly webhook?: string;
  readonly mail?: string[];
  readonly slack?: string;
  readonly matrix?: string;
  readonly homeserver?: string;
  readonly tokenFile?: string;
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
  const wanted = { ...ofAccount(account), ...(hasSettings && { settings }), ...(newSecret && { newSecret }) };
  const answer = callAndShow(flags, 'setAlertSettings', wanted, settingsFacts);
  const { secret, waitingAddresses } = await answer.catch(namingOptions);
  if (secret !== undefined) printStatus('Keep the secret, it is not shown again.');
  if (waitingAddresses.length > 0)
    printStatus('Enter the code of each mail with `parley alerts confirm --code CODE`.');
}

/** The fields of the settings; undefined without any of the options. */
async function readDestination(flags: SetFlags, command: Command) {
  const { webhook, mail, slack, matrix, homeserver, tokenFile } = flags;
  if ([webhook, mail, slack, matrix].filter((flag) => flag !== undefined).length > 1)
    usageError(command, 'give only one of --webhook, --mail, --slack and --matrix');
  if ((matrix === undefined) !== (homeserver === undefined) || (tokenFile && matrix === undefined))
    usageError(command, 'give --matrix and --homeserver together, with --token-file for a new room');
  if (webhook !== undefined) return { webhookUrl: webhook };
  if (mail !== undefined) return { mailAddresses: mail };
  if (slack !== undefined) return { slackUrl: slack };
  if (matrix === undefined || homeserver === undefined) return undefined;
  const room = { homeserverUrl: homeserver, roomId: matrix };
  return {
    matrix: tokenFile === undefined ? room : { ...room, accessToken: await readToken(tokenFile, command) },
  };
}

async function readToken(file: string, command: Command): Promise<string> {
  const { readFile } = await import('node:fs/promises');
  const { fileReason } = await import('../../files/reason.ts');
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    return usageError(command, `the file ${file} cannot be read (${fileReason(error)})`);
  }
}

/** Options by the fields that they set. */
const options: Readonly<Record<string, string>> = {
  webhook_url: '--webhook',
  mail_addresses: '--mail',
  slack_url: '--slack',
  'matrix.room_id': '--matrix',
  'matrix.homeserver_url': '--homeserver',
  'matrix.access_token': '--token-file',
  percents: '--percents',
  balance_below: '--balance-below',
};

function namingOptions(error: unknown): never {
  if (!(error instanceof CliError)) throw error;
  const named = error.message.replace(/(?<=`)settings\.([\w.]+)/g, (name, field) => options[field] ?? name);
  throw new CliError(named, error);
}

interface ConfirmFlags extends AdminCommandFlags {
  readonly code?: string;
  readonly sendAgain?: string;
}

async function confirmAddress(account: string | undefined, flags: ConfirmFlags, command: Command) {
  const { code, sendAgain: address } = flags;
  const request = ofAccount(account);
  if (code !== undefined && address === undefined) {
    await callAndShow(flags, 'confirmMailAddress', { ...request, code }, (confirmed) =>
      facts([['confirmed', confirmed.address]]),
    );
  } else if (address !== undefined && code === undefined) {
    await callAndShow(flags, 'sendMailConfirmation', { ...request, address }, ({ waitingAddress }) =>
      facts(waitingFacts(waitingAddress ? [waitingAddress] : [])),
    );
  } else usageError(command, 'give either --code or --send-again');
}

async function listAlerts(account: string | undefined, flags: AdminCommandFlags & LimitFlag): Promise<void> {
  const count = await listAndShow(flags, 'listAlerts', ofAccount(account), alertTable);
  if (count === 0 && !flags.json) printStatus('There are no alerts.');
}

type ShownSettings = Pick<GetAlertSettingsResponse, 'settings' | 'waitingAddresses'> & {
  readonly webhookOffAt?: Timestamp | undefined;
  readonly secret?: string | undefined;
};

async function settingsFacts({ settings, webhookOffAt: offAt, secret, waitingAddresses }: ShownSettings) {
  if (settings === undefined) return 'No alerts are set.\n';
  const { destinationOf } = await import('../../core/alerts/alert-words.ts');
  const { kind = 'webhook', address } = destinationOf(settings) ?? {};
  return facts([
    [kind, address],
    ...(offAt ? [[`${kind} is`, `off since ${timeText(offAt)}: it answered 410`] as const] : []),
    ...(secret === undefined ? [] : [['secret', secret] as const]),
    ...waitingFacts(waitingAddresses),
    ['percents', settings.percents.join(', ')],
    ['balance below', settings.balanceBelow],
  ]);
}

/** Addresses that wait for their confirmation, as rows of facts. */
function waitingFacts(waiting: readonly WaitingAddress[]): (readonly [string, string])[] {
  return waiting.map(({ address, sentAt, lastFailure }) => {
    const sent = sentAt && `code sent ${timeText(sentAt)}`;
    const facts = [sent, lastFailure].filter((fact) => fact !== undefined);
    return ['waits for confirmation', `${address} (${facts.join('; ') || 'no code was sent'})`];
  });
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
  const percents = parseList(text);
  if (percents.every((part) => /^\d{1,3}$/.test(part))) return percents.map(Number);
  throw new InvalidArgumentError('Write whole numbers such as 50,80,100.');
}
