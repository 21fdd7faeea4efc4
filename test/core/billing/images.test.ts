/** The credits that a chat with images holds, and pays. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { completion } from '../../support/chat-answers.ts';
import { bearer, errorOf, startParley } from '../../support/parley.ts';
import { scratchPath } from '../../support/scratch-path.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { json } from '../../support/upstream-answers.ts';

const upstream = await startScriptedUpstream();
const folder = scratchPath('images');
const file = join(folder, 'parley.yaml');
const contextTokens = 100_000;
const usage = { prompt_tokens: 900, completion_tokens: 1, total_tokens: 901 };
const model = {
  type: 'chat',
  engine: 'upstream',
  price: { input: 1_000, output: 1_000 },
  contextTokens,
  outputTokensMax: 1,
};
writeFileSync(
  file,
  JSON.stringify({
    engines: { upstream: { kind: 'openai', baseUrl: upstream.baseUrl } },
    models: [
      { ...model, id: 'm' },
      { ...model, id: 'set', imageTokens: 256 },
      { ...model, id: 'large', imageTokens: 50_000 },
      { ...model, id: 'short', contextTokens: 3_000 },
    ],
  }),
);
const parley = await startParley({ file });
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

const urlOf = (bytes: readonly number[], type = 'png') =>
  `data:image/${type};base64,${Buffer.from([...bytes, ...new Array(40).fill(0)]).toString('base64')}`;
const two = (value: number) => [value >> 8, value & 255];
const little = (value: number) => two(value).reverse();
const latin = (text: string) => [...Buffer.from(text, 'latin1')];
const png = (width: number, height: number) =>
  urlOf([...latin('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0'), ...two(width), 0, 0, ...two(height)]);
const gif = (width: number, height: number) =>
  urlOf([...latin('GIF89a'), ...little(width), ...little(height)]);
/** With a thumbnail in its metadata, which has a size of its own, and a table before the frame. */
const jpeg = (width: number, height: number) => {
  const thumbnail = [0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, 0, 9, 0, 9];
  const metadata = [0xff, 0xe1, ...two(60_000), ...thumbnail, ...new Array(60_000 - 13).fill(1)];
  const table = [0xff, 0xc4, 0, 4, 0, 0, 0xff];
  return urlOf([0xff, 0xd8, ...metadata, ...table, 0xff, 0xc2, 0, 11, 8, ...two(height), ...two(width)]);
};
const webp = (chunk: string, ...size: number[]) => urlOf([...latin(`RIFF    WEBP${chunk}    `), ...size]);
const lossless = (width: number, height: number) => {
  const bits = (width - 1) | ((height - 1) << 14);
  return webp('VP8L', 0x2f, bits & 255, (bits >> 8) & 255, (bits >> 16) & 255, (bits >> 24) & 255);
};

type Json = Record<string, unknown>;
const image = (url: unknown, more: Json = {}) => ({ type: 'image_url', image_url: { url }, ...more });

/** The tokens that a prompt of these parts holds beyond the bytes of its texts. */
async function heldFor(parts: readonly Json[], id = 'm', more: Json = {}): Promise<number> {
  const body = { model: id, messages: [{ role: 'user', content: parts }], ...more };
  const key = await parley.newKey({ credits: '1000' });
  let held = 0;
  upstream.answer('/chat/completions', async (exchange) => {
    const account = await (await parley.call('/account', bearer(key))).json();
    held = (account as { held_nano_credits: number }).held_nano_credits;
    json(completion('Yes.', { usage }))(exchange);
  });
  const response = await parley.postJson('/chat/completions', body, bearer(key));
  expect(response.status, await response.clone().text()).toBe(200);
  const paid = await (await parley.call('/account', bearer(key))).json();
  expect(paid).toMatchObject({ held_nano_credits: 0, balance_nano_credits: 1_000e9 - 901e6 });
  const textBytes = JSON.stringify(body).length - dataBytes(parts);
  return held / 1e6 - 1 - textBytes;
}

function dataBytes(parts: readonly Json[]): number {
  const urls = parts.map((part) => (part['image_url'] as Json | undefined)?.['url']);
  return urls.reduce<number>(
    (sum, url) => sum + (String(url).startsWith('data:image') ? String(url).length : 0),
    0,
  );
}

