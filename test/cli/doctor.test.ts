/** `parley doctor`: its findings and its advice. It changes nothing. */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { diagnoseArea } from '../../src/app/diagnostics/areas.ts';
import { diagnoseClock, diagnoseTls } from '../../src/app/diagnostics/machine.ts';
import { ok } from '../../src/core/values/diagnostics.ts';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { migrations } from '../../src/store/migrations/migrations.ts';
import { makeCertificate } from '../support/certificates.ts';
import {
  type Folder,
  inShell,
  parley,
  printed,
  scratchFolder,
  serve,
  until,
} from '../support/command-line.ts';
import { servers } from '../support/example-servers.ts';
import { freePort } from '../support/http-server.ts';
import { mailLogin, startMailServer } from '../support/mail-server.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { failure, json, silence, whole } from '../support/upstream-answers.ts';

interface Found {
  readonly area: string;
  readonly subject: string;
  readonly state: 'ok' | 'warning' | 'problem';
  readonly found: string;
  readonly advice?: string;
}

interface Report {
  readonly problems: number;
  readonly warnings: number;
  readonly checks: readonly Found[];
}

let folder: Folder;
beforeEach(() => {
  folder = scratchFolder();
  return () => folder.remove();
});

async function doctor(
  config: string,
  env: Record<string, string> = {},
): Promise<Report & { code: number | null }> {
  writeFileSync(folder.file('parley.yaml'), config);
  const { code, stdout } = await parley(['doctor', '--json'], { cwd: folder.path, env });
  const report: Report = JSON.parse(stdout);
  return { ...report, code };
}

/** The only finding about a subject. */
function about({ checks }: Report, subject: string, area?: string): Found {
  const found = checks.filter((check) => check.subject === subject && (area ?? check.area) === check.area);
  expect(found).toHaveLength(1);
  return found[0] as Found;
}

const quiet = 'server: {port: 0}\n';
const chatOnly = 'models: [{id: eliza, type: chat, engine: builtin, price: {input: 0, output: 0}}]\n';

describe('on a ready machine', () => {
  const missing = missingHearing();

  it.skipIf(missing)(
    `finds nothing wrong, and changes nothing${missing ? ` (${missing})` : ''}`,
    async () => {
      writeFileSync(folder.file('parley.yaml'), quiet);
      const { code, stdout, stderr } = await parley(['doctor'], { cwd: folder.path });
      expect([code, stderr]).toEqual([0, 'All is well.\n']);
      expect(stdout).toMatch(
        /^configuration\n {2}ok {7}settings: parley\.yaml is valid\.\n\nengine builtin\n/,
      );
      expect(stdout).toMatch(/hearing: The decoder and the recogniser load: (Moonshine|pocketsphinx)\.\n/);
      expect(readdirSync(folder.path)).toEqual(['parley.yaml']);
    },
  );
});

