/** Plays an agent from its page: installed by the page's command, then working before each kind of upstream. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { type Page, readPage } from '../../clients/page.ts';
import { mustRun, shell } from '../../clients/shell.ts';
import {
  type AgentUpstream,
  finalWords,
  type Manner,
  manners,
  openModel,
  playAgent,
  type ToolCall,
} from '../../support/agent-upstream.ts';
import { startBehind } from '../../support/behind-upstream.ts';
import { serve } from '../../support/command-line.ts';
import { playMessages } from '../../support/messages-upstream.ts';
import type { Parley } from '../../support/parley.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { type Installed, installMsMax, installOnce } from './cache.ts';

/** Credits for a million tokens. */
const price = { input: 2, cachedInput: 0.5, cacheWrite: 3, output: 8 };
/** The same in nano-credits for a token. */
const nanoCredits = { input: 2_000n, cached: 500n, written: 3_000n, output: 8_000n };
const creditsAtFirst = 10_000_000_000n;

/** Installs the program by the block `install` of the page; it must then tell its version. */
export function installAgent(name: string, program: string): Promise<Installed> {
  const command = readPage(`../${name}`).command('install');
  return installOnce(name, command, (folder) =>
    mustRun(`${command}\nbin/${program} --version`, {
      cwd: folder,
      // npm passes on the settings of the project's .npmrc when it runs the tests.
      env: { npm_config_prefix: folder, npm_config_ignore_scripts: 'false', npm_config_fetch_retries: '1' },
      timeoutMs: installMsMax,
    }),
  );
}

const isFolder = (installed: Installed): installed is { readonly folder: string } => 'folder' in installed;

/** The tests of an agent whose page has the blocks `settings`, `check`, `task` and, if it resumes, `continue`. */
export function describeAgent(agent: {
  /** The name of the page. */
  readonly name: string;
  readonly installed: Installed;
  /** Two commands that write `one` and `two` to steps.txt, and a third call. */
  readonly task: readonly ToolCall[];
  /** Whether its client sends back signatures of thinking and calls, without which some upstreams refuse. Default: true */
  readonly keepsSignatures?: boolean;
  /** Whether it resumes a conversation without a terminal, by the block `continue`. Default: true */
  readonly resumes?: boolean;
  /** A part of the answer to the block `check`. */
  readonly answer: Readonly<Record<string, string>>;
  /** More tests. */
  readonly more?: (program: string) => void;
}): void {
  const { name, installed, task, keepsSignatures = true, resumes = true, answer, more } = agent;
  const missing = isFolder(installed) ? undefined : installed.missing;
  const program = isFolder(installed) ? installed.folder : '';
  describe.skipIf(missing !== undefined)(`docs/${name}.md${missing ? ` (${missing})` : ''}`, () => {
    const endsTasks = async (manner: Manner | 'messages') => {
      const { run, work, played, checkBooks } = await startAgent(name, program, manner, task);
      const steps = () => readFileSync(join(work, 'steps.txt'), 'utf8');
      expect(await run('settings', 'task')).toContain(finalWords);
      expect(steps()).toBe('one\ntwo\n');
      if (resumes) {
        expect(await run('settings', 'continue')).toContain(finalWords);
        expect(steps()).toBe('one\ntwo\none\ntwo\n');
      }
      expect(played.refused).toEqual([]);
      await checkBooks();
    };
    const unsigned = manners.filter((manner) => manner.name !== 'Gemini');
    it.each(keepsSignatures ? manners : unsigned)(
      `ends a task of three calls before $name${resumes ? ', and another one when resumed' : ''}`,
      endsTasks,
    );

    if (keepsSignatures) {
      it('ends them before an upstream of the Messages API, with the prices of its cache', () =>
        endsTasks('messages'));
    }

    it('works as the page shows it, from the start of the server', async () => {
      const run = await startPage(name, program, task);
      // A program may say that it was set up.
      const checked = await run('key', 'settings', 'check');
      expect(JSON.parse(checked.slice(checked.indexOf('{')))).toMatchObject(answer);
      expect(await run('key', 'settings', 'task')).toContain(finalWords);
      if (resumes) expect(await run('key', 'settings', 'continue')).toContain(finalWords);
    });

    more?.(program);
  });
}

/** Runs blocks of a page where the agent works, and returns what they print. */
type Run = (...blocks: readonly string[]) => Promise<string>;

/** A home of its own, in which the agent works in a folder. It is removed when the test has ended. */
function newHome(name: string): { readonly home: string; readonly work: string } {
  const home = mkdtempSync(join(tmpdir(), `parley-${name}-`));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const work = join(home, 'work');
  mkdirSync(work);
  return { home, work };
}

