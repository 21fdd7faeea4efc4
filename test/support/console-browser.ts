/** The console in Debian's Chromium, or in its Firefox with PARLEY_TEST_BROWSER=firefox in the environment. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, firefox, type Page } from 'playwright-core';
import type { Parley } from './parley.ts';

export const isFirefox = process.env['PARLEY_TEST_BROWSER'] === 'firefox';
const [name, program] = isFirefox ? ['Firefox', '/usr/bin/firefox-esr'] : ['Chromium', '/usr/bin/chromium'];
/** Ends a test that hangs; too long to end a test on a busy machine. */
export const waitMsMax = 120_000;

/** Why the tests with a browser cannot run; undefined if they can. */
export const missingBrowser = existsSync(program) ? undefined : `${name} is not installed`;

/** Why the tests that speak into the microphone of a browser cannot run; undefined if they can. */
export const missingMicrophone =
  missingBrowser ?? (isFirefox ? 'the fake microphone of Firefox plays no recording' : undefined);

/** The microphone of a browser. */
const microphones = {
  /** Beeps. */
  fake: ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'],
  refused: ['--use-fake-device-for-media-stream', '--deny-permission-prompts'],
  none: ['--use-fake-ui-for-media-stream'],
} as const;

interface BrowserSettings {
  readonly microphone?: keyof typeof microphones;
  /** A WAV file that the fake microphone plays once, then silence. */
  readonly recording?: string;
  /** Whether it is played again and again. */
  readonly isRepeated?: boolean;
}

/** A name of this machine that browsers do not know as such, so that they trust its pages only over TLS. */
export const untrustedHost = 'parley.test';

export function launchBrowser(settings: BrowserSettings = {}): Promise<Browser> {
  return isFirefox ? launchFirefox(settings) : launchChromium(settings);
}

function launchChromium({
  microphone = 'fake',
  recording,
  isRepeated = false,
}: BrowserSettings): Promise<Browser> {
  const args = [
    // Chromium's sandbox needs a user other than root. It opens pages of these tests only.
    '--no-sandbox',
    '--autoplay-policy=no-user-gesture-required',
    '--lang=en-US',
    `--host-resolver-rules=MAP ${untrustedHost} 127.0.0.1`,
    ...microphones[microphone],
    ...(recording === undefined
      ? []
      : [`--use-file-for-fake-audio-capture=${recording}${isRepeated ? '' : '%noloop'}`]),
  ];
  return chromium.launch({ executablePath: program, args });
}

function launchFirefox({ microphone = 'fake' }: BrowserSettings): Promise<Browser> {
  return firefox.launch({
    channel: 'moz-firefox',
    executablePath: fileURLToPath(new URL('firefox.ts', import.meta.url)),
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` },
    firefoxUserPrefs: {
      'media.autoplay.default': 0,
      'media.autoplay.blocking_policy': 0,
      'network.dns.localDomains': untrustedHost,
      'media.navigator.streams.fake': microphone !== 'none',
      'media.navigator.permission.disabled': microphone !== 'refused',
      'permissions.default.microphone': microphone === 'refused' ? 2 : 1,
      'dom.events.testing.asyncClipboard': true,
    },
  });
}

/** Options of a context that may read and write the clipboard. Firefox lets every page by a preference. */
export const withClipboard: BrowserContextOptions = isFirefox
  ? {}
  : { permissions: ['clipboard-read', 'clipboard-write'] };

export interface Opened {
  readonly page: Page;
  /** Errors in the browser's console, violations of the policy, and requests to other servers. */
  readonly complaints: string[];
}

/** Runs in the page: Firefox's own messages about its policy do not reach Playwright. */
const reportBlocked = `
  document.addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) =>
    console.error('Content Security Policy: ' + effectiveDirective + ' blocks ' + blockedURI));
`;

/** Opens a page of the console in a new browser context. */
export async function openConsole(
  browser: Browser,
  server: Pick<Parley, 'baseUrl'>,
  path = '/console',
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const { origin } = new URL(server.baseUrl);
  const context = await browser.newContext({ locale: 'en-US', timezoneId: 'UTC', ...options });
  await context.addInitScript(reportBlocked);
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
  server: Pick<Parley, 'baseUrl'>,
  key: string,
  path = '/console',
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const opened = await openConsole(browser, server, path, options);
  await signIn(opened.page, key);
  await settled(opened.page);
  return opened;
}

/** Moves the focus to the search of a page under `/docs`, once its script has drawn it. */
export async function pressSlash(page: Page): Promise<void> {
  await page.getByRole('searchbox').waitFor();
  await page.keyboard.press('/');
}

/** Waits until everything on the page has loaded. */
export async function settled(page: Page): Promise<void> {
  await page.locator('main h1').first().waitFor();
  await page.locator('main:not(:has(.loading))').waitFor({ state: 'attached' });
}
