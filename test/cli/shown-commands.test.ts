/** Every `parley` command that a page, a message, an example or the console shows is one that the program accepts. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const program = createProgram('0.0.0');

const found = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, code = '']) => code);

/** Lines that are code: of Markdown its blocks and spans, of other files the spans that begin with `parley`. */
function codeOf(path: string, text: string): string[] {
  if (path.endsWith('.md')) {
    const blocks = found(text, /^```(?:sh|console|text)?[^\n]*\n(.*?)^```$/gms);
    const lines = blocks.flatMap((block) => block.replaceAll('\\\n', ' ').split('\n'));
    return [...lines, ...found(text, /(?<!`)`([^`\n]+)`(?!`)/g)];
  }
  return [
    ...found(text, /\\?`(parley [^`\\$]*)\\?`/g),
    ...found(text, /<code>(?:\.\/)?(parley [^<{]*)<\/code>/g),
    // The examples of commands are lines.
    ...(path === 'src/cli/examples.ts' ? found(text, /^(.*\bparley .*)$/gm) : []),
  ];
}

const separator = /^(&&?|\|\|?|;|>+|<|\$?\(|\))$/;
/** Words after which another command may begin; in a container, the name of the service is before the command. */
const before = /=|^(sudo|npx|exec|time|--|parley|deploy\/parley)$/;

/** The words after each `parley` that begins a command on a line of shell. */
function commandsOf(line: string): string[][] {
  const words = line.match(/\S*'[^']*'|\S*"[^"]*"|&&|\|\|?|;|>+|<|\$?\(|\)|[^\s'"|;<>()&]+|&/g) ?? [];
  const commands: string[][] = [];
  let command: string[] | undefined;
  let last: string | undefined;
  const isOfContainer = /\b(docker|kubectl)\b/.test(line);
  for (const word of words) {
    if (word.startsWith('#')) break;
    const mayBegin = last === undefined || separator.test(last) || before.test(last);
    if (separator.test(word)) {
      command = undefined;
    } else if (/^([^\s=]*\/)?parley$/.test(word) && mayBegin && !(isOfContainer && last === 'exec')) {
      command = [];
      commands.push(command);
    } else {
      command?.push(word);
    }
    last = word;
  }
  return commands;
}

/** The reason why the program would refuse the words; undefined if it would not. */
function flawOf(words: readonly string[]): string | undefined {
  let command: Command = program;
  let [count, at] = [0, 0];
  for (; at < words.length; at++) {
    const word = words[at] ?? '';
    const inner = command.commands.find((one) => one.name() === word);
    if (inner && count === 0) {
      command = inner;
    } else if (/^-[^\d]/.test(word)) {
      const [name = ''] = word.split('=');
      if (['--help', '-h', '--version'].includes(name)) continue;
      const option = command.options.find(({ long, short }) => long === name || short === name);
      if (option === undefined) return `\`${command.name()}\` has no ${name}`;
      if (option.required && !word.includes('=')) at++;
    } else if (command.commands.length > 0) {
      return `\`${command.name()}\` has no command ${word}`;
    } else if (word !== '…' && word !== '...') {
      count++;
    }
  }
  const places = command.registeredArguments;
  if (count > places.length && places.at(-1)?.variadic !== true) return `\`${command.name()}\` takes less`;
  return undefined;
}

const files = globSync(
  [
    '*.md',
    '{docs,examples,bench}/**/*.md',
    '{examples,deploy}/**/*.{yaml,yml,service,socket,sh}',
    'parley.example.yaml',
    '{src,console}/**/*.{ts,tsx}',
  ],
  { cwd: root, exclude: ['**/node_modules/**'] },
);
const shown = files.flatMap((path) =>
  codeOf(path, readFileSync(`${root}/${path}`, 'utf8'))
    .flatMap(commandsOf)
    .map((words) => ({ path, words })),
);

describe('the commands that people are shown', () => {
  it('are found in pages, messages and the console', () => {
    for (const part of ['README.md', 'docs/', 'src/', 'console/', 'deploy/']) {
      expect(
        shown.filter(({ path, words }) => path.startsWith(part) && words.length > 0).length,
        part,
      ).toBeGreaterThan(0);
    }
    expect(shown.length).toBeGreaterThan(150);
  });

  it('are commands, flags and arguments of the program', () => {
    const flaws = shown.flatMap(({ path, words }) => {
      const flaw = flawOf(words);
      return flaw === undefined ? [] : [`${path}: parley ${words.join(' ')}: ${flaw}`];
    });
    expect(flaws).toEqual([]);
  });

  it.each([
    ['key rotat X', '`key` has no command rotat'],
    ['account list --nam x', '`list` has no --nam'],
    ['account show a b', '`show` takes less'],
  ])('would be found if they were wrong: %s', (line, flaw) => {
    expect(flawOf(line.split(' '))).toBe(flaw);
  });
});