describe('an invalid configuration', () => {
  it('is reported with advice for settings outside of the file', async () => {
    const report = await doctor(
      "server: {port: 0}\nengines: {far: {kind: remote, baseUrl: 'http://far/api/v1', apiKeyEnv: FAR_KEY}}\nmodels: []\n",
    );
    const problems = report.checks.filter(({ state }) => state !== 'ok');
    expect(problems).toMatchObject([
      {
        found: 'The variable FAR_KEY is not set.',
        advice: expect.stringMatching(/^Set it in the environment of the server, or .*`apiKeyFile`\.$/),
      },
    ]);
  });

  it('is reported with every finding, and with the problems of all that is valid', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    writeFileSync(folder.file('data'), 'no folder');
    const config = {
      server: { port },
      log: { level: 'loud' },
      tls: { cert: 'cert.pem' },
      engines: {
        builtin: { kind: 'builtin' },
        far: { kind: 'remote', baseUrl: 'http://far/api/v1', apiKeyEnv: 'FAR_KEY' },
        broken: { kind: 'openai' },
        gone: { kind: 'openai', baseUrl: 'http://127.0.0.1:9/v1', retries: 1 },
      },
      models: [
        { id: 'free', type: 'chat', engine: 'gone', contextTokens: 10 },
        { id: 'eliza', type: 'chat', engine: 'gone', contextTokens: 10, price: { input: 0, output: 0 } },
      ],
    };
    const report = await doctor(JSON.stringify(config));
    other.close();
    const problems = report.checks.filter(({ state }) => state === 'problem');
    expect(problems.map(({ area, found }) => `${area}: ${found}`)).toEqual([
      expect.stringMatching(/^configuration: .*"loud"/),
      expect.stringMatching(/^configuration: .*`tls.key` is missing/),
      expect.stringMatching(/^configuration: .*FAR_KEY is not set/),
      expect.stringMatching(/^configuration: .*`engines.broken.baseUrl` is missing/),
      expect.stringMatching(/^configuration: .*`engines.gone.retries` is not a setting/),
      expect.stringMatching(/^configuration: .*`free` has no price/),
      expect.stringMatching(/^engine gone: .* cannot be reached/),
      expect.stringMatching(/^data folder: .* is not a folder/),
    ]);
    const warned = report.checks.filter(({ found }) => found.startsWith('This is not checked'));
    expect(warned.map(({ area }) => area)).toEqual(['ports', 'TLS']);
  });

  it('is not guessed at if the file is not YAML', async () => {
    const report = await doctor('server: {port: 1\nmodels: [\n');
    expect(report.checks.map(({ area }) => area)).toEqual([
      ...report.checks.slice(1).map(() => 'configuration'),
      'everything else',
    ]);
    expect(report.problems).toBeGreaterThan(0);
  });
});

describe('the port', () => {
  it('may be used by the server of the data folder, but by no other', async () => {
    const port = await freePort();
    const config = `server: {port: ${port}}\n${chatOnly}`;
    writeFileSync(folder.file('parley.yaml'), config);
    const server = await serve(['--port', String(port)], { cwd: folder.path });
    try {
      const beside = await doctor(config);
      expect(about(beside, 'server.port')).toMatchObject({
        state: 'ok',
        found: `127.0.0.1 port ${port} is used by the running server (process ${server.pid}).`,
      });
      expect(about(beside, 'integrity').state).toBe('ok');
      const elsewhere = await doctor(`${config}dataDir: other\n`);
      expect(about(elsewhere, 'server.port')).toMatchObject({
        state: 'problem',
        found: expect.stringContaining('a Parley on another data folder'),
        advice: expect.stringContaining(`sport = :${port}`),
      });
      expect(elsewhere.code).toBe(1);
    } finally {
      await server.close();
    }
  });

  it('is that of the running server, even if the configuration here differs', async () => {
    const own = `server: {port: ${await freePort()}}\n${chatOnly}`;
    writeFileSync(folder.file('parley.yaml'), own);
    const adminPort = String(await freePort());
    const server = await serve(['--port', '0'], {
      cwd: folder.path,
      env: { PARLEY_ADMIN_HOST: '127.0.0.1', PARLEY_ADMIN_PORT: adminPort },
    });
    const [other, elsewhere] = [scratchFolder(), await freePort()];
    writeFileSync(other.file('parley.yaml'), `server: {port: ${elsewhere}}\n${chatOnly}`);
    const stranger = await serve(['--port', String(elsewhere)], { cwd: other.path });
    try {
      const report = await doctor(`server: {port: ${elsewhere}}\n${chatOnly}`);
      const held = (port: string) =>
        `127.0.0.1 port ${port} is used by the running server (process ${server.pid}).`;
      expect(about(report, 'server.port').found).toBe(held(new URL(server.baseUrl).port));
      expect(about(report, 'admin.port').found).toBe(held(adminPort));
      expect(report.code).toBe(0);
    } finally {
      await Promise.all([server.close(), stranger.close()]);
      other.remove();
    }
    expect(about(await doctor(own), 'server.port').found).toMatch(/ is free\.$/);
  });

  it('comes with the reason if the running server is not ready', async () => {
    const own = `server: {port: 0}\n${chatOnly}`;
    writeFileSync(folder.file('parley.yaml'), own);
    const server = await serve([], { cwd: folder.path });
    try {
      const ready = { state: 'ok', found: 'The running server accepts requests.' };
      expect(about(await doctor(own), 'readiness')).toMatchObject(ready);
      const database = folder.file('data/parley.db');
      copyFileSync(database, `${database}.copy`);
      renameSync(`${database}.copy`, database);
      await until(() => server.stderr().includes('Restore'));
      expect(about(await doctor(own), 'readiness')).toEqual({
        area: 'ports',
        subject: 'readiness',
        state: 'problem',
        found: 'The running server is not ready: The database is missing from the data folder.',
        advice: 'Its log says what to do.',
      });
    } finally {
      await server.close();
    }
  });

  it('is reported if another program uses it, or the address is not of this machine', async () => {
    const other = createServer((socket) => socket.end('220 mail\r\n')).listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const report = await doctor(
      `server: {port: ${port}}\nadmin: {host: 192.0.2.1, port: ${port}}\n${chatOnly}`,
    );
    other.close();
    expect(about(report, 'server.port').found).toBe(`127.0.0.1 port ${port} is used by another program.`);
    expect(about(report, 'admin.port')).toMatchObject({
      state: 'problem',
      found: expect.stringContaining('(EADDRNOTAVAIL)'),
    });
  });
});