it.each<[string, string, number]>([
  ['a PNG of one pixel', png(1, 1), 1_120],
  ['a PNG', png(512, 512), 1_120],
  ['a larger PNG', png(800, 600), 50 * 38 + 38 + 2],
  ['the largest for most models', png(1_024, 1_024), 4_160],
  ['a PNG for models with larger images', png(2_800, 2_800), 100 * 100 + 102],
  ['an image that every model scales down', png(20_000, 20_000), 16_384],
  ['a GIF, whose frames may be larger than its screen', gif(800, 600), 16_384],
  ['a PNG that begins with another chunk', png(1, 1).replace('SUhEUg', 'dEVYdA'), 16_384],
  ['a JPEG behind metadata', jpeg(800, 600), 1_940],
  ['a lossy WebP', webp('VP8 ', 0, 0, 0, 0x9d, 1, 0x2a, ...little(800), ...little(600)), 1_940],
  ['a lossless WebP', lossless(800, 600), 1_940],
  ['a WebP with a canvas', webp('VP8X', 0, 0, 0, 0, ...little(799), 0, ...little(599), 0), 1_940],
  ['an image behind a URL', 'https://example.com/a.png', 16_384],
  ['an image of 12 bytes', `data:image/png;base64,${Buffer.alloc(12).toString('base64')}`, 16_384],
  ['a PNG without a size', png(0, 600), 16_384],
])('holds the tokens of %s', async (_, url, tokens) => {
  expect(await heldFor([{ type: 'text', text: 'What is this?' }, image(url)])).toBe(tokens);
});

it('holds each image, and what the model sets for one of unknown size', async () => {
  const parts = [
    image('https://example.com/a.png'),
    image(png(800, 600), { cache_control: { type: 'ephemeral' } }),
  ];
  expect(await heldFor(parts)).toBe(16_384 + 1_940);
  expect(await heldFor(parts, 'set')).toBe(256 + 1_940);
  expect(await heldFor([image(png(8, 8))], 'large')).toBe(50_000);
});

it.each<[string, Json]>([
  ['a document in place of an image', image('data:application/pdf;base64,AAAA')],
  ['an image with more members', image(png(8, 8), { max_pixels: 1_000_000 })],
  [
    'an image whose address has more members',
    { type: 'image_url', image_url: { url: png(8, 8), frames: 9 } },
  ],
  ['an address that is no text', { type: 'image_url', image_url: 'https://example.com/a.png' }],
])('%s holds the whole context', async (_, part) => {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: [part] }] });
  expect((await heldFor([part])) + body.length - dataBytes([part])).toBe(contextTokens);
});

it.each(['mm_processor_kwargs', 'media_io_kwargs'])(
  'an image with %s holds the whole context',
  async (name) => {
    const [part, more] = [image(png(8, 8)), { [name]: { min_pixels: 9_000_000 } }];
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: [part] }], ...more });
    expect((await heldFor([part], 'm', more)) + body.length - dataBytes([part])).toBe(contextTokens);
  },
);

it('a text that cites something holds its bytes', async () => {
  expect(await heldFor([{ type: 'text', text: 'Blue.', citations: [{ cited_text: 'blue' }] }])).toBe(0);
});

it('holds no more than the context', async () => {
  const body = JSON.stringify({
    model: 'short',
    messages: [{ role: 'user', content: [image(png(1_024, 1_024))] }],
  });
  expect(
    (await heldFor([image(png(1_024, 1_024))], 'short')) +
      body.length -
      dataBytes([image(png(1_024, 1_024))]),
  ).toBe(3_000);
});

it('counts the texts, but not the data of images, if their bytes are not affordable', async () => {
  const text = 'The quick brown fox jumps over the lazy dog. '.repeat(200);
  const content = [{ type: 'text', text }, image(jpeg(800, 600))];
  const ask = async (credits: string) => {
    const body = { model: 'm', messages: [{ role: 'user', content }] };
    return parley.postJson('/chat/completions', body, bearer(await parley.newKey({ credits })));
  };
  upstream.answer('/chat/completions', json(completion('Yes.', { usage })));
  expect((await ask('5')).status).toBe(200);
  expect((await errorOf(await ask('2'))).code).toBe('insufficient_credits');
});
