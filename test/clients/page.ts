/** The pages of docs/clients. The tests run their code blocks, so that a page and its test cannot differ. */
import { readFileSync } from 'node:fs';

/** The first line of a block has its language and its name: a file, or a step of a shell. */
const namedBlock = /^```\w+ (\S+)\n(.*?)^```$/gms;
/** A block that is a file or a part of one, with the line above it. */
const namedFile = /^(.*)\n\n```\w+ (\S+\.\S+)$/gm;

export interface Page {
  /** A file of the page: all blocks with its name, in their order. */
  file(name: string): string;
  /** A command of the page, such as `generate`. */
  command(name: string): string;
  /** The files with a block that has no line with the file's name above it: readers do not see the names in the blocks. */
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