function runner(page: Page, program: string, home: string, server: Pick<Parley, 'baseUrl' | 'apiKey'>): Run {
  const env = { HOME: home, KEY: server.apiKey, PATH: `${program}/bin:${process.env['PATH']}` };
  const { origin } = new URL(server.baseUrl);
  return async (...blocks) => {
    const shown = blocks.map((block) => page.command(block)).join('\n');
    const command = shown.replaceAll('http://127.0.0.1:8080', origin).replace('pk_…', server.apiKey);
    const { code, stdout, stderr } = await shell(`${command}\n:`, { cwd: join(home, 'work'), env });
    if (code !== 0) throw new Error(`${command}\nended with ${code}:\n${stdout}${stderr}`);
    return stdout;
  };
}

/** An agent before a server with the model of its page, at a price. */
export interface Agent {
  /** The folder in which it works. */
  readonly work: string;
  readonly run: Run;
  readonly played: AgentUpstream;
  /** Checks that every answer has one record and one debit, with the tokens that the upstream counted, to the nano-credit. */
  checkBooks(): Promise<void>;
}

/**
 * @param program the folder of the installed program
 * @param manner of the upstream, or `messages` for one of the Messages API
 */
export async function startAgent(
  name: string,
  program: string,
  manner: Manner | 'messages',
  task: readonly ToolCall[],
): Promise<Agent> {
  const page = readPage(`../${name}`);
  const { home, work } = newHome(name);
  const upstream = await startScriptedUpstream();
  onTestFinished(() => upstream.stop());
  const models = modelsOf(page, home).map((model) => ({ ...model, engine: 'upstream', price }));
  const engine = manner === 'messages' ? { kind: 'anthropic' } : manner.engine;
  const parley = await startBehind(upstream.baseUrl, { models, engine: { models: {}, ...engine } });
  onTestFinished(() => parley.close());
  const played = manner === 'messages' ? playMessages(upstream, task) : playAgent(upstream, manner, task);
  const checkBooks = async () => {
    const { store } = parley.app;
    const expected = expectedBooks(played);
    const { items } = await store.usage.list({ operation: 'chat' }, { size: 1000, after: undefined });
    const recorded = items.map(({ state, tokens, cost }) => [
      state,
      tokens?.promptTokens,
      tokens?.cachedTokens ?? 0,
      tokens?.cacheWriteTokens ?? 0,
      tokens?.completionTokens,
      cost,
    ]);
    expect(recorded.toSorted(([, one], [, other]) => Number(one) - Number(other))).toEqual(expected);
    const paid = expected.reduce((sum, [, , , , , cost]) => sum + cost, 0n);
    expect((await store.accounts.find('account-1'))?.balance).toBe(creditsAtFirst - paid);
  };
  return { work, run: runner(page, program, home, parley), played, checkBooks };
}

function expectedBooks({ counted }: AgentUpstream) {
  return counted.map(({ prompt, cached, written = 0, completion }) => {
    const cost =
      BigInt(prompt - cached - written) * nanoCredits.input +
      BigInt(written) * nanoCredits.written +
      BigInt(cached) * nanoCredits.cached +
      BigInt(completion) * nanoCredits.output;
    return ['ok', prompt, cached, written, completion, cost] as const;
  });
}

/** The models of the page's configuration, in the form of the file. */
function modelsOf(page: Page, home: string): readonly Record<string, unknown>[] {
  const file = join(home, 'parley.yaml');
  writeFileSync(file, page.file('parley.yaml'));
  return loadConfig({ env: {}, file }).models.flatMap((model) => {
    if (model.type !== 'chat') return [];
    const { id, type, contextTokens, outputTokensMax } = model;
    return [{ id, type, contextTokens, outputTokensMax }];
  });
}

/** The page from its beginning, with the server as it starts it and an upstream in place of the one it names. */
async function startPage(name: string, program: string, task: readonly ToolCall[]): Promise<Run> {
  const page = readPage(`../${name}`);
  const { home } = newHome(name);
  const upstream = await startScriptedUpstream();
  onTestFinished(() => upstream.stop());
  playAgent(upstream, openModel, task);
  const shown = page.file('parley.yaml');
  const config = shown.replace('http://127.0.0.1:11434/v1', upstream.baseUrl);
  expect(config).not.toBe(shown);
  writeFileSync(join(home, 'parley.yaml'), config);
  const [, ...args] = page.command('serve').split(' ');
  expect(args.shift()).toBe('serve');
  const server = await serve(args, { cwd: home });
  onTestFinished(() => server.end());
  const { apiKey } = JSON.parse(readFileSync(join(home, 'data/first-run.json'), 'utf8'));
  return runner(page, program, home, { baseUrl: server.baseUrl, apiKey });
}