describe('the data folder', () => {
  const config = quiet + chatOnly;
  const database = () => folder.file('data/parley.db');
  const hash = () => createHash('sha256').update(readFileSync(database())).digest('hex');

  /** Creates a data folder that no server uses. */
  beforeEach(async () => {
    writeFileSync(folder.file('parley.yaml'), config);
    await printed(['key', 'create', '--admin', '--name', 'ops'], { cwd: folder.path });
  });

  it('is only read', async () => {
    const before = hash();
    const report = await doctor(config);
    expect(report).toMatchObject({ code: 0, problems: 0, warnings: 0 });
    expect(about(report, 'admin keys').found).toBe('There is one.');
    expect(hash()).toBe(before);
  });

  it('must be a folder', async () => {
    writeFileSync(folder.file('file'), '');
    const report = await doctor(`${config}dataDir: file\n`);
    expect(about(report, 'folder')).toMatchObject({ state: 'problem', found: 'file is not a folder.' });
  });

  const noProc = existsSync('/proc/self') ? '' : ' (skipped: this system has no /proc)';
  it.skipIf(noProc)(`must be one that can be created${noProc}`, async () => {
    expect(about(await doctor(`${config}dataDir: /proc/parley/data\n`), 'folder')).toMatchObject({
      state: 'problem',
      found: expect.stringContaining('no folder can be created in /proc'),
      advice: expect.stringMatching(/^Create it .* \/proc\/parley\/data\. Or choose another /),
    });
  });

  it('must be private', async () => {
    chmodSync(folder.file('data'), 0o755);
    chmodSync(database(), 0o644);
    expect(about(await doctor(config), 'privacy')).toMatchObject({
      state: 'problem',
      advice: 'chmod 600 data/parley.db',
    });
  });

  it('should have a folder that only its owner can read, and serve says so too', async () => {
    for (const [mode, expected] of [
      [0o755, { state: 'warning', found: 'Other users of this machine can list ./data.' }],
      [0o777, { state: 'problem', found: 'Other users of this machine can replace the files in ./data.' }],
    ] as const) {
      chmodSync(folder.file('data'), mode);
      expect(about(await doctor(config), 'privacy')).toMatchObject({
        ...expected,
        advice: 'chmod 700 ./data',
      });
      const server = await serve([], { cwd: folder.path });
      expect(server.stderr()).toContain(expected.found);
      await server.close();
    }
  });

  it('must have an intact database', async () => {
    const bytes = readFileSync(database());
    bytes.fill(0xa5, 8 * 4096, bytes.length - 4096);
    writeFileSync(database(), bytes);
    rmSync(`${database()}-wal`, { force: true });
    const report = await doctor(config);
    const damage = report.checks.filter(({ area, state }) => area === 'database' && state === 'problem');
    expect(damage).toHaveLength(1);
    expect(damage[0]?.advice).toContain('backup');
    writeFileSync(database(), 'This is no database at all.'.repeat(100));
    expect(about(await doctor(config), 'database')).toMatchObject({
      state: 'problem',
      found: expect.stringContaining('SQLITE_NOTADB'),
    });
  });

  it('must have its log, unless its server has closed it', async () => {
    const lone = folder.file('lone');
    const copyOf = (...names: string[]) => {
      rmSync(lone, { recursive: true, force: true });
      mkdirSync(lone, { mode: 0o700 });
      for (const name of names) copyFileSync(folder.file(`running/${name}`), `${lone}/${name}`);
      return doctor(config, { PARLEY_DATA_DIR: lone });
    };
    const server = await serve(['--data-dir', folder.file('running')]);
    const fresh = await copyOf('parley.db');
    expect(about(fresh, 'log')).toMatchObject({
      state: 'problem',
      found: expect.stringContaining('no tables'),
    });
    expect(about(fresh, 'integrity').state).toBe('warning');
    expect(about(await copyOf('parley.db', 'parley.db-wal'), 'integrity').state).toBe('ok');
    // Moves the log into the database, including the mark of the owner.
    const connection = new Sqlite(folder.file('running/parley.db'));
    connection.pragma('wal_checkpoint');
    connection.close();
    const used = await copyOf('parley.db');
    expect(about(used, 'log')).toMatchObject({
      state: 'warning',
      found: expect.stringContaining('-wal is missing'),
    });
    const second = await serve(['--data-dir', lone]);
    expect(second.stderr()).toContain('parley.db-wal is missing');
    await second.close();
    await server.close();
    const closed = await copyOf('parley.db');
    expect(closed.checks.filter(({ subject }) => subject === 'log')).toEqual([]);
    expect(about(closed, 'integrity').state).toBe('ok');
  });

  it('must not be of a newer version, and may be of an older one', async () => {
    const connection = new Sqlite(database());
    const isOf = (...names: readonly string[]) => {
      connection.prepare('delete from kysely_migration').run();
      for (const name of names) connection.prepare("insert into kysely_migration values (?, '')").run(name);
    };
    isOf('0023-labels');
    expect(about(await doctor(config), 'schema')).toMatchObject({
      state: 'warning',
      found: `The schema lacks ${Object.keys(migrations).join(', ')}.`,
    });
    isOf('0022-secrets');
    expect(about(await doctor(config), 'schema')).toMatchObject({
      state: 'problem',
      found: 'The database is of an early preview (0022-secrets).',
    });
    isOf(...Object.keys(migrations));
    connection.prepare("insert into kysely_migration values ('9999-later', '')").run();
    connection.close();
    expect(about(await doctor(config), 'schema')).toMatchObject({
      state: 'problem',
      found: 'A newer Parley has changed the database (9999-later).',
    });
  });

  it('should have a valid admin key', async () => {
    const connection = new Sqlite(database());
    connection.prepare('update api_keys set revoked_at_ms = 1').run();
    connection.close();
    const report = await doctor(config);
    expect(about(report, 'admin keys')).toMatchObject({
      state: 'warning',
      advice: 'Create one: `parley key create --admin`. The server may run.',
    });
    expect(report.code).toBe(0);
  });
});

