/** Data goes to standard output, everything else to standard error. */
import { once } from 'node:events';
import type { JsonValue } from '@bufbuild/protobuf';

/** Resolves once standard output can accept more. */
export async function printData(data: string | Uint8Array): Promise<void> {
  if (!process.stdout.write(data)) await once(process.stdout, 'drain');
}

export function printJson(document: JsonValue): Promise<void> {
  return printData(shown(`${JSON.stringify(document, null, 2)}\n`));
}

export function printStatus(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Ends the program without an error when its reader, such as `head`, closes the pipe. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(`Standard output cannot be written (${error.code}).\n`);
    process.exit(1);
  });
  // Where standard error is full, nothing can be said about it.
  process.stderr.on('error', () => undefined);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: finds control characters
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Foreign text without control characters, which could overwrite other text on a terminal. */
export function printable(text: string): string {
  return text.replace(controls, '');
}

/** Foreign text for standard output: unchanged, unless that is a terminal. */
export function shown(text: string): string {
  return process.stdout.isTTY ? printable(text) : text;
}
