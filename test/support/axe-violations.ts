/** The accessibility faults that axe finds on a page of the console. */
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** @param page opened with `bypassCSP`, as the policy of the console allows no foreign script */
export async function violations(page: Page): Promise<string[]> {
  await page.addScriptTag({ path: axeFile });
  const { violations: found } = await page.evaluate<AxeResults>("axe.run({ resultTypes: ['violations'] })");
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120))}`);
}