describe('the clock', () => {
  it.each([
    ['before this program was written', Date.UTC(1970, 0, 1), 'problem'],
    ['far in the future', Date.UTC(2150, 0, 1), 'problem'],
    ['between them', Date.UTC(2027, 0, 1), 'ok'],
  ])('%s', (_what, clockMs, state) => {
    expect(diagnoseClock(folder.path, clockMs)).toMatchObject([{ state }]);
  });

  it('before the database file was last written', () => {
    writeFileSync(folder.file('parley.db'), '');
    expect(diagnoseClock(folder.path, Date.now() - 3_600_000)).toMatchObject([{ state: 'problem' }]);
  });
});

describe('the certificate', () => {
  const dayMs = 86_400_000;
  const files = (name: string) => ({ cert: folder.file(`${name}.pem`), key: folder.file(`${name}.key`) });
  const write = (name: string) => {
    const { cert, key } = makeCertificate('localhost');
    writeFileSync(files(name).cert, cert);
    writeFileSync(files(name).key, key);
    return files(name);
  };

  it('is not needed', async () => {
    expect(await diagnoseTls({ tls: undefined })).toMatchObject([{ state: 'ok' }]);
  });

  it.each([
    ['valid for long', -30 * dayMs, 'problem', /is valid only from \d{4}-\d\d-\d\d on/],
    ['about to expire', 0, 'warning', /^It is valid until \d{4}-\d\d-\d\d\.$/],
    ['expired', 2 * dayMs, 'problem', /^It expired on \d{4}-\d\d-\d\d\.$/],
  ])('%s', async (_what, laterMs, state, found) => {
    const tls = write('own');
    expect(await diagnoseTls({ tls }, Date.now() + laterMs)).toMatchObject([
      { state, found: expect.stringMatching(found) },
    ]);
  });

  it('must be there, and belong to its key', async () => {
    expect(await diagnoseTls({ tls: files('none') })).toMatchObject([
      {
        state: 'problem',
        found: expect.stringContaining('cannot be read (there is no such file or folder)'),
      },
    ]);
    const mixed = { cert: write('own').cert, key: write('other').key };
    expect(await diagnoseTls({ tls: mixed })).toMatchObject([
      { state: 'problem', found: expect.stringContaining('is not the key of the certificate') },
    ]);
  });
});

