import type { Command } from 'commander';
import { systemCode } from '../../files/reason.ts';
import { type ServerFlags, withServerFlags } from '../flags.ts';
import { CliError, newCommand } from '../terminal/command.ts';
import { printData } from '../terminal/terminal.ts';

interface HealthFlags extends ServerFlags {
  readonly ready?: boolean;
}

const answerMsMax = 5_000;

export function healthCommand(): Command {
  const command = newCommand(
    'health',
    'Check a running server. Exits with 0 if it is healthy, else with 1.',
  ).option('--ready', 'check whether it accepts requests, which a stopping server does not');
  return withServerFlags(command).action(health);
}

async function health({ ready, ...flags }: HealthFlags): Promise<void> {
  const { serverUrl } = await import('../client/known-servers.ts');
  const url = new URL(ready ? '/readyz' : '/healthz', serverUrl(flags));
  const unhealthy = (reason: string, cause?: unknown) =>
    new CliError(`${url.origin} is not healthy (${reason}).`, cause);
  const { probe } = await import('../client/probe.ts');
  const answer = await probe(url, AbortSignal.timeout(answerMsMax)).catch((error) => {
    throw unhealthy(systemCode(error) ?? String(error), error);
  });
  if (answer === undefined) throw unhealthy('it is not a Parley');
  const { status, reason } = answer;
  if (reason !== undefined) throw new CliError(`${url.origin} is not ready: ${reason}`);
  await printData(`${status}\n`);
}
