/** `examples/team-keys.yaml`: its commands, run one after the other, and what the keys that they make may do. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { inShell, scratchFolder, serve } from '../support/command-line.ts';
import { errorOf } from '../support/parley.ts';

const example = readFileSync(new URL('../../examples/team-keys.yaml', import.meta.url), 'utf8');
const commands = [...example.matchAll(/^# {3}parley (.*)$/gm)].map(([, command = '']) => command);
const serveAt = commands.indexOf('serve');

const folder = scratchFolder();
afterAll(() => folder.remove());

/** Runs a command as the file has it. Returns what it prints. */
async function run(command: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const { code, stdout, stderr } = await inShell(`"$@" ${command}`, { cwd: folder.path, env });
  expect([command, code, stderr.includes('rror')]).toEqual([command, 0, false]);
  return stdout.trim();
}

describe('team-keys.yaml', () => {
  it('gives a team a budget, and each key of the team its own', async () => {
    writeFileSync(folder.file('parley.yaml'), example);
    let lead = '';
    for (const command of commands.slice(0, serveAt)) lead = await run(command);
    const { baseUrl, close } = await serve([], { cwd: folder.path });
    try {
      const printed = [];
      for (const command of commands.slice(serveAt + 1)) {
        printed.push(await run(command, { PARLEY_API_KEY: lead }));
      }
      const [app = '', laptop = '', intern = '', list = '', usage = ''] = printed;
      const chat = (key: string, model: string) => {
        const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello.' }] });
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
        return fetch(`${baseUrl}/chat/completions`, { method: 'POST', headers, body });
      };
      expect((await chat(laptop, 'research')).status).toBe(200);
      const answer = await chat(app, 'assistant');
      expect([answer.status, answer.headers.get('x-ratelimit-remaining-requests')]).toEqual([200, '59']);
      expect(answer.headers.get('ratelimit-policy')).toContain('"account-requests";q=600;w=60');
      expect(await errorOf(await chat(app, 'research'))).toMatchObject({ code: 'insufficient_scope' });
      expect(await errorOf(await chat(intern, 'assistant'))).toMatchObject({ code: 'budget_exceeded' });
      for (const name of ['lead', 'app', 'laptop', 'intern'])
        expect(list).toMatch(new RegExp(`^${name} +key_`, 'm'));
      expect(usage).toMatch(/^KEY +MONTH +REQUESTS/);
    } finally {
      await close();
    }
  });
});