describe('the mail server', () => {
  it('is not checked if none is set', async () => {
    expect((await doctor(quiet)).checks.filter(({ area }) => area === 'mail')).toEqual([]);
  });

  it('must answer, and take the login', async () => {
    const certificate = makeCertificate('mail');
    const trusted = getCACertificates('default');
    setDefaultCACertificates([...trusted, certificate.cert]);
    const server = await startMailServer(certificate);
    const report = async (password: string, port = server.port) => {
      writeFileSync(folder.file('password'), password);
      const login = `user: ${mailLogin.user}, passwordFile: ${folder.file('password')}`;
      const smtp = `{host: localhost, port: ${port}, from: parley@example.com, ${login}}`;
      return about(await doctor(`${quiet}alerts: {smtp: ${smtp}}\n`), 'mail server');
    };
    expect(await report(mailLogin.password)).toMatchObject({
      area: 'mail',
      state: 'ok',
      found: 'localhost answers and takes the login.',
    });
    expect(await report('wrong')).toMatchObject({
      state: 'problem',
      found: 'localhost: The mail server refused the login.',
      advice: expect.stringContaining('`alerts.smtp`'),
    });
    expect(await report('any', await freePort())).toMatchObject({ state: 'problem' });
    expect(server.received).toEqual([]);
    setDefaultCACertificates(trusted);
    await server.close();
  });
});

describe('the limit of open files', () => {
  it('is compared with the connections that are allowed', async () => {
    writeFileSync(folder.file('parley.yaml'), `${quiet}${chatOnly}`);
    const script = 'ulimit -n 1500; exec "$@" doctor --json';
    const { stdout } = await inShell(script, { cwd: folder.path });
    const report: Report = JSON.parse(stdout);
    expect(about(report, 'open files')).toMatchObject({
      state: 'warning',
      found: 'A process started here can open 1500 files; connectionsMax allows 1024 connections.',
      advice: expect.stringContaining('Raise the limit to 2048'),
    });
  });
});

