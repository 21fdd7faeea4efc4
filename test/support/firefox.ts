#!/usr/bin/env node
/**
 * Debian's Firefox, as a program that Playwright starts and speaks WebDriver BiDi with.
 *
 * This program passes their messages on, except two differences between Playwright 1.65 and Firefox 153. Firefox has no
 * `emulation.setMediaFeaturesOverride`, so this program sets a preference of the whole browser. And Firefox gives a file that a page
 * saves no navigation, without which Playwright ignores it, so this program adds one.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: {
    readonly features?: { readonly 'prefers-color-scheme'?: 'dark' | 'light' | null };
    readonly url?: string;
  };
  readonly result?: { readonly contexts: readonly { readonly context: string }[] };
}

const announcement = /WebDriver BiDi listening on (ws:\/\/\S+)/;
/** Scripts with the rights of the browser may set preferences. */
const args = ['--remote-allow-system-access', ...process.argv.slice(2)];
const firefox = spawn('/usr/bin/firefox-esr', args, { stdio: ['ignore', 'inherit', 'pipe'] });
firefox.once('exit', (code) => process.exit(code ?? 1));
process.once('SIGTERM', () => firefox.kill());
let said = '';
firefox.stderr.on('data', async (chunk) => {
  process.stderr.write(String(chunk).replace(announcement, ''));
  if (announcement.test(said)) return;
  said += chunk;
  const [, address] = announcement.exec(said) ?? [];
  if (address === undefined) return;
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  server.on('connection', (playwright, { url = '' }) => relay(playwright, new WebSocket(address + url)));
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  process.stderr.write(`WebDriver BiDi listening on ws://127.0.0.1:${port}\n`);
});

function relay(playwright: WebSocket, browser: WebSocket): void {
  const isOpen = once(browser, 'open');
  const ask = asking(browser);
  playwright.on('message', async (data) => {
    await isOpen;
    const { id, method, params }: Message = JSON.parse(String(data));
    if (method !== 'emulation.setMediaFeaturesOverride') return browser.send(String(data));
    await prefer(ask, params?.features?.['prefers-color-scheme'] ?? 'light');
    playwright.send(JSON.stringify({ type: 'success', id, result: {} }));
  });
  browser.on('message', (data) => playwright.send(withNavigation(String(data))));
  // Also when the test process has been killed.
  playwright.once('close', () => firefox.kill());
  browser.once('close', () => playwright.close());
}

function withNavigation(text: string): string {
  if (!text.includes('"browsingContext.download')) return text;
  const message: Message = JSON.parse(text);
  return JSON.stringify({ ...message, params: { ...message.params, navigation: message.params?.url } });
}

type Ask = (method: string, params: object) => Promise<Message>;

/** Sends commands of this program. Playwright counts its ids upwards from 1, and ignores answers to others. */
function asking(browser: WebSocket): Ask {
  let id = 2 ** 52;
  return (method, params) => {
    const own = id++;
    browser.send(JSON.stringify({ id: own, method, params }));
    return new Promise((resolve) => {
      const listen = (data: unknown) => {
        const message: Message = JSON.parse(String(data));
        if (message.id !== own) return;
        browser.off('message', listen);
        resolve(message);
      };
      browser.on('message', listen);
    });
  };
}

async function prefer(ask: Ask, scheme: 'dark' | 'light'): Promise<void> {
  const { result } = await ask('browsingContext.getTree', { 'moz:scope': 'chrome' });
  const value = scheme === 'dark' ? 0 : 1;
  await ask('script.evaluate', {
    expression: `Services.prefs.setIntPref('layout.css.prefers-color-scheme.content-override', ${value})`,
    target: { context: result?.contexts[0]?.context },
    awaitPromise: false,
  });
}
