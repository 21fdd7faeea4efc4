import { describe, expect, it } from 'vitest';
import { table } from '../../src/cli/terminal/table.ts';

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

  it('has its titles where there are no rows, on any terminal', () => {
    expect(table([], columns, 1)).toBe('NAME  CREDITS\n');
  });
});
