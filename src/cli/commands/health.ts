import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';
import { json } from 'node:stream/consumers';
import type { Command } from 'commander';
import { z } from 'zod';
import { systemCode } from '../../files/reason.ts';
import { CliError } from '../terminal/cli-error.ts';
import { newCommand } from '../terminal/command.ts';
import { printData } from '../terminal/terminal.ts';
import { type ServerFlags, serverUrl, withServerFlags } from './server-flags.ts';

interface HealthFlags extends ServerFlags {
  readonly ready?: boolean;
}

/** Whoever asks for health wants to know soon. */
const answerMsMax = 5_000;

const answer = z.object({ status: z.string(), reason: z.string().optional() });

export function healthCommand(): Command {
  const command = newCommand('health', 'Ask a server how it is. Ends with 0 where it is well, else with 1.', [
    'parley health           # whether it answers',
    'parley health --ready   # whether it should get requests',
  ]).option('--ready', 'ask whether it should get requests, which it should not while it stops');
  return withServerFlags(command).action(health);
}

async function health({ ready, ...flags }: HealthFlags): Promise<void> {
  const url = new URL(ready ? '/readyz' : '/healthz', serverUrl(flags));
  const { status, reason } = await ask(url);
  if (reason !== undefined) throw new CliError(`${url.origin} is not ready: ${reason}`);
  await printData(`${status}\n`);
}

async function ask(url: URL): Promise<z.infer<typeof answer>> {
  try {
    return answer.parse(await read(url));
  } catch (error) {
    const reason = systemCode(error) ?? (error instanceof z.ZodError ? 'it is not a Parley' : String(error));
    throw new CliError(`${url.origin} does not answer as it should (${reason}).`, error);
  }
}

/**
 * Nothing secret is sent and nothing but a word is believed, so any certificate will do: that of the server seldom names the
 * address at which a machine calls itself.
 */
function read(url: URL): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const options = { signal: AbortSignal.timeout(answerMsMax), rejectUnauthorized: false };
  const request = url.protocol === 'https:' ? getHttps(url, options) : getHttp(url, options);
  request.on('response', (response) => resolve(json(response))).on('error', reject);
  return promise;
}
