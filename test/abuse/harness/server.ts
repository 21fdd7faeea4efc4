/** The real program as a child process, with a scripted upstream and the keys of two customers. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import type { Answer, Question } from './questions.ts';

const fromHere = (path: string) => new URL(path, import.meta.url).pathname;
/** The host of the console's address, which requests to it must name. */
export const consoleHost = 'parley.example.com';
const startMsMax = 60_000;
export const upstreamKey = 'sk-the-key-of-the-upstream-0123456789';
const free = { input: 0, output: 0 };

export class AbusedServer {
  readonly folder: string;
  readonly dataDir: string;
  readonly upstream: ScriptedUpstream;
  readonly #limits: object;
  #child: ChildProcess | undefined;
  #stderr = '';
  #exit: string | undefined;
  origin = '';
  /** The key of the attacker. */
  apiKey = '';
  adminKey = '';
  /** The key of the second client, of another account. */
  otherKey = '';

  private constructor(upstream: ScriptedUpstream, limits: object) {
    this.#limits = limits;
    this.folder = mkdtempSync(join(tmpdir(), 'parley-abuse-'));
    this.dataDir = join(this.folder, 'data');
    this.upstream = upstream;
  }

  /** @param limits other than the defaults */
  static async start(limits: object = {}): Promise<AbusedServer> {
    const server = new AbusedServer(await startScriptedUpstream(), limits);
    writeFileSync(join(server.folder, 'key'), upstreamKey);
    writeFileSync(join(server.folder, 'parley.yaml'), JSON.stringify(server.#settings()));
    try {
      await server.launch();
      await server.#openAccounts();
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  get pid(): number {
    return this.#child?.pid ?? Number.NaN;
  }

  get baseUrl(): string {
    return `${this.origin}/api/v1`;
  }

  /** Everything that it has logged. */
  get log(): string {
    return this.#stderr;
  }

  /** The reason why the process ended; undefined while it runs. */
  get exit(): string | undefined {
    return this.#exit;
  }

  /** Starts the program on the folder; may be called again. */
  async launch(): Promise<void> {
    const from = this.#stderr.length;
    this.#exit = undefined;
    this.#child = this.program();
    this.#child.stderr?.on('data', (bytes) => {
      this.#stderr += bytes;
    });
    this.#child.once('exit', (code, signal) => {
      this.#exit = `exit ${code ?? signal}`;
    });
    const deadline = Date.now() + startMsMax;
    while (!this.#stderr.includes('listening on ', from)) {
      if (this.#exit !== undefined || Date.now() > deadline) {
        throw new Error(
          `The server did not start (${this.#exit ?? 'in time'}): ${this.#stderr.slice(-2000)}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    this.origin = new URL(readServerFile(this.dataDir).baseUrl).origin;
  }

  /** Starts the program on the folder. */
  program(): ChildProcess {
    const args = ['serve', '--demo', '--config', join(this.folder, 'parley.yaml')];
    const inside = ['--expose-gc', '--import', fromHere('./inside.ts'), fromHere('../../../src/main.ts')];
    const { PATH = '', HOME = '' } = process.env;
    return spawn(process.execPath, [...inside, ...args], {
      cwd: this.folder,
      // As ./parley and the executable start the program.
      env: { PATH, HOME, MALLOC_TRIM_THRESHOLD_: '131072' },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
  }

  async ask(question: Question): Promise<Answer> {
    const child = this.#child;
    if (child === undefined || this.#exit !== undefined) throw new Error(`The process ended: ${this.#exit}`);
    const ended = new AbortController();
    const { signal } = ended;
    const gone = once(child, 'exit', { signal }).then(() => {
      throw new Error(`The process ended: ${this.#exit}; ${this.#stderr.slice(-500)}`);
    });
    gone.catch(() => undefined);
    const answered = once(child, 'message', { signal });
    answered.catch(() => undefined);
    child.send(question);
    try {
      const [answer] = await Promise.race([answered, gone]);
      return answer as Answer;
    } finally {
      ended.abort();
    }
  }

  /** Calls administration: GET without a body, else POST. */
  async admin(path: string, body?: object): Promise<Record<string, unknown>> {
    const headers = { authorization: `Bearer ${this.adminKey}` };
    const init = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`${this.baseUrl}/admin${path}`, init);
    const answer = (await response.json()) as Record<string, unknown>;
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return answer;
  }

  /** Opens an account with all plans and credits, by default many. @returns its key */
  async openAccount(name: string, amount = '1000000'): Promise<string> {
    await this.admin('/accounts', { name });
    await this.admin(`/accounts/${name}/trial`, {});
    const load = { amount, reason: 'abuse', idempotency_key: name };
    await this.admin(`/accounts/${name}/credits`, load);
    return String((await this.admin(`/accounts/${name}/keys`, { name }))['secret']);
  }

  async halt(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#exit !== undefined) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  async stop(): Promise<void> {
    await this.halt();
    await this.upstream.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #openAccounts(): Promise<void> {
    const firstRun = JSON.parse(readFileSync(join(this.dataDir, 'first-run.json'), 'utf8'));
    this.adminKey = firstRun.adminKey;
    this.apiKey = await this.openAccount('attacker');
    this.otherKey = await this.openAccount('other');
  }

  /** The default settings except for names: every failed key is processed in full, and credits never run out. */
  #settings(): object {
    return {
      server: { port: 0 },
      dataDir: this.dataDir,
      limits: { failedKeysPerMinuteMax: 0, ...this.#limits },
      oidc: {
        name: 'Provider',
        issuer: this.upstream.baseUrl,
        clientId: 'parley',
        consoleUrls: [`https://${consoleHost}`],
        rules: [{ claim: 'groups', value: 'staff', role: 'operator' }],
      },
      fairUse: { trialUnitsPerMonth: 1_000_000_000 },
      engines: {
        builtin: { kind: 'builtin' },
        // Requests must reach each upstream behaviour, even after failures.
        upstream: {
          kind: 'openai',
          baseUrl: this.upstream.baseUrl,
          apiKeyFile: join(this.folder, 'key'),
          breakerFailures: 1_000,
        },
      },
      models: [
        { id: 'flite', type: 'speech', engine: 'builtin' },
        { id: 'pocketsphinx', type: 'transcription', engine: 'builtin' },
        {
          id: 'eliza',
          type: 'chat',
          engine: 'builtin',
          price: { input: 0.1, output: 0.4 },
          contextTokens: 4096,
        },
        { id: 'served', type: 'chat', engine: 'upstream', price: free, contextTokens: 10_000_000 },
      ],
    };
  }
}

function readServerFile(dataDir: string): { baseUrl: string } {
  return JSON.parse(readFileSync(join(dataDir, 'server.json'), 'utf8'));
}
