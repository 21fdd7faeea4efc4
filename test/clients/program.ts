/** Checks the program of each client page against a server. All languages share these checks. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { schemaArchive } from '../../scripts/console/files.mjs';
import { playingEngines } from '../conformance/play.ts';
import { makeCertificate } from '../support/certificates.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { readPage } from './page.ts';
import { type Ended, mustRun, shell } from './shell.ts';

interface ClientProgram {
  /** The name of the page. */
  readonly page: string;
  /** The block of the page that installs what the program needs. Default: `install`. */
  readonly install?: string;
  /** The reason why it cannot run on this machine. */
  readonly missing: string | undefined;
  /** Makes the program from the page, in the folder `client` of a separate home, which is `env.HOME`. */
  build(home: string, env: Readonly<Record<string, string>>): Promise<void>;
  /** Shell commands of the page before `run`. Default: none. */
  readonly before?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const buildMs = 600_000;
/** Waits until a call that ended early is in the books, as its tokens are counted first. */
const settled = { timeout: 120_000 };

interface CallOptions {
  readonly key?: string;
  readonly before?: readonly string[];
}

/** The command at the end of the page, without the words after the program's name, and the steps before it. */
function callCommand(page: string, before: readonly string[]): string {
  const { command } = readPage(page);
  const [run = ''] = command('run').split(' speak ');
  return [...before.map(command), run].join('\n');
}

/** Takes the program from the page, and generates its code by `protoc` alone and by buf, which must write the same code. */
export async function generateCode(page: string, env: Readonly<Record<string, string>>): Promise<void> {
  const { command } = readPage(page);
  for (const step of ['take', 'schemas', 'protoc']) await mustRun(command(step), { env });
  await mustRun('mv ~/client/gen ~/by-protoc', { env });
  await mustRun(command('generate'), { env });
  // Not compared: the version of protoc, and the serialized schema in each file, to which buf adds names of JSON.
  const elsewhere = ['^//.*protoc', '^ *"', '<code>', '^\\s*0x', '_serialized_', '^DESCRIPTOR'];
  await mustRun(`diff -r ${elsewhere.map((line) => `-I '${line}'`).join(' ')} ~/by-protoc ~/client/gen`, {
    env,
  });
}

export function describeClientProgram(program: ClientProgram): void {
  const { page, install = 'install', missing } = program;
  const title = `docs/clients/${page}.md, ${install}`;
  if (missing !== undefined) {
    process.stderr.write(
      `NOT TESTED: ${title} (${missing}). To test it: ${readPage(page).command(install)}\n`,
    );
  }
  describe.skipIf(missing !== undefined)(`${title}${missing ? ` (${missing})` : ''}`, () => {
    let home = '';
    let folder = '';
    const { cert, key } = makeCertificate('localhost');
    let parley: Parley;
    let secureParley: Parley;

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), `parley-${page}-`));
      folder = join(home, 'client');
      mkdirSync(folder);
      // The certificate is its own authority, and serves as one where the pages say so.
      const tls = { cert: join(folder, 'ca.pem'), key: join(home, 'key.pem') };
      writeFileSync(tls.cert, cert);
      writeFileSync(tls.key, key);
      parley = await startParley({
        engines: playingEngines(),
        pages: new Map([['docs/parley-proto.tar.gz', schemaArchive()]]),
      });
      secureParley = await startParley({ engines: playingEngines(), settings: { tls } });
      await program.build(home, { HOME: home, PARLEY_BASE_URL: new URL(parley.baseUrl).origin });
    }, buildMs);
    afterAll(async () => {
      await parley.close();
      await secureParley.close();
      rmSync(home, { recursive: true });
    });

    const call = (server: Parley, args: readonly string[], options: CallOptions = {}): Promise<Ended> => {
      const { origin } = new URL(server.baseUrl);
      const variables = { HOME: home, PARLEY_BASE_URL: origin, PARLEY_API_KEY: options.key ?? server.apiKey };
      const command = callCommand(page, [...(program.before ?? []), ...(options.before ?? [])]);
      return shell(command, { cwd: folder, env: { ...program.env, ...variables }, args });
    };
    const client = (...args: readonly string[]) => call(parley, args);

    const statesOf = async (operation: string) => {
      const { items } = await parley.app.store.usage.list({ operation }, { size: 100, after: undefined });
      return items.map(({ state }) => state);
    };
    const models = 'flite\npocketsphinx\neliza\n';

    it('calls a method', async () => {
      expect(await client('models')).toEqual({ code: 0, stdout: models, stderr: '' });
    });

    it('calls it over TLS', async () => {
      const { code, stdout } = await call(secureParley, ['models'], { before: ['trust'] });
      expect({ code, stdout }).toEqual({ code: 0, stdout: models });
    });

    it('trusts no unknown server', async () => {
      const { code, stdout, stderr } = await call(secureParley, ['models']);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/certificate|unavailable/i);
    });

    it('is refused without a key', async () => {
      const { code, stderr } = await call(parley, ['models'], { key: 'pk_none' });
      expect(code).toBe(1);
      expect(stderr).toContain('invalid_api_key: ');
    });

    it('saves speech', async () => {
      const file = join(home, 'speech');
      const ended = await client('speak', 'play: say one; say “zwei” 🎉', file);
      expect(ended).toEqual({ code: 0, stdout: '', stderr: '' });
      expect(readFileSync(file, 'utf8')).toContain('one“zwei” 🎉');
    });

    it('saves the audio that came before its deadline, and the server stops there too', async () => {
      const file = join(home, 'cut-speech');
      // On a busy machine the first audio may come after a short deadline.
      for (const seconds of ['2', '10', '40']) {
        const { code, stderr } = await client('speak', 'play: say one; wait', file, seconds);
        expect(code).toBe(1);
        expect(stderr).toMatch(/deadline_?exceeded: /i);
        if (existsSync(file) && readFileSync(file).length > 0) break;
      }
      expect(readFileSync(file, 'utf8')).toContain('one');
      await expect.poll(() => statesOf('speech'), settled).toContain('cancelled');
    });

    it('sends a recording in chunks', async () => {
      const file = join(home, 'recording.wav');
      writeFileSync(file, `play: say ${'one '.repeat(60_000)}; say two`);
      const { code, stdout, stderr } = await client('transcribe', file);
      const words = stdout.trim().split(/\s+/);
      expect({ code, stderr, words: words.length }).toEqual({ code: 0, stderr: '', words: 60_001 });
      expect(words.at(-1)).toBe('two');
    });

    it('is refused a recording that is too large', async () => {
      const file = join(home, 'large.wav');
      writeFileSync(file, new Uint8Array(4_194_305));
      const { code, stderr } = await client('transcribe', file);
      expect(code).toBe(1);
      expect(stderr).toContain('payload_too_large: ');
    });

    it('reads a chat as it is written', async () => {
      const ended = await client('chat', 'play: say one ; say “zwei” 🎉');
      expect(ended).toEqual({ code: 0, stdout: 'one “zwei” 🎉\n', stderr: '' });
    });

    it('cancels after enough output, and the server stops', async () => {
      const ended = await client('chat', 'play: say one; wait', '3');
      expect(ended).toEqual({ code: 0, stdout: 'one\n', stderr: '' });
      await expect.poll(() => statesOf('chat'), settled).toContain('cancelled');
    });

    it('reads why a call failed, and when to try again', async () => {
      const { code, stderr } = await client('chat', 'play: say one; fail upstream_error 429 7');
      expect(code).toBe(1);
      expect(stderr).toMatch(/^upstream_error: .+ Try again in 7 s\.$/m);
    });
  });
}
