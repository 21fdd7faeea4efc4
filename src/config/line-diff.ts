import { diff } from 'node:util';

/** The lines that differ, after `- ` and `+ `. Empty lines do not count. */
export function lineDiff(before: string, after: string): string[] {
  const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');
  return diff(linesOf(before), linesOf(after)).flatMap(([step, line]) =>
    step === 0 ? [] : [`${step > 0 ? '-' : '+'} ${line}`],
  );
}
