/** `examples/apps/phone`: a call of two turns with a real server. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { shell } from '../clients/shell.ts';
import { scratchFolder } from '../support/command-line.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { installPython } from './clients/install-python.ts';

const sdks = await installPython('python', 10);
const missing = 'missing' in sdks ? sdks.missing : missingHearing();
const program = new URL('../../examples/apps/phone/assistant.py', import.meta.url).pathname;

describe.skipIf(missing !== undefined)(`the phone assistant ${missing ?? ''}`, () => {
  const folder = scratchFolder();
  let parley: Parley;
  beforeAll(async () => {
    parley = await startParley();
  });
  afterAll(async () => {
    await parley.close();
    folder.remove();
  });

  const call = (key: string, ...args: string[]) => {
    const python = 'folder' in sdks ? `${sdks.folder}/venv/bin/python` : '';
    const env = { OPENAI_BASE_URL: parley.baseUrl, OPENAI_API_KEY: key };
    return shell(`${python} ${program}`, { cwd: folder.path, env, args });
  };

  it('hears each turn, answers it and keeps the conversation', async () => {
    const turns = ['Good morning. I am very happy today.', 'The weather is fine.'];
    for (const [at, input] of turns.entries()) {
      const speech = { model: 'flite', voice: 'slt', input, response_format: 'wav' };
      const answer = await parley.postJson('/audio/speech', speech);
      writeFileSync(folder.file(`turn-${at}.wav`), Buffer.from(await answer.arrayBuffer()));
    }
    const { code, stdout, stderr } = await call(parley.apiKey, 'turn-0.wav', 'turn-1.wav');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      /^caller: .*(morning|happy).*\nassistant: .+\ncaller: .*weather.*\nassistant: .+\n$/,
    );
    for (const at of turns.keys()) {
      const audio = readFileSync(folder.file(`turn-${at}.answer.wav`));
      expect(audio.subarray(0, 4).toString()).toBe('RIFF');
      expect(audio.length).toBeGreaterThan(10_000);
    }
    const { items } = await parley.app.store.usage.list(
      { operation: 'chat' },
      { size: 10, after: undefined },
    );
    const tokens = items.map(({ tokens: used }) => used?.promptTokens ?? 0).sort((one, other) => one - other);
    // The second turn sends the first one again.
    expect(tokens).toHaveLength(2);
    expect(tokens[1]).toBeGreaterThan((tokens[0] ?? 0) + 5);
  });

  it('says why it cannot answer', async () => {
    const { code, stderr } = await call('pk_none', 'turn-0.wav');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^turn-0\.wav: .*key/i)]);
  });
});
