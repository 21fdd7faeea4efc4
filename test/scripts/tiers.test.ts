/** The tiers of tests: their page, and that a new file which starts programs is in one of the lists. */
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { firstOnPostgres, later, startingParley } from '../tiers.ts';

const page = readFileSync('docs/internal/testing.md', 'utf8');
const inLater = new Set(Object.values(later).flatMap((globs) => globs.flatMap((glob) => globSync(glob))));

/** Functions of test/support/command-line.ts that start the program. */
const starts =
  /import \{[^}]*\b(startParley|parleyProcess|parleyBytes|parleyAtTerminal|serve|serveAtTerminal|inShell|shellCommand)\b[^}]*\} from '[./]+support\/command-line\.ts'/;

describe('the page on the tiers', () => {
  it('lists the files of each', () => {
    const sections = Object.entries(later).map(([name, globs]) => `**${name}**\n\n${asList(globs)}`);
    expect(page).toContain(sections.join('\n\n'));
    expect(page).toContain(`start Parley as a process:\n\n${asList(startingParley)}`);
    expect(page).toContain(`with \`--all\`:\n\n${asList(firstOnPostgres)}`);
  });

  it('names only files that exist', () => {
    const globs = [...Object.values(later).flat(), ...startingParley, ...firstOnPostgres];
    expect(globs.filter((glob) => globSync(glob).length === 0)).toEqual([]);
  });
});

describe('the first tier', () => {
  it('starts Parley as a process in a few files only', () => {
    const files = globSync('test/**/*.test.ts', { exclude: ['test/{node_modules,slow,store/postgres}/**'] });
    const starting = files.filter((file) => !inLater.has(file) && starts.test(readFileSync(file, 'utf8')));
    expect(starting.sort()).toEqual(startingParley);
  });
});

function asList(globs: readonly string[]): string {
  return globs.map((glob) => `- \`${glob}\``).join('\n');
}