describe('engines', () => {
  const open: { close(): Promise<void> }[] = [];
  const start = async (): Promise<ScriptedUpstream> => {
    const upstream = await startScriptedUpstream();
    open.push({ close: () => upstream.stop() });
    return upstream;
  };
  let gateway: Parley;
  beforeAll(async () => {
    gateway = await startParley();
    open.push(gateway);
  });
  afterAll(() => Promise.all(open.map((server) => server.close())));

  it('are called: OpenAI-compatible upstreams, with their key, models and voices', async () => {
    const [good, locked, mute, wordy, silent] = await Promise.all([
      start(),
      start(),
      start(),
      start(),
      start(),
    ]);
    servers['kokoro-fastapi'](good);
    locked.answer('/models', failure(401));
    mute.answer('/models', json({ data: [{ id: 'tts' }] }));
    wordy.answer('/models', whole('<html>', { headers: { 'content-type': 'text/html' } }));
    silent.answer('/models', silence);
    const gone = `http://127.0.0.1:${await freePort()}/v1`;
    const report = await doctor(
      `${quiet}
engines:
  good: {kind: openai, baseUrl: "${good.baseUrl}", models: {spoken: kokoro}}
  locked: {kind: openai, baseUrl: "${locked.baseUrl}", apiKeyEnv: SOME_KEY}
  mute: {kind: openai, baseUrl: "${mute.baseUrl}"}
  wordy: {kind: openai, baseUrl: "${wordy.baseUrl}"}
  silent: {kind: openai, baseUrl: "${silent.baseUrl}", firstByteMs: 200}
  gone: {kind: openai, baseUrl: "${gone}"}
  off: {kind: openai, baseUrl: "${gone}", disabled: true}
  written: {kind: openai, baseUrl: "${good.baseUrl}", voices: {anna: en}}
  idle: {kind: builtin}
models:
  - {id: spoken, type: speech, engine: good, defaultVoice: bm_george}
  - {id: missing-voice, type: speech, engine: good, voices: {alloy: af_alloy}}
  - {id: tts, type: speech, engine: mute}
  - {id: kokoro, type: speech, engine: written}
  - {id: c, type: chat, engine: [locked, wordy, silent, gone, off], price: {input: 0, output: 0}}
`,
      { SOME_KEY: 'sk-wrong' },
    );
    const states = (area: string) =>
      report.checks
        .filter((check) => check.area === `engine ${area}`)
        .map(({ subject, state, found }) => [subject, state, found]);
    expect(states('good')).toEqual([
      ['upstream', 'ok', `${good.baseUrl} answers.`],
      ['model spoken', 'ok', 'It lists kokoro.'],
      [
        'model missing-voice',
        'problem',
        'It does not list missing-voice, but tts-1, tts-1-hd, kokoro, gpt-4o-mini-tts.',
      ],
      ['voices of spoken', 'ok', 'It has 2: af_heart, bm_george.'],
      ['voices of missing-voice', 'problem', 'It does not have af_alloy.'],
    ]);
    expect(states('off')).toEqual([['disabled', 'ok', expect.stringContaining('serves nothing')]]);
    expect(states('locked')).toEqual([
      ['upstream', 'problem', expect.stringContaining('does not accept the key')],
    ]);
    expect(states('mute').at(-1)).toEqual([
      'voices of tts',
      'problem',
      expect.stringContaining('lists no voices'),
    ]);
    expect(states('written').at(-1)).toEqual(['voices of kokoro', 'ok', 'It has 1: anna.']);
    expect(states('wordy')).toEqual([['upstream', 'problem', expect.stringContaining('text/html')]]);
    expect(states('silent')).toEqual([
      ['upstream', 'problem', expect.stringContaining('does not list its models')],
    ]);
    expect(states('gone')).toEqual([
      ['upstream', 'problem', `${gone} cannot be reached (connect ECONNREFUSED ${new URL(gone).host}).`],
    ]);
    expect(states('idle')).toEqual([['models', 'warning', 'It serves no model.']]);
    expect(JSON.stringify(report)).not.toContain('sk-wrong');
    expect(existsSync(folder.file('data'))).toBe(false);
  });

  it('are asked for the context of chat models that have none in the configuration', async () => {
    const [open, mute, broken] = await Promise.all([start(), start(), start()]);
    open.answer('/models', json({ data: [{ id: 'told', max_model_len: 9_000 }, { id: 'untold' }] }));
    mute.answer('/models', json({ data: [{ id: 'untold' }, { id: 'written' }] }));
    broken.answer('/models', json({ data: [{ id: 'untold' }] }));
    // The list is asked for once. The page of the model, which Ollama has, is a second question.
    broken.answer('/api/show', failure(429));
    const report = await doctor(`${quiet}
engines:
  open: {kind: openai, baseUrl: "${open.baseUrl}"}
  mute: {kind: openai, baseUrl: "${mute.baseUrl}"}
  broken: {kind: openai, baseUrl: "${broken.baseUrl}", retryStatuses: [429]}
models:
  - {id: told, type: chat, engine: open, price: {input: 0, output: 0}}
  - {id: untold, type: chat, engine: [mute, broken], price: {input: 0, output: 0}}
  - {id: written, type: chat, engine: mute, contextTokens: 500, outputTokensMax: 500, price: {input: 0, output: 0}}
`);
    expect(open.requests.map(({ path }) => path)).toEqual(['/models']);
    expect(about(report, 'context of told')).toMatchObject({
      state: 'ok',
      found: 'The upstream reports a context of 9000 tokens.',
    });
    const asked = 'Write `contextTokens` of the model untold in parley.yaml.';
    const unknown = {
      state: 'problem',
      advice: 'Write contextTokens of the model untold. Until then the model cannot be called.',
    };
    expect(about(report, 'context of untold', 'engine mute')).toMatchObject({
      ...unknown,
      found: `The server of the engine mute does not report the context of this model. ${asked}`,
    });
    expect(about(report, 'context of untold', 'engine broken')).toMatchObject({
      ...unknown,
      found: `The server of the engine broken could not be asked for the context of this model. ${asked}`,
    });
    expect(report).toMatchObject({ code: 1, problems: 2 });
    expect(report.checks.map(({ subject }) => subject)).not.toContain('context of written');
  });

  it('are called: other Parleys, with their key and models', async () => {
    const { baseUrl } = gateway;
    const report = await doctor(
      `${quiet}
engines:
  good: {kind: remote, baseUrl: "${baseUrl}", apiKeyEnv: GOOD_KEY, models: {anna: flite}}
  locked: {kind: remote, baseUrl: "${baseUrl}", apiKeyEnv: BAD_KEY}
  gone: {kind: remote, baseUrl: "http://127.0.0.1:${await freePort()}/api/v1"}
models:
  - {id: anna, type: speech, engine: good, defaultVoice: slt}
  - {id: gpt, type: chat, engine: [good, locked, gone], contextTokens: 10, price: {input: 0, output: 0}}
  - {id: otto, type: transcription, engine: good}
`,
      { GOOD_KEY: gateway.apiKey, BAD_KEY: 'pk_wrong' },
    );
    const states = (area: string) =>
      report.checks
        .filter((check) => check.area === `engine ${area}`)
        .map(({ subject, state, found }) => [subject, state, found]);
    expect(states('good')).toEqual([
      ['upstream', 'ok', `${baseUrl} answers.`],
      ['model anna', 'ok', 'It lists flite.'],
      ['model gpt', 'problem', 'It does not list gpt, but flite, pocketsphinx, eliza.'],
      ['model otto', 'ok', 'It transcribes, whatever the name.'],
      ['voices of anna', 'ok', 'It has 5: rms, slt, awb, kal16, kal.'],
    ]);
    expect(states('locked')).toEqual([
      ['upstream', 'problem', expect.stringContaining('does not accept the key')],
    ]);
    expect(states('gone')).toEqual([['upstream', 'problem', expect.stringContaining('cannot be reached')]]);
  });
});

describe('a check', () => {
  it('has limited time, and is a problem if it fails', async () => {
    const aborted: unknown[] = [];
    const endless = (signal: AbortSignal) => {
      signal.addEventListener('abort', () => aborted.push('endless'));
      return new Promise<never>(() => undefined);
    };
    const diagnosed = await Promise.all([
      diagnoseArea('good', async () => [ok('a', 'It is.')]),
      diagnoseArea('endless', endless, 50),
      diagnoseArea('broken', () => Promise.reject(new Error('a fault'))),
    ]);
    expect(diagnosed.map(({ area, diagnostics }) => [area, diagnostics[0]?.state])).toEqual([
      ['good', 'ok'],
      ['endless', 'problem'],
      ['broken', 'problem'],
    ]);
    expect(aborted).toEqual(['endless']);
  });
});
