/** The part of the TypeScript page about browsers: Node runs the code and asks for permission like a browser. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { playingEngines } from '../conformance/play.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { readPage } from './page.ts';

type Ask = (base: string, key: string, question: string) => AsyncIterable<string>;

describe('a page in a browser', () => {
  const page = readPage('typescript');
  const folder = mkdtempSync(join(tmpdir(), 'parley-browser-'));
  let parley: Parley;
  let ask: Ask;

  beforeAll(async () => {
    const [, value = ''] = /^PARLEY_CORS_ORIGINS=(\S+) parley serve$/.exec(page.command('origins')) ?? [];
    const { cors } = loadConfig({ env: { PARLEY_CORS_ORIGINS: value }, file: undefined });
    parley = await startParley({
      settings: { cors: { origins: [...cors.origins] } },
      engines: playingEngines(),
    });
    const file = join(folder, 'browser.mjs');
    writeFileSync(file, page.file('browser.js'));
    ({ ask } = (await import(file)) as { ask: Ask });
  });
  afterAll(async () => {
    await parley.close();
    rmSync(folder, { recursive: true });
  });

  it.each(['https://app.example.com', 'http://localhost:5173'])('of %s may call', async (origin) => {
    const wanted = 'authorization,content-type';
    const headers = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': wanted,
    };
    const answer = await parley.call('/chat/completions', { method: 'OPTIONS', headers });
    expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
    expect(answer.headers.get('access-control-allow-headers')).toBe(wanted);
  });

  const asked = async (question: string, key = parley.apiKey) => {
    let text = '';
    for await (const part of ask(parley.baseUrl, key, question)) text += part;
    return text;
  };

  it('reads a chat as it is written', async () => {
    expect(await asked('play: say one ; say “zwei” 🎉')).toBe('one “zwei” 🎉');
  });

  it('reads why a call failed, before and after its first output', async () => {
    await expect(asked('hello', 'pk_none')).rejects.toThrow('unknown, expired or revoked');
    await expect(asked('play: say one; fail upstream_error 502')).rejects.toThrow('engine');
  });
});
