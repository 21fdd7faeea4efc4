#!/usr/bin/env node
import { version, versionText } from './app/version.ts';
import { createProgram } from './cli/program.ts';

async function main(): Promise<void> {
  const [, , first = ''] = process.argv;
  const shown = ['--version', '-v', 'version'].includes(first) ? versionText() : version;
  await createProgram(shown).parseAsync();
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
