/** The chat of the playground, in front of an upstream that the test controls. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { servedModel, startBehind } from './behind-upstream.ts';
import { chunk, chunks } from './chat-answers.ts';
import { launchBrowser, openSignedIn } from './console-browser.ts';
import type { Parley } from './parley.ts';
import { type Answer, type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';
import { eventStream, events } from './upstream-answers.ts';

const path = '/chat/completions';

export class ChatPages {
  readonly #browser: Browser;
  readonly upstream: ScriptedUpstream;
  readonly parley: Parley;

  private constructor(browser: Browser, upstream: ScriptedUpstream, parley: Parley) {
    this.#browser = browser;
    this.upstream = upstream;
    this.parley = parley;
  }

  /** With three models. */
  static async start(): Promise<ChatPages> {
    const upstream = await startScriptedUpstream();
    const parley = await startBehind(upstream.baseUrl, {
      pages: new Map(Object.entries(await consoleFiles())),
      models: ['first', 'second', 'third'].map((id) => ({ ...servedModel, id })),
      engine: { models: { first: 'one', second: 'two', third: 'three' } },
    });
    return new ChatPages(await launchBrowser(), upstream, parley);
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.parley.close();
    await this.upstream.stop();
  }

  open(options: BrowserContextOptions = {}, key = this.parley.apiKey) {
    return openSignedIn(this.#browser, this.parley, key, '/console/playground', options);
  }

  answers(answer: Answer): void {
    this.upstream.answer(path, answer);
  }

  /** Further answers consist of these pieces. */
  says(...words: readonly string[]): void {
    this.answers(events(chunks(...words)));
  }

  /** Further answers are written by the returned function. */
  grows(): (text: string) => Promise<void> {
    const begun = Promise.withResolvers<(text: string) => Promise<void>>();
    this.answers(async (exchange) => {
      exchange.head(200, eventStream);
      begun.resolve((text) => exchange.write(`data: ${JSON.stringify(chunk({ content: text }))}\n\n`));
      await exchange.forever();
    });
    return async (text) => (await begun.promise)(text);
  }
}

export async function send(page: Page, text: string): Promise<void> {
  // The page shows the end of an answer a moment before the next question may be sent.
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.keyboard.press('Enter');
}

export const answerOf = (page: Page, model: string) =>
  page.getByRole('region', { name: `Answer of ${model}` }).last();
