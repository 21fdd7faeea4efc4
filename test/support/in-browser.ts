/** Tests in a real browser, with the pages of the console as this clone has them. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { launchBrowser, missingBrowser } from './console-browser.ts';

export interface InBrowser {
  readonly browser: Browser;
  readonly pages: ReadonlyMap<string, Buffer>;
  /** Runs after the tests, the last one first. */
  readonly atEnd: (close: () => unknown) => void;
}

/** Skips the tests, and begins nothing, where the browser is missing. */
export function inBrowser(
  name: string,
  begin: (opened: InBrowser) => Promise<void>,
  tests: () => void,
): void {
  const closing: (() => unknown)[] = [];
  describe.skipIf(missingBrowser !== undefined)(
    `${name}${missingBrowser ? ` (${missingBrowser})` : ''}`,
    () => {
      beforeAll(async () => {
        const browser = await launchBrowser();
        closing.push(() => browser.close());
        const pages = new Map(Object.entries(await consoleFiles()));
        await begin({ browser, pages, atEnd: (close) => closing.push(close) });
      });
      afterAll(async () => {
        for (const close of closing.reverse()) await close();
      });
      tests();
    },
  );
}
