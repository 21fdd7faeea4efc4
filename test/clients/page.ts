/** The pages of docs/clients: their blocks of code are what the tests run, so that a page and its test cannot part. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The first line of a block says its language and what it is called: a file, or a step of a shell. */
const namedBlock = /^```\w+ (\S+)\n(.*?)^```$/gms;

export interface Page {
  /** A file of the page: the blocks that have its name, in their order. */
  file(name: string): string;
  /** A command of the page, such as `generate`. */
  command(name: string): string;
  /** Writes these files into a folder. */
  writeTo(folder: string, ...names: readonly string[]): void;
}

export function readPage(language: string): Page {
  const markdown = readFileSync(new URL(`../../docs/clients/${language}.md`, import.meta.url), 'utf8');
  const blocks = Map.groupBy(markdown.matchAll(namedBlock), ([, name]) => name);
  const file = (name: string) => {
    const parts = blocks.get(name);
    if (parts === undefined) throw new Error(`the page on ${language} has no block called ${name}`);
    return parts.map(([, , code]) => code).join('\n');
  };
  return {
    file,
    command: (name) => file(name).trim(),
    writeTo: (folder, ...names) => {
      for (const name of names) {
        const path = join(folder, name);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, file(name));
      }
    },
  };
}
