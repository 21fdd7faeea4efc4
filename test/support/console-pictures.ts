/**
 * Writes the pictures of the console for the docs: each page in both themes and on a phone, of a server with a month of use.
 *
 *   node test/support/console-pictures.ts [FOLDER]      docs/console by default
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { play, playingEngines, recording, type Step } from '../conformance/play.ts';
import { launchBrowser, openConsole, openSignedIn, settled } from './console-browser.ts';
import { bearer, type Parley, startParley } from './parley.ts';

const dayMs = 86_400_000;
const folder = resolve(process.argv[2] ?? 'docs/console');

/** A window, and the end of the names of its pictures. */
interface View {
  readonly end: string;
  readonly colorScheme: 'light' | 'dark';
  readonly viewport: { readonly width: number; readonly height: number };
}

const wide = { width: 1280, height: 800 };
const views: readonly View[] = [
  { end: 'light', colorScheme: 'light', viewport: wide },
  { end: 'dark', colorScheme: 'dark', viewport: wide },
  { end: 'phone', colorScheme: 'light', viewport: { width: 390, height: 780 } },
];

const chatModel = (id: string, input: number, output: number) =>
  ({ id, type: 'chat', engine: 'builtin', price: { input, output }, contextTokens: 8_000 }) as const;
const models = [
  chatModel('gemma-3-27b', 120, 400),
  chatModel('qwen3-32b', 90, 300),
  { id: 'kokoro', type: 'speech', engine: 'builtin' } as const,
  { id: 'whisper-large-v3', type: 'transcription', engine: 'builtin' } as const,
];

/** A clock one month behind the real time, which catches up. */
const clock = { behindMs: 30 * dayMs, now: () => Date.now() - clock.behindMs };

/** The same numbers on every run. */
function* chances(): Generator<number> {
  for (let state = 7; ; state = (state * 48_271) % 2_147_483_647) yield (state % 1_000) / 1_000;
}

async function useFor(parley: Parley, days: number): Promise<void> {
  const chance = chances();
  const next = () => Number(chance.next().value);
  const chat = (model: string, ...steps: Step[]) =>
    parley.postJson('/chat/completions', { model, messages: [{ role: 'user', content: play(...steps) }] });
  for (let day = days; day >= 0; day--) {
    clock.behindMs = day * dayMs;
    const isWeekend = [0, 6].includes(new Date(clock.now()).getUTCDay());
    const count = Math.round((isWeekend ? 6 : 14) + next() * 14 + (days - day) / 3);
    for (let request = 0; request < count; request++) {
      const at = next();
      if (at < 0.45) await (await chat('gemma-3-27b', 'say Good', 'say  morning.')).text();
      else if (at < 0.7) await (await chat('qwen3-32b', 'say Good', 'say  evening.')).text();
      else if (at < 0.9)
        await (
          await parley.postJson('/audio/speech', {
            model: 'kokoro',
            voice: 'one',
            input: play('say Good morning.'),
          })
        ).arrayBuffer();
      else if (at < 0.93) await (await chat('gemma-3-27b', 'fail upstream_error 500')).text();
      else {
        const form = new FormData();
        form.append('file', new Blob([new Uint8Array(recording('say hello', 'hear 20000'))]), 'a.wav');
        await (await parley.call('/audio/transcriptions', { method: 'POST', body: form })).text();
      }
    }
  }
}

async function picture(page: Page, name: string, { end }: View): Promise<void> {
  // A canvas and a font are drawn a moment after the page reports that it is complete.
  await page.waitForTimeout(500);
  const raw = join(folder, 'raw.png');
  await page.screenshot({ path: raw });
  const palette =
    'split[a][b];[a]palettegen=max_colors=64:reserve_transparent=0[p];[b][p]paletteuse=dither=none';
  const { status, stderr } = spawnSync('ffmpeg', [
    '-v',
    'error',
    '-y',
    '-i',
    raw,
    '-vf',
    palette,
    '-compression_level',
    '9',
    join(folder, `${name}-${end}.png`),
  ]);
  if (status !== 0) throw new Error(String(stderr));
  rmSync(raw);
}

