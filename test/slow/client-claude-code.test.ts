/** Claude Code from npm, some 380 MB, as its page starts it, before upstreams with the manners of the usual servers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { finalWords, manners, type ToolCall } from '../support/agent-upstream.ts';
import { installAgent, startAgent, startPage } from './clients/agent.ts';

const installed = await installAgent('claude-code', 'claude');
const missing = 'missing' in installed ? installed.missing : undefined;
const program = 'folder' in installed ? installed.folder : '';

const task: readonly ToolCall[] = [
  ['Bash', { command: 'echo one >> steps.txt', description: 'Writes the first step' }],
  ['Bash', { command: 'echo two >> steps.txt', description: 'Writes the second step' }],
  ['Read', { file_path: 'steps.txt' }],
];

describe.skipIf(missing !== undefined)(`Claude Code${missing ? ` (${missing})` : ''}`, () => {
  it.each(manners)(
    'ends a task of three calls before $name, and another one when resumed',
    async (manner) => {
      const { run, work, played, checkBooks } = await startAgent('claude-code', program, manner, task);
      const steps = () => readFileSync(join(work, 'steps.txt'), 'utf8');
      expect(await run('settings', 'task')).toContain(finalWords);
      expect(steps()).toBe('one\ntwo\n');
      expect(await run('settings', 'continue')).toContain(finalWords);
      expect(steps()).toBe('one\ntwo\none\ntwo\n');
      expect(played.refused).toEqual([]);
      await checkBooks();
    },
  );

  it('works as the page shows it, from the start of the server', async () => {
    const [, vllm] = manners;
    if (vllm === undefined) throw new Error('no manner');
    const run = await startPage('claude-code', program, vllm, task);
    expect(JSON.parse(await run('key', 'settings', 'check'))).toMatchObject({ type: 'message' });
    expect(await run('key', 'settings', 'task')).toContain(finalWords);
    expect(await run('key', 'settings', 'continue')).toContain(finalWords);
  });
});
