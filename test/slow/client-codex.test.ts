/** The Codex CLI from npm, some 420 MB, as its page starts it, before upstreams with the manners of the usual servers. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { finalWords, openModel, type ToolCall } from '../support/agent-upstream.ts';
import { describeAgent, installAgent, startAgent } from './clients/agent.ts';
import type { Installed } from './clients/cache.ts';

const task: readonly ToolCall[] = [
  ['exec_command', { cmd: 'echo one >> steps.txt' }],
  ['exec_command', { cmd: 'echo two >> steps.txt' }],
  ['exec_command', { cmd: 'cat steps.txt' }],
];

/** Codex runs commands in a sandbox, which a system may refuse. */
function withSandbox(installed: Installed): Installed {
  if ('missing' in installed) return installed;
  const { status } = spawnSync(join(installed.folder, 'bin/codex'), ['sandbox', '--', 'true']);
  if (status === 0) return installed;
  const missing = 'this system does not let its sandbox start';
  process.stderr.write(`NOT TESTED: codex (${missing})\n`);
  return { missing };
}

describeAgent({
  name: 'codex',
  installed: withSandbox(await installAgent('codex', 'codex')),
  task,
  answer: { object: 'response', model: 'coder' },
  more: (program) =>
    it('works with what it assumes of a model that it does not know', async () => {
      const { run, work, played, checkBooks } = await startAgent('codex', program, openModel, task);
      await run('settings');
      const file = join(work, '../.codex/config.toml');
      writeFileSync(file, readFileSync(file, 'utf8').replace(/^model_catalog_json.*$/m, ''));
      expect(await run('task')).toContain(finalWords);
      expect(played.refused).toEqual([]);
      await checkBooks();
    }),
});
