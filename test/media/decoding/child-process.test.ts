/** Child processes that fail to start. */
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { startChild } from '../../../src/media/decoding/child-process.ts';

const limits = { prlimitPath: undefined, addressSpaceBytesMax: 1e9 };
const source = new URL('../../../src/media/decoding/child-process.ts', import.meta.url);

/** Starts a child once no file can be opened any more, and prints how it ended and what came of it. */
const program = `
  import { openSync } from 'node:fs';
  import { startChild } from '${source}';
  try { for (;;) openSync('/dev/null'); } catch {}
  const child = startChild('/bin/echo', ['hello'], ${JSON.stringify({ addressSpaceBytesMax: 1e9 })});
  let said = '';
  for await (const bytes of child.stdout) said += bytes;
  for await (const bytes of child.stderr) said += bytes;
  child.stdin.end();
  child.kill();
  const { exitCode, failure } = await child.ended;
  console.log(JSON.stringify({ said, exitCode, failure: failure.code }));
`;

describe('a child that cannot be started', () => {
  it('reports that the program is missing', async () => {
    const { failure } = await startChild('/nowhere/at/all', [], limits).ended;
    expect(failure).toMatchObject({ code: 'ENOENT' });
  });

  it('reports it, and the server lives on, when no more files can be opened', () => {
    const node = [process.execPath, '--input-type=module', '-e', program];
    const printed = execFileSync('/bin/sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...node], {
      encoding: 'utf8',
    });
    expect(JSON.parse(printed)).toEqual({ said: '', exitCode: null, failure: 'EMFILE' });
  });
});
