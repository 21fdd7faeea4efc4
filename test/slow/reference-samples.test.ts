/** The samples beside each operation of the reference are run as they are shown. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { shell } from '../clients/shell.ts';
import { launchBrowser, missingBrowser, openConsole, withClipboard } from '../support/console-browser.ts';
import { type Parley, startParley } from '../support/parley.ts';

let browser: Browser;
let parley: Parley;

beforeAll(async () => {
  if (missingBrowser !== undefined) return;
  browser = await launchBrowser();
  parley = await startParley({ pages: new Map(Object.entries(await consoleFiles())) });
});
afterAll(async () => {
  if (missingBrowser !== undefined) return;
  await browser.close();
  await parley.close();
});

/** Commands that run a sample. */
const interpreters = {
  curl: 'eval "$CODE"',
  TypeScript: `echo "$CODE" | '${process.execPath}' --input-type=module-typescript -`,
  Python: 'echo "$CODE" | python3 -',
  gRPC: 'eval "$CODE"',
} as const;

async function managerKey(): Promise<string> {
  const scopes = ['speech', 'chat', 'manage'];
  const response = await parley.admin('/accounts/account-1/keys', { name: 'manager', scopes });
  const { secret } = (await response.json()) as { secret: string };
  return secret;
}

async function chooseLanguage(page: Page, name: string): Promise<string> {
  await page.locator('.languages').getByText(name, { exact: true }).click();
  return (await page.locator('.samples .code').first().locator('pre').textContent()) ?? '';
}

describe.skipIf(missingBrowser !== undefined)(`the samples of the reference ${missingBrowser ?? ''}`, () => {
  it.each([
    { operation: 'getAccount', key: 'apiKey', shows: '"account-1"' },
    { operation: 'createResponse', key: 'apiKey', shows: 'output' },
    { operation: 'createKey', key: 'manager', shows: 'pk_' },
    { operation: 'adminListAccounts', key: 'adminKey', shows: '"account-1"' },
    { operation: 'getHealth', key: undefined, shows: 'ok' },
  ] as const)('shows the request of $operation as code that works', async ({ operation, key, shows }) => {
    const { page, complaints } = await openConsole(browser, parley, `/docs/api/${operation}`);
    await page.locator('.samples').waitFor();
    const secrets = { ...parley, manager: await managerKey() };
    const secret = key === undefined ? '' : secrets[key];
    for (const [name, command] of Object.entries(interpreters)) {
      if (key === undefined && name === 'gRPC') continue;
      const code = await chooseLanguage(page, name);
      expect(code).not.toContain(secret || 'pk_');
      const { stdout, stderr } = await shell(command, { env: { PARLEY_API_KEY: secret, CODE: code } });
      expect(stdout.replaceAll("'", '"'), `${name}: ${stderr}`).toContain(shows);
    }
    expect(complaints).toEqual([]);
  });

  it('masks the key of the reader, and copies it whole', async () => {
    const { page } = await openConsole(browser, parley, '/docs/api/getAccount', withClipboard);
    await page.getByText('Try it').click();
    await page.getByLabel('API key').fill(parley.apiKey);
    const line = page.locator('.samples .code').last();
    expect(await line.locator('pre').textContent()).toBe(
      `export PARLEY_API_KEY=pk_…${parley.apiKey.slice(-4)}`,
    );
    await line.getByRole('button', { name: 'Copy' }).click();
    await line.getByRole('button', { name: 'Copied' }).waitFor();
    await expect
      .poll(() => page.evaluate<string>('navigator.clipboard.readText()'))
      .toBe(`export PARLEY_API_KEY=${parley.apiKey}`);
  });
});
