/** The accessibility faults that axe finds on a page of the console. */
import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

export async function violations(page: Page): Promise<string[]> {
  // The policy of the console allows no foreign script on the page; a browser evaluates this one beside it.
  await page.evaluate(axe.source);
  const { violations: found } = await page.evaluate<AxeResults>("axe.run({ resultTypes: ['violations'] })");
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120))}`);
}
