import { type Command, InvalidArgumentError } from 'commander';
import { type ServeFlags, withConfigFlags } from '../flags.ts';
import { newCommand } from '../terminal/command.ts';

const workersMax = 256;

export function serveCommand(): Command {
  return withConfigFlags(
    newCommand('serve', 'Start the server.', [
      'parley serve --demo   # with an account and keys to try',
      'parley serve --host 0.0.0.0 --port 80 --data-dir /var/lib/parley',
    ]),
  )
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
    .option('--port <number>', 'the port to listen on, 0 for any free one (default: 8080)')
    .option('--log-level <level>', 'trace, debug, info, warn, error, fatal or silent (default: info)')
    .option('--demo', 'on an empty database, create an account with a trial, credits and keys')
    .option(
      '--workers <count>',
      'processes that share the port; needs store.kind: postgres (default: this one)',
      parseWorkers,
    )
    .action(async (flags: ServeFlags) => {
      const { serve } = await import('./serve/server.ts');
      await serve(flags);
    });
}

function parseWorkers(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= workersMax) return count;
  throw new InvalidArgumentError(`Write a whole number from 1 to ${workersMax}.`);
}
