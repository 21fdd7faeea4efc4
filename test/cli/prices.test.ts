import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { parley, printed, printedJson, scratchFolder } from '../support/command-line.ts';

const folder = scratchFolder();
afterAll(() => folder.remove());
const options = { cwd: folder.path };

writeFileSync(
  folder.file('parley.yaml'),
  `engines:
  hosted: {kind: openai, baseUrl: "https://api.example.com/v1", models: {mini: vendor/gpt-mini}}
models:
  - {id: mini, type: chat, engine: hosted, price: {input: 0.15, output: 0.6}}
  - {id: gpt-large, type: chat, engine: hosted, price: {input: 2.5, output: 10, cachedInput: 1.25}}
  - {id: own, type: chat, engine: hosted, price: {input: 0, output: 0}}
`,
);
const list = {
  sample_spec: { input_cost_per_token: 'a number' },
  'gpt-mini': {
    mode: 'chat',
    input_cost_per_token: 1.5e-7,
    output_cost_per_token: 6e-7,
    cache_read_input_token_cost: 7.5e-8,
  },
  'gpt-large': {
    input_cost_per_token: 0.0000025,
    output_cost_per_token: 12e-6,
    cache_read_input_token_cost: 1.25e-6,
  },
};
writeFileSync(folder.file('prices.json'), JSON.stringify(list));

describe('parley prices diff', () => {
  it('shows what differs from a list, and the models that it does not have', async () => {
    const { code, stdout, stderr } = await parley(['prices', 'diff', 'prices.json'], options);
    expect([code, stderr]).toEqual([0, 'Not in the list: own.\n']);
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['MODEL', 'IN THE LIST', 'PRICE', 'CONFIGURED', 'LISTED'],
      ['mini', 'gpt-mini', 'cachedInput', 'as input', '0.075'],
      ['gpt-large', 'gpt-large', 'output', '10', '12'],
      [''],
    ]);
  });

  it('converts the currency of the list, exactly', async () => {
    const args = ['prices', 'diff', 'prices.json', '--credits-per-unit', '1.2'];
    const { differences, unlisted } = await printedJson<{ differences: unknown[]; unlisted: string[] }>(
      args,
      options,
    );
    expect(unlisted).toEqual(['own']);
    expect(differences[0]).toEqual({
      model: 'mini',
      listed_as: 'gpt-mini',
      price: 'input',
      configured: '0.15',
      listed: '0.18',
    });
  });

  it('reads a list from a server', async () => {
    const server = createServer((request, response) => {
      if (request.url === '/none') response.writeHead(404).end();
      else response.end(JSON.stringify({ own: { input_cost_per_token: 0, output_cost_per_token: 0 } }));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const { stdout, stderr } = await parley(['prices', 'diff', `${url}/prices.json`], options);
      expect([stdout, stderr]).toEqual([
        '',
        'The prices of all listed models are those of the list.\nNot in the list: mini, gpt-large.\n',
      ]);
      const refused = await parley(['prices', 'diff', `${url}/none`], options);
      expect([refused.code, refused.stderr]).toEqual([
        1,
        `The price list ${url}/none cannot be read: the server answered 404.\n`,
      ]);
    } finally {
      server.close();
    }
  });

  it.each([
    ['missing.json', undefined, 'cannot be read: there is no such file or folder.'],
    ['broken.json', '{', 'is not JSON of that form: '],
    ['array.json', '[]', 'is not JSON of that form: it is not an object.'],
    ['negative.json', '{"own": {"input_cost_per_token": -1}}', '"-1" is not a price.'],
    [
      'huge.json',
      '{"own": {"input_cost_per_token": 1e30}}',
      'The list has 1e30 for a token, which no price can be.',
    ],
    ['endless.json', '{"own": {"input_cost_per_token": 1e999}}', '"1e999" is not a price.'],
  ])('says what is wrong with %s', async (name, text, message) => {
    if (text !== undefined) writeFileSync(folder.file(name), text);
    const { code, stdout, stderr } = await parley(['prices', 'diff', name], options);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(message);
  });

  it('refuses a rate that is not a number', async () => {
    const { code, stderr } = await parley(
      ['prices', 'diff', 'prices.json', '--credits-per-unit', 'x'],
      options,
    );
    expect([code, stderr]).toEqual([2, expect.stringContaining('Write a number such as 1.2.')]);
  });

  it('shows the prices of the cache with the settings', async () => {
    expect(await printed(['config', 'show'], options)).toMatch(/models\[1\]\.price\.cachedInput +1\.25 /);
  });
});
