/** The console in Debian's Chromium. */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Parley } from './parley.ts';

const executablePath = '/usr/bin/chromium';
/** Ends a test that hangs; a busy machine must not reach it. */
export const waitMsMax = 120_000;

/** Why the tests with a browser cannot run; undefined if they can. */
export const missingBrowser = existsSync(executablePath) ? undefined : 'Chromium is not installed';

export function launchBrowser(): Promise<Browser> {
  // Chromium's sandbox needs a user other than root. It opens pages of these tests only.
  const args = ['--no-sandbox', '--autoplay-policy=no-user-gesture-required', '--lang=en-US'];
  const microphone = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'];
  return chromium.launch({ executablePath, args: [...args, ...microphone] });
}

export interface Opened {
  readonly page: Page;
  /** Errors in the browser's console, violations of the policy, and requests to other servers. */
  readonly complaints: string[];
}

/** Opens a page of the console in a browser context of its own. */
export async function openConsole(
  browser: Browser,
  server: Parley,
  path = '/console',
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const { origin } = new URL(server.baseUrl);
  const context = await browser.newContext({ locale: 'en-US', timezoneId: 'UTC', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(waitMsMax);
  const complaints: string[] = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!/^(blob|data):/.test(request.url()) && new URL(request.url()).origin !== origin)
      complaints.push(request.url());
  });
  await page.goto(origin + path);
  await page.locator('h1').first().waitFor();
  return { page, complaints };
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key or admin key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.shell').waitFor();
}

/** Opens a page as the holder of a key. */
export async function openSignedIn(
  browser: Browser,
  server: Parley,
  key: string,
  path = '/console',
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const opened = await openConsole(browser, server, path, options);
  await signIn(opened.page, key);
  await settled(opened.page);
  return opened;
}

/** Waits until everything on the page has loaded. */
export async function settled(page: Page): Promise<void> {
  await page.locator('main h1').first().waitFor();
  await page.locator('main:not(:has(.loading))').waitFor({ state: 'attached' });
}
