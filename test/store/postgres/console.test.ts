/** The console of a server that shares its database, in a real browser. */
import { expect, it, onTestFinished } from 'vitest';
import { consoleFiles } from '../../../scripts/console/files.mjs';
import { launchBrowser, missingBrowser, openSignedIn } from '../../support/console-browser.ts';
import { startParley } from '../../support/parley.ts';

const why = missingBrowser === undefined ? '' : ` (${missingBrowser})`;

it.skipIf(missingBrowser !== undefined)(
  `shows the servers, and the faults of the database${why}`,
  async () => {
    const browser = await launchBrowser();
    onTestFinished(() => browser.close());
    const parley = await startParley({ pages: new Map(Object.entries(await consoleFiles())) });
    onTestFinished(() => parley.close());
    const chat = { model: 'eliza', messages: [{ role: 'user', content: 'I am here.' }] };
    await (await parley.postJson('/chat/completions', chat)).text();
    const { page, complaints } = await openSignedIn(browser, parley, parley.adminKey, '/console/server');
    const servers = page.getByRole('region', { name: 'Servers of this database' });
    const own = servers.getByRole('row').filter({ hasText: `:${process.pid}` });
    await own.getByText('this one').waitFor();
    await own.getByText('alive').waitFor();
    await page.getByRole('button', { name: 'Check the server' }).click();
    for (const subject of ['durability', 'connections', 'servers'])
      await page.locator('.findings').getByText(`database, ${subject}:`).waitFor();
    expect(complaints).toEqual([]);
  },
);
