#!/usr/bin/env node
import { version, versionText } from './app/version.ts';
import { endWithReader, printData } from './cli/terminal/terminal.ts';

async function main(): Promise<void> {
  endWithReader();
  const [, , first = '', ...others] = process.argv;
  // Without the commands, which take twice as long to load as Node.
  if (['--version', '-v'].includes(first) && others.length === 0) return printData(`${versionText()}\n`);
  const { createProgram } = await import('./cli/program.ts');
  await createProgram(first === 'version' ? versionText() : version).parseAsync();
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
