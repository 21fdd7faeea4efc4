import type { Command } from 'commander';
import { z } from 'zod';
import { systemCode } from '../../files/reason.ts';
import { serverUrl } from '../client/known-servers.ts';
import { probe } from '../client/probe.ts';
import { type ServerFlags, withServerFlags } from '../flags.ts';
import { CliError, newCommand } from '../terminal/command.ts';
import { printData } from '../terminal/terminal.ts';

interface HealthFlags extends ServerFlags {
  readonly ready?: boolean;
}

const answerMsMax = 5_000;

const answer = z.object({ status: z.string(), reason: z.string().optional() });

export function healthCommand(): Command {
  const command = newCommand(
    'health',
    'Check a running server. Exits with 0 if it is healthy, else with 1.',
    ['parley health           # whether it answers', 'parley health --ready   # whether it accepts requests'],
  ).option('--ready', 'check whether it accepts requests, which a stopping server does not');
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
    return answer.parse(await probe(url, AbortSignal.timeout(answerMsMax)));
  } catch (error) {
    const reason = systemCode(error) ?? (error instanceof z.ZodError ? 'it is not a Parley' : String(error));
    throw new CliError(`${url.origin} is not healthy (${reason}).`, error);
  }
}
