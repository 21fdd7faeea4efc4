/** Statements of the client pages that are not in their programs. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { packages } from '../../scripts/setup/programs.mjs';
import { loadConfig } from '../../src/config/config.ts';
import { errorTable } from '../../src/core/values/errors.ts';
import { startParley } from '../support/parley.ts';
import { readPage } from './page.ts';
import { shell } from './shell.ts';

const docs = new URL('../../docs/', import.meta.url);
const index = readFileSync(new URL('clients.md', docs), 'utf8');

describe('docs/clients.md', () => {
  it('has a link to every page', () => {
    for (const page of readdirSync(new URL('clients', docs))) expect(index).toContain(`(clients/${page})`);
  });

  it('lists the gRPC code of every string code', () => {
    const rows = [...index.matchAll(/^\| `([A-Z_]+)` \| (.+) \|$/gm)].map(([, grpc = '', codes = '']) => ({
      grpc,
      codes: [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => code),
    }));
    const told = Object.entries(errorTable).map(([code, { http, grpc }]) => {
      const row = rows.find(({ codes }) => codes.includes(code));
      return [code, row?.grpc ?? (http === 400 ? 'INVALID_ARGUMENT' : 'nothing'), grpc];
    });
    expect(told.filter(([, page, table]) => page !== table)).toEqual([]);
    expect(rows.flatMap(({ codes }) => codes.filter((code = '') => !(code in errorTable)))).toEqual([]);
  });

  it('states the limits as they are by default', () => {
    const { server, limits } = loadConfig({ env: {}, file: undefined });
    const [second, MiB] = [1_000, 1_048_576];
    for (const stated of [
      `${limits.rpcMessageBytesMax / MiB} MiB, after it is unpacked (\`limits.rpcMessageBytesMax\`)`,
      `speech ${limits.speechBodyBytesMax / MiB} MiB (\`limits.speechBodyBytesMax\`)`,
      `${server.requestMsMax / 60 / second} minutes (\`server.requestMsMax\`)`,
      `${server.streamsPerConnectionMax} (\`server.streamsPerConnectionMax\`)`,
      `${server.idleMs / second} seconds (\`server.idleMs\`)`,
      `${server.stallMsMax / second} seconds (\`server.stallMsMax\`)`,
      `pings every ${server.pingEveryMs / second} seconds (\`server.pingEveryMs\`)`,
      `within ${server.pingTimeoutMs / second}\n(\`server.pingTimeoutMs\`)`,
    ]) {
      expect(index).toContain(stated);
    }
  });

  it('shows a working look', async () => {
    const parley = await startParley();
    const env = { PARLEY_BASE_URL: new URL(parley.baseUrl).origin, PARLEY_API_KEY: parley.apiKey };
    const ended = await shell(readPage('../clients').command('look'), { env });
    await parley.close();
    expect(ended.code).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject({ object: 'list', data: expect.any(Array) });
  });
});

describe('a page of docs/clients', () => {
  it.each(readdirSync(new URL('clients', docs)))('shows the file name above each block of %s', (page) => {
    expect(readPage(page.replace('.md', '')).unseenFiles()).toEqual([]);
  });
});

describe('the packages', () => {
  const tests = Object.keys(packages.tests);
  const withSlow = [...tests, ...Object.keys(packages.slowTests)];

  it.each([
    ['python', tests],
    ['go', withSlow],
    ['java', withSlow],
  ])('of the page on %s are those that set-up installs', (page, installed) => {
    const [, ...told] = readPage(page)
      .command('install')
      .replace('apt-get ', '')
      .split(/[\s\\]+/);
    expect(told.length).toBeGreaterThan(3);
    expect(told.filter((name) => !installed.includes(name))).toEqual([]);
  });
});
