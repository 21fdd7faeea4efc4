/** The options that set where alerts are sent to. */
import type { Command } from 'commander';
import type { AlertSettings, MatrixRoom, WaitingAddress } from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import { usageError } from '../terminal/command.ts';
import { timeText } from '../terminal/times.ts';

export interface DestinationFlags {
  readonly webhook?: string;
  readonly mail?: string[];
  readonly slack?: string;
  readonly matrix?: string;
  readonly homeserver?: string;
  readonly tokenFile?: string;
}

export function withDestinationOptions(command: Command): Command {
  return command
    .option('--webhook <url>', 'post alerts there (default: alerts are only listed)')
    .option('--mail <list>', 'mail alerts there, such as ops@example.com,desk@example.com', parseList)
    .option('--slack <url>', 'post alerts to this incoming webhook of Slack')
    .option('--matrix <room>', 'send alerts to this room, such as !id:example.com')
    .option('--homeserver <url>', 'the homeserver, with --matrix')
    .option('--token-file <file>', 'a file with the access token (default: the token set before)');
}

function parseList(text: string): string[] {
  return text.split(',').map((part) => part.trim());
}

/** The fields of the settings; undefined without any of the options. */
export async function readDestination(flags: DestinationFlags, command: Command) {
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

/** The destination as a row of facts. */
export function destinationFact(settings: AlertSettings): readonly [string, string | undefined] {
  const { webhookUrl, mailAddresses, slackUrl, matrix } = settings;
  if (mailAddresses.length > 0) return ['mail', mailAddresses.join(', ')];
  if (slackUrl !== undefined) return ['slack', slackUrl];
  if (matrix !== undefined) return ['matrix', roomText(matrix)];
  return ['webhook', webhookUrl];
}

/** Addresses that wait for their confirmation, as rows of facts. */
export function waitingFacts(waiting: readonly WaitingAddress[]): (readonly [string, string])[] {
  return waiting.map(({ address, sentAt, lastFailure }) => {
    const sent = sentAt && `code sent ${timeText(sentAt)}`;
    const facts = [sent, lastFailure].filter((fact) => fact !== undefined);
    return ['waits for confirmation', `${address} (${facts.join('; ') || 'no code was sent'})`];
  });
}

function roomText({ roomId, homeserverUrl }: MatrixRoom): string {
  return `${roomId} at ${homeserverUrl}`;
}
