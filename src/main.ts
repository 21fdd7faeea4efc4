#!/usr/bin/env node
import { createProgram } from './cli/program.ts';
import { version } from './version.ts';

try {
  await createProgram(version).parseAsync();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
