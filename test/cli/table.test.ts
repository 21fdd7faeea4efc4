import { afterAll, describe, expect, it } from 'vitest';
import { table } from '../../src/cli/terminal/table.ts';
import { noTerminal, parley, parleyAtTerminal, scratchFolder } from '../support/command-line.ts';

const rows = [
  { name: 'acme', credits: '10' },
  { name: 'another', credits: '2.5' },
];
const columns = [
  { title: 'NAME', cell: (row: (typeof rows)[number]) => row.name },
  { title: 'CREDITS', cell: (row: (typeof rows)[number]) => row.credits, align: 'right' as const },
];

describe('a table', () => {
  it('has a line for each row where the lines fit', () => {
    const whole = 'NAME     CREDITS\nacme          10\nanother      2.5\n';
    expect(table(rows, columns, 16)).toBe(whole);
    expect(table(rows, columns)).toBe(whole);
  });

  it('has a block of lines for each row on a terminal that is narrower', () => {
    expect(table(rows, columns, 15)).toBe('name     acme\ncredits  10\n\nname     another\ncredits  2.5\n');
  });

  it('clips a column that may be clipped, before it becomes a block of lines', () => {
    const long = [{ name: 'a', value: 'x'.repeat(30) }];
    const two = [
      { title: 'NAME', cell: (row: (typeof long)[number]) => row.name },
      { title: 'VALUE', cell: (row: (typeof long)[number]) => row.value, mayClip: true },
    ];
    expect(table(long, two, 20)).toBe(`NAME  VALUE\na     ${'x'.repeat(13)}…\n`);
    expect(table(long, two, 40)).toContain('x'.repeat(30));
    expect(table(long, two, 17)).toMatch(/^name /);
  });

  it('has its titles where there are no rows, on any terminal', () => {
    expect(table([], columns, 1)).toBe('NAME  CREDITS\n');
  });
});

describe('the state of a key', () => {
  const folder = scratchFolder();
  afterAll(() => folder.remove());
  const list = ['key', 'list', '--admin'];
  const green = '\u001b[32mlive\u001b[39m';
  const atTerminal = async (env: Readonly<Record<string, string>>) => {
    const terminal = parleyAtTerminal(list, { cwd: folder.path, env });
    await terminal.ended;
    return terminal.shown();
  };

  it.skipIf(noTerminal !== undefined)(
    `has a color on a terminal${noTerminal ? ` (skipped: ${noTerminal})` : ''}, unless NO_COLOR is set, and nowhere else`,
    async () => {
      await parley(['key', 'create', '--admin', '--name', 'Desk'], { cwd: folder.path });
      expect(await atTerminal({})).toContain(green);
      expect(await atTerminal({ NO_COLOR: '1' })).not.toContain('\u001b[3');
      const { stdout } = await parley(list, { cwd: folder.path });
      expect(stdout).toContain('live');
      expect(stdout).not.toContain('\u001b');
    },
  );
});
