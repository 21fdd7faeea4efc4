#!/usr/bin/env node
import { noticesCommand } from './cli/notices.ts';
import { createProgram } from './cli/program.ts';
import { workerArgument } from './cluster/worker-argument.ts';
import { version, versionText } from './version.ts';

async function main(): Promise<void> {
  if (isWorker()) {
    const { runWorker } = await import('./app/worker.ts');
    return runWorker();
  }
  const [, , first = ''] = process.argv;
  const told = ['--version', '-V'].includes(first) ? await versionText() : version;
  await createProgram(told).addCommand(noticesCommand()).parseAsync();
}

/** Whether a server has started this process as one of its workers: see cluster/fork.ts. */
function isWorker(): boolean {
  return process.argv.at(-1) === workerArgument && process.connected === true;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
