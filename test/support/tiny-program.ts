/** Engines of the kind `process` with the tiny server of the tests. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const server = fileURLToPath(new URL('tiny-server.mjs', import.meta.url));

export interface TinyOptions {
  /** Where it listens. Default: `{socket}` */
  readonly at?: string;
  readonly loadMs?: number;
  readonly megabytes?: number;
  readonly everyMs?: number;
  /** A stream stops after its first token until this file exists. */
  readonly gate?: string;
  readonly trick?: 'exit' | 'stubborn' | 'crash';
}

export function tinyCommand({ at = '{socket}', ...options }: TinyOptions = {}): string[] {
  const settings = Object.entries(options).map(([name, value]) => `${name}=${value}`);
  return [process.execPath, server, at, ...settings];
}

/** Settings of an engine. */
export function tinyEngine(options: TinyOptions = {}, settings: object = {}) {
  return { kind: 'process', command: tinyCommand(options), memoryBytes: 60_000_000, ...settings };
}

/** A chat model of the engine of the same name. */
export function tinyModel(id: string, settings: object = {}) {
  return {
    id,
    type: 'chat',
    engine: id,
    price: { input: 1, output: 1 },
    contextTokens: 4096,
    ...settings,
  } as const;
}

/** Running processes whose command line contains a text, the oldest first. */
export function processesWith(text: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const found = pids.filter((pid) => commandLine(pid).includes(text)).map(Number);
  return found.sort((one, other) => one - other);
}

/** Empty for a process that has ended. */
function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}
