/** Standard output carries data, standard error everything else. */
import { once } from 'node:events';
import type { JsonValue } from '@bufbuild/protobuf';

export interface JsonFlag {
  readonly json?: boolean;
}

/** Resolves when there is room for more. */
export async function printData(data: string | Uint8Array): Promise<void> {
  if (!process.stdout.write(data)) await once(process.stdout, 'drain');
}

export function printJson(document: JsonValue): Promise<void> {
  return printData(`${JSON.stringify(document, null, 2)}\n`);
}

export function printStatus(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** A reader such as `head` that has seen enough is no failure of the program. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(`Standard output cannot be written (${error.code}).\n`);
    process.exit(1);
  });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is these that are looked for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Text of others without the control characters by which it could write over what is on a terminal. */
export function printable(text: string): string {
  return text.replace(controls, '');
}

/** Text of a model as standard output gets it: unchanged, unless that is a terminal. */
export function shown(text: string): string {
  return process.stdout.isTTY ? printable(text) : text;
}
