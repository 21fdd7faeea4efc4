/** The pages of docs/clients: their blocks of code are what the tests run, so that a page and its test cannot part. */
import { readFileSync } from 'node:fs';

/** The first line of a block says its language and what it is called: a file, or a step of a shell. */
const namedBlock = /^```\w+ (\S+)\n(.*?)^```$/gms;
/** A block that is a file, or a part of one, and the line above it. */
const namedFile = /^(.*)\n\n```\w+ (\S+\.\S+)$/gm;

export interface Page {
  /** A file of the page: the blocks that have its name, in their order. */
  file(name: string): string;
  /** A command of the page, such as `generate`. */
  command(name: string): string;
  /** The files of which a block has no line with their names above it: a reader does not see those of the blocks. */
  unseenFiles(): string[];
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
    unseenFiles: () =>
      [...markdown.matchAll(namedFile)].flatMap(([, above = '', name = '']) =>
        above.startsWith(`\`${name}\``) || above.startsWith(`\`~/client/${name}\``) ? [] : [name],
      ),
  };
}