/** @param desk a key with the scope `manage` */
async function takeAll(browser: Browser, parley: Parley, desk: string, view: View): Promise<void> {
  const { origin } = new URL(parley.baseUrl);
  const visit = async (page: Page, path: string) => {
    await page.goto(`${origin}/console${path}`);
    await settled(page);
  };
  await picture((await openConsole(browser, parley, '/console', view)).page, 'sign-in', view);
  const { page } = await openSignedIn(browser, parley, desk, '/console', view);
  for (const [name, path] of [
    ['home', ''],
    ['usage', '/usage?by=model'],
    ['keys', '/keys'],
    ['credits', '/credits'],
    ['alerts', '/alerts'],
    ['models', '/models'],
  ] as const) {
    await visit(page, path);
    await picture(page, name, view);
  }
  const operator = (await openSignedIn(browser, parley, parley.adminKey, '/console', view)).page;
  for (const [name, path] of [
    ['overview', '?period=30d'],
    ['accounts', '/accounts'],
    ['account', '/accounts/account-1'],
    ['all-usage', '/usage?measure=credits&by=account'],
    ['all-models', '/models'],
    ['server', '/server'],
    ['admin-keys', '/keys'],
    ['audit', '/audit'],
  ] as const) {
    await visit(operator, path);
    await picture(operator, name, view);
  }
}

/** Runs the engines inside, which really speak and transcribe. */
async function takePlayground(browser: Browser, parley: Parley, view: View): Promise<void> {
  const { origin } = new URL(parley.baseUrl);
  const { page } = await openSignedIn(browser, parley, parley.apiKey, '/console/playground', view);
  await page.getByLabel('eliza-again').check();
  await page.getByLabel('Message', { exact: true }).fill('I miss the sea.');
  await page.keyboard.press('Enter');
  await page.getByText('in total').nth(1).waitFor();
  await picture(page, 'chat', view);
  await page.goto(`${origin}/console/playground/speech`);
  await page.getByRole('button', { name: 'Speak' }).click();
  await page.locator('canvas[data-drawn=true]').waitFor();
  await picture(page, 'speech', view);
  await page.goto(`${origin}/console/playground/transcription`);
  const said = { model: 'flite', voice: 'slt', input: 'Please turn on the light.', response_format: 'wav' };
  const spoken = await parley.postJson('/audio/speech', said);
  const buffer = Buffer.from(await spoken.arrayBuffer());
  await page.getByLabel('Choose a file').setInputFiles({ name: 'light.wav', mimeType: 'audio/wav', buffer });
  await page.locator('.words').waitFor();
  await picture(page, 'transcription', view);
}

mkdirSync(folder, { recursive: true });
const pages = new Map(Object.entries(await consoleFiles()));
process.chdir(mkdtempSync(join(tmpdir(), 'parley-pictures-')));
const file = 'parley.yaml';
writeFileSync(file, JSON.stringify({ models }));
const parley = await startParley({ pages, clock, engines: playingEngines(), file });
await parley.admin('/accounts/account-1/plan', { ends_at: new Date(Date.now() + 40 * dayMs).toISOString() });
for (const name of ['Blue Harbour', 'Cartography Lab', 'Night Radio'])
  await parley.admin('/accounts', { name });
await parley.admin('/accounts/Night Radio/credits', {
  amount: '25',
  reason: 'Invoice 1042',
  idempotency_key: 'invoice-1042',
});
const keyOf = async (name: string, scopes: readonly string[], limits: object) => {
  const made = await parley.admin('/accounts/account-1/keys', { name, scopes, limits });
  return ((await made.json()) as { secret: string }).secret;
};
const desk = await keyOf('Desk', ['chat', 'speech', 'transcription', 'manage'], {});
const website = await keyOf('Website', ['chat'], { models: ['qwen3-*'], budgets: { month: '0.5' } });
await useFor(parley, 30);
await parley.admin('/accounts/account-1/limits', {
  limits: { budgets: { month: '5' }, requests_per_minute: 600 },
});
for (let count = 0; count < 60; count++) {
  const messages = [{ role: 'user', content: play('say Good', 'say  night.') }];
  const asked = { model: 'qwen3-32b', messages };
  await (await parley.postJson('/chat/completions', asked, bearer(website))).text();
}
const browser = await launchBrowser();
const inside = [
  { ...chatModel('eliza', 0.1, 0.4) },
  { ...chatModel('eliza-again', 0.2, 0.8) },
  { id: 'flite', type: 'speech', engine: 'builtin' } as const,
  { id: 'pocketsphinx', type: 'transcription', engine: 'builtin' } as const,
];
const other = await startParley({ pages, settings: { models: inside } });
for (const view of views) {
  await takeAll(browser, parley, desk, view);
  await takePlayground(browser, other, view);
}
await browser.close();
await Promise.all([parley.close(), other.close()]);
rmSync(process.cwd(), { recursive: true });
