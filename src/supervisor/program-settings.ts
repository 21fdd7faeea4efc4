import { type Address, withAddress } from './address.ts';

/** Checked, with every default filled in. */
export interface ProgramSettings {
  /** The program and its arguments, in which `{socket}` or `{port}` stands for the place where it must listen. */
  readonly command: readonly string[];
  /** Added to the environment that every program gets. It may have `{socket}` and `{port}` as well. */
  readonly env: Readonly<Record<string, string>>;
  readonly healthPath: string;
  readonly startMs: number;
  /** 0: never ended for being idle. */
  readonly idleMs: number;
  readonly stopMs: number;
  /** Memory that it needs, until more is measured. */
  readonly memoryBytes: number;
  readonly memoryBytesMax?: number | undefined;
  /** One program of a group runs at a time. */
  readonly group?: string | undefined;
}

export function needsSocket({ command, env }: ProgramSettings): boolean {
  return [...command, ...Object.values(env)].some((text) => text.includes('{socket}'));
}

/** Command and environment of a program that listens at an address. */
export function commandFor({ command, env }: ProgramSettings, address: Address) {
  const variables = Object.entries(env).map(([name, value]) => [name, withAddress(value, address)]);
  return {
    command: command.map((text) => withAddress(text, address)),
    env: Object.fromEntries(variables) as Readonly<Record<string, string>>,
  };
}
