import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configJsonSchema } from '../../scripts/config-schema.ts';
import {
  ConfigError,
  type ConfigOptions,
  loadConfig,
  loadConfigWithSources,
  sourceText,
} from '../../src/config/config.ts';
import { scratchPath } from '../support/scratch-path.ts';

const project = (name: string) => new URL(`../../${name}`, import.meta.url).pathname;
const folder = scratchPath('config');

const file = join(folder, 'test.yaml');

/** Loads a file of this text. Default: an empty environment. */
function load(text: string, more: Partial<ConfigOptions> = {}) {
  writeFileSync(file, text);
  return loadConfigWithSources({ env: {}, file, ...more });
}

/** The findings of a file of this text, in lines such as `3:3: …`. */
function findings(text: string, more: Partial<ConfigOptions> = {}): string[] {
  try {
    load(text, more);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [, ...lines] = error.message.replaceAll(`${file}:`, '').split('\n');
    expect(lines).toHaveLength(error.findings.length);
    return lines.map((line) => line.trim());
  }
  return [];
}

/** The one finding of a text. */
function finding(text: string, more: Partial<ConfigOptions> = {}): string {
  const [only = 'no finding', ...others] = findings(text, more);
  expect(others).toEqual([]);
  return only;
}

function inFolder<T>(path: string, run: () => T): T {
  const before = process.cwd();
  process.chdir(path);
  try {
    return run();
  } finally {
    process.chdir(before);
  }
}

describe('the defaults', () => {
  const config = loadConfig({ env: {}, file: project('parley.example.yaml') });

  it('apply without file, variables and flags', () => {
    const empty = mkdtempSync(join(folder, 'empty-'));
    expect(inFolder(empty, () => loadConfig({ env: {} }))).toEqual(config);
  });

  it('listen on this machine only, on port 8080', () => {
    expect(config.server).toEqual({
      host: '127.0.0.1',
      port: 8080,
      unreadyMs: 0,
      drainMs: 10_000,
      requestMsMax: 600_000,
      connectionsMax: 1024,
      connectionsPerAddressMax: 512,
      trustedProxies: [],
      proxyHeader: 'x-forwarded-for',
      headersMsMax: 10_000,
      keepAliveMs: 75_000,
      bodyMsMax: 124_000,
      headerBytesMax: 16_384,
      headerCountMax: 100,
      streamPingMs: 10_000,
      stallMsMax: 30_000,
      streamsPerConnectionMax: 100,
      sessionBytesMax: 10_485_760,
      idleMs: 60_000,
      pingEveryMs: 10_000,
      pingTimeoutMs: 20_000,
    });
  });

  it('bound bodies and fair use, and keep data in ./data', () => {
    expect(config).toMatchObject({
      limits: { speechBodyBytesMax: 1_048_576, chatBodyBytesMax: 20_971_520 },
      dataDir: './data',
      fairUse: {
        planUnitsPerMonth: 1_500_000,
        trialUnitsPerMonth: 300_000,
        speechUnitsPerCharacter: 1,
        transcriptionUnitsPerSecond: 15,
      },
      log: { level: 'info' },
    });
  });

  it('run the builtin engine on all cores', () => {
    const cores = availableParallelism();
    expect(config.engines).toEqual({
      builtin: {
        kind: 'builtin',
        speechThreads: Math.min(cores, 4),
        encoderThreads: Math.min(cores, 4),
        recognizers: cores,
        speechQueueMax: 64,
        transcriptionQueueMax: 32,
      },
    });
  });

  it('name the recogniser that there is', () => {
    const { models, realtime } = loadConfig({ env: {}, recogniser: 'moonshine-tiny-en' });
    expect(models.map(({ id }) => id)).toEqual(['flite', 'moonshine-tiny-en', 'eliza']);
    expect(realtime).toMatchObject([{ id: 'eliza-live', transcription: 'moonshine-tiny-en' }]);
  });

  it('offer one model of each type, and chat at a price', () => {
    expect(config.models).toEqual([
      { id: 'flite', type: 'speech', engine: 'builtin', ownedBy: 'parley' },
      { id: 'pocketsphinx', type: 'transcription', engine: 'builtin', ownedBy: 'parley' },
      {
        id: 'eliza',
        type: 'chat',
        engine: 'builtin',
        ownedBy: 'parley',
        price: { inputPerMillion: 100_000_000n, outputPerMillion: 400_000_000n },
        contextTokens: 4096,
        outputTokensMax: 4096,
      },
    ]);
  });

  it.each(['', '# nothing but a comment\n', '---\n', 'server:\nmodels:\nlog:\n  level:\n'])(
    'apply to settings without a value: %j',
    (text) => expect(load(text).config).toEqual(config),
  );

  it('are deeply frozen', () => {
    const frozen = (value: unknown): boolean =>
      typeof value !== 'object' ||
      value === null ||
      (Object.isFrozen(value) && Object.values(value).every(frozen));
    expect(frozen(config)).toBe(true);
    expect(Reflect.set(config.server, 'port', 1)).toBe(false);
  });
});

describe('the file that is read', () => {
  const named = join(folder, 'named.yaml');
  const byVariable = join(folder, 'by-variable.yaml');
  const usual = mkdtempSync(join(folder, 'usual-'));
  writeFileSync(named, 'server: {port: 1}');
  writeFileSync(byVariable, 'server: {port: 2}');
  writeFileSync(join(usual, 'parley.yaml'), 'server: {port: 3}\n');

  const port = (options: ConfigOptions) => inFolder(usual, () => loadConfig(options).server.port);

  it('is the one of --config, else of PARLEY_CONFIG, else ./parley.yaml', () => {
    expect(port({ env: { PARLEY_CONFIG: byVariable }, file: named })).toBe(1);
    expect(port({ env: { PARLEY_CONFIG: byVariable } })).toBe(2);
    expect(port({ env: {} })).toBe(3);
  });

  it('is returned with the configuration', () => {
    expect(inFolder(usual, () => loadConfigWithSources({ env: {} }).file)).toBe('parley.yaml');
    expect(inFolder(folder, () => loadConfigWithSources({ env: {} }).file)).toBeUndefined();
  });

  it('must exist if it was named', () => {
    expect(() => loadConfig({ env: {}, file: '/nowhere/a.yaml' })).toThrow(
      '--config: Config file `/nowhere/a.yaml` not found.',
    );
    expect(() => port({ env: { PARLEY_CONFIG: './b.yaml' } })).toThrow(
      'PARLEY_CONFIG: Config file `./b.yaml` not found.',
    );
    expect(() => port({ env: { PARLEY_CONFIG: '' } })).toThrow(
      /^The configuration has 1 problem:\n {2}PARLEY_CONFIG: /,
    );
  });

  it('must be readable', () => {
    expect(() => loadConfig({ env: {}, file: folder })).toThrow(/cannot be read \(it is a folder\)/);
  });
});

describe('a name that is not a setting', () => {
  it('is refused with its place, the allowed names and the likely correction', () => {
    expect(finding('server:\n  host: 0.0.0.0\n  prot: 80\n')).toBe(
      '3:3: `server.prot` is not a setting. Allowed here: host, port, unreadyMs, drainMs, requestMsMax, connectionsMax, ' +
        'connectionsPerAddressMax, trustedProxies, proxyHeader, headersMsMax, keepAliveMs, bodyMsMax, headerBytesMax, headerCountMax, streamPingMs, stallMsMax, streamsPerConnectionMax, sessionBytesMax, idleMs, pingEveryMs, pingTimeoutMs. Did you mean `port`?',
    );
  });

  it.each([
    ['sever: {}', 'server'],
    ['server: {maxConnections: 4}', 'connectionsMax'],
    ['limits: {chat_body_bytes_max: 4096}', 'chatBodyBytesMax'],
    ['fairUse: {planUnits: 1}', 'planUnitsPerMonth'],
    ['port: 80', 'server.port'],
    ['engines: {builtin: {kind: builtin, speechThread: 1}}', 'speechThreads'],
    ['models: [{id: a, type: speech, engine: builtin, defautVoice: slt}]', 'defaultVoice'],
    ['models: [{id: a, type: chat, engine: builtin, price: {input: 0, output: 0, outptu: 1}}]', 'output'],
  ])('%s: did you mean %s?', (text, meant) => {
    expect(finding(text)).toContain(`Did you mean \`${meant}\`?`);
  });

  it('gets no suggestion if no name is near', () => {
    expect(finding('colour: red')).not.toContain('Did you mean');
  });

  it.each([
    'server: {basePath: /v2}',
    'limits: {transcriptionBodyBytesMax: 1}',
    'limits: {speechCharactersMax: 1}',
  ])('is refused as fixed by the interface: %s', (text) =>
    expect(finding(text)).toContain('is fixed by the interface and cannot be set.'),
  );

  it.each(['__proto__', 'constructor', 'toString'])('is refused also if it is %s', (name) => {
    expect(finding(`server:\n  ${name}: 1\n`)).toMatch(/^2:3: /);
    expect(finding(`${name}: {host: x}\n`)).toMatch(/^1:1: /);
  });
});

describe('a value that is not allowed', () => {
  it.each([
    ['server:\n  port: 80x80', '2:9: `server.port` is "80x80", but must be a whole number from 0 to 65535.'],
    ['server:\n  port: "80"', '2:9: `server.port` is "80", but must be a whole number from 0 to 65535.'],
    ['server: {port: 65536}', '1:16: `server.port` is 65536, but must be a whole number from 0 to 65535.'],
    ['server: {drainMs: -1}', '1:19: `server.drainMs` is -1, but must be a whole number from 0 to 3600000.'],
    [
      'server: {drainMs: 1.5}',
      '1:19: `server.drainMs` is 1.5, but must be a whole number from 0 to 3600000.',
    ],
    ['server: 8080', '1:9: `server` is 8080, but must be a map of settings.'],
    ['models: {a: b}', '1:9: `models` is a map, but must be a list of models.'],
    ['models: [eliza]', '1:10: `models[0]` is "eliza", but must be a map of settings.'],
    ['engines: [a]', '1:10: `engines` is a list, but must be a map of engine names to engines.'],
  ])('%j is refused with its place and the range', (text, message) =>
    expect(findings(text)[0]).toBe(message),
  );

  it('of a few words gets the likely correction', () => {
    expect(finding('log:\n  level: wran')).toBe(
      '2:10: `log.level` is "wran", but must be one of trace, debug, info, warn, error, fatal, silent. Did you mean `warn`?',
    );
    expect(finding('models: [{id: a, type: speach, engine: builtin}]')).toContain('Did you mean `speech`?');
    expect(finding('engines: {builtin: {kind: bultin}}')).toContain('Did you mean `builtin`?');
  });

  it.each(['http://localhost', 'a b', '[::1]', 'host:80', '-a', '""'])('is refused as a host: %s', (host) => {
    expect(finding(`server:\n  host: '${host.replaceAll('"', '')}'`)).toContain(
      'must be an IP address or a host name',
    );
  });

  it.each(['proxy', '10.0.0.0/33', '::/129', '10.0.0.0/', '10.0.0', '10.0.0.0/8/8', '10.0.0.1:80'])(
    'is refused as a trusted proxy: %s',
    (network) => {
      expect(finding(`server: {trustedProxies: ['${network}']}`)).toContain(
        'must be an address or a network such as 10.0.0.0/8',
      );
    },
  );

  it.each(['127.0.0.1', '10.0.0.0/8', '0.0.0.0/0', '::1', '2001:db8::/32'])(
    'is accepted as a trusted proxy: %s',
    (network) => {
      expect(load(`server: {trustedProxies: ['${network}']}`).config.server.trustedProxies).toEqual([
        network,
      ]);
    },
  );

  it.each(['0.0.0.0', '::', '::1', 'localhost', 'speech.example.org'])(
    'is accepted as a host: %s',
    (host) => {
      expect(load(`server: {host: "${host}"}`).config.server.host).toBe(host);
    },
  );
});

describe('all findings', () => {
  it('come at once, in the order of the file, then variables, then flags', () => {
    const text = 'server:\n  prot: 1\nlog: {level: loud}\nmodels:\n  - {id: a, type: speech, engine: b}\n';
    const all = findings(text, { env: { PARLEY_PORTS: '1' }, overrides: { server: { port: '8o' } } });
    expect(all.map((line) => line.split(': ')[0])).toEqual(['2:3', '3:14', '5:35', 'PARLEY_PORTS', '--port']);
  });

  it('are also available as data', () => {
    writeFileSync(file, 'server:\n  prot: 1\n');
    expect(() => loadConfig({ env: {}, file })).toThrow(
      expect.objectContaining({
        name: 'ConfigError',
        message: expect.stringContaining(`The configuration has 1 problem:\n  ${file}:2:3: `),
        findings: [
          {
            source: { kind: 'file', file, line: 2, column: 3 },
            setting: 'server.prot',
            message: expect.stringContaining('is not a setting'),
            suggestion: 'port',
          },
        ],
      }),
    );
  });
});

describe('the file', () => {
  it.each([
    ['server:\n  port: [1\n', /^\d:\d: This is not valid YAML: /],
    ['a: 1\n--- \nb: 2\n', /^2:1: This is not valid YAML: .*multiple documents/],
    ['log: !secret x\n', /^1:6: This is not valid YAML: .*!secret/],
    ['- 1\n', /^1:1: The file must be a map of settings/],
    ['hello', /^1:1: The file must be a map of settings/],
    ['server: *base\n', /^1:9: No anchor `&base` stands before it\.$/],
    ['server: &a {host: *a}\n', /^1:\d+: This is nested over 20 deep\.$/],
    [`${'[ '.repeat(40)}${'] '.repeat(40)}`, /This is nested over 20 deep\.$/],
  ])('is refused with its place if it is not a map in YAML: %j', (text, message) => {
    expect(finding(text)).toMatch(message);
  });

  it('is refused if aliases make it huge', () => {
    const level = (name: string, of: string) => `${name}: &${name} [${Array(10).fill(of).join(', ')}]\n`;
    const bomb = level('a', 'x') + level('b', '*a') + level('c', '*b') + level('d', '*c') + level('e', '*d');
    expect(findings(bomb).join()).toContain('Aliases included, this is over 50000 values.');
  });

  it('is refused with both places of a repeated name', () => {
    expect(finding('server:\n  port: 1\n  host: a\n  port: 2\n')).toContain(
      '4:3: `server.port` is written twice, first at 2:3',
    );
  });

  it('may use anchors and aliases', () => {
    const { config } = load(
      'models:\n' +
        '  - {id: a, type: chat, engine: builtin, price: &cheap {input: 0.1, output: 0.2}}\n' +
        '  - {id: b, type: chat, engine: builtin, price: *cheap}\n',
    );
    expect(config.models[1]).toMatchObject({
      price: { inputPerMillion: 100_000_000n, outputPerMillion: 200_000_000n },
    });
  });

  it('may have a byte order mark and Windows line ends', () => {
    expect(load('\uFEFFserver:\r\n  port: 90\r\n').config.server.port).toBe(90);
  });
});

describe('a variable', () => {
  it.each([
    ['PARLEY_HOST', '0.0.0.0', { server: { host: '0.0.0.0' } }],
    ['PARLEY_SERVER_HOST', '0.0.0.0', { server: { host: '0.0.0.0' } }],
    ['PARLEY_PORT', '0', { server: { port: 0 } }],
    ['PARLEY_SERVER_PORT', '81', { server: { port: 81 } }],
    ['PARLEY_SERVER_REQUEST_MS_MAX', '1000', { server: { requestMsMax: 1000 } }],
    ['PARLEY_LIMITS_CHAT_BODY_BYTES_MAX', '5000', { limits: { chatBodyBytesMax: 5000 } }],
    ['PARLEY_DATA_DIR', '2026', { dataDir: '2026' }],
    ['PARLEY_FAIR_USE_PLAN_UNITS_PER_MONTH', '7', { fairUse: { planUnitsPerMonth: 7 } }],
    ['PARLEY_LOG_LEVEL', 'debug', { log: { level: 'debug' } }],
    ['PARLEY_ENGINES_BUILTIN_SPEECH_THREADS', '3', { engines: { builtin: { speechThreads: 3 } } }],
    ['PARLEY_TRACING_SAMPLE_RATIO', '0.05', { tracing: { sampleRatio: 0.05 } }],
  ])('%s=%s sets what it names', (name, text, expected) => {
    expect(load('', { env: { [name]: text } }).config).toMatchObject(expected);
  });

  it('reaches the engines of the file by their names', () => {
    const text = 'engines: {on-site: {kind: builtin}}\nmodels: []\n';
    const { engines } = load(text, { env: { PARLEY_ENGINES_ON_SITE_RECOGNIZERS: '2' } }).config;
    expect(engines).toMatchObject({ 'on-site': { recognizers: 2 } });
  });

  it.each([
    ['true', true],
    ['false', false],
  ])('sets a boolean to %s', (text, expected) => {
    const file = "engines: {far: {kind: remote, baseUrl: 'http://far/api/v1'}}\nmodels: []\n";
    const { engines } = load(file, { env: { PARLEY_ENGINES_FAR_REALTIME: text } }).config;
    expect(engines).toMatchObject({ far: { realtime: expected } });
    expect(finding(file, { env: { PARLEY_ENGINES_FAR_REALTIME: 'True' } })).toMatch(
      / must be true or false\.$/,
    );
  });

  it.each(['80x80', '', ' 80', '80 ', '+80', '080', '8e3', '0x50', '80.0', '80.5', '65536', '-1', '-0'])(
    'is read strictly: PARLEY_PORT=%j is an error',
    (text) => expect(finding('', { env: { PARLEY_PORT: text } })).toMatch(/^PARLEY_PORT: /),
  );

  it('that is empty is refused, not ignored', () => {
    expect(finding('', { env: { PARLEY_DATA_DIR: '' } })).toBe(
      'PARLEY_DATA_DIR: The variable for `dataDir` is empty. Give it a value, or do not set it.',
    );
  });

  it('sets a list, with commas between its texts', () => {
    const origins = (text: string) => load('', { env: { PARLEY_CORS_ORIGINS: text } }).config.cors.origins;
    expect(origins('*')).toEqual(['*']);
    expect(origins('https://a.example, http://localhost:5173')).toEqual([
      'https://a.example',
      'http://localhost:5173',
    ]);
    expect(finding('', { env: { PARLEY_CORS_ORIGINS: 'https://a.example,' } })).toBe(
      'PARLEY_CORS_ORIGINS: `cors.origins[1]` is "", but must be an origin such as https://app.example.com, or "*".',
    );
  });

  it('of an API key may end with white space, but has none within', () => {
    const config = (source: string) =>
      `engines: {far: {kind: remote, baseUrl: 'http://far/api/v1', ${source}}}\nmodels: []\n`;
    const keyOf = (env: Record<string, string>) =>
      load(config('apiKeyEnv: FAR_KEY'), { env }).config.engineKeys['far']?.reveal();
    expect(keyOf({ FAR_KEY: ' sk-1\r\n' })).toBe('sk-1');
    expect(finding(config('apiKeyEnv: FAR_KEY'), { env: { FAR_KEY: 'sk-1\nsk-2' } })).toMatch(
      /The key in the variable FAR_KEY has a line break after its first 4 characters: an HTTP header cannot carry it\./,
    );
    const file = join(folder, 'two.key');
    writeFileSync(file, 'sk-1\n\nsk-2\n');
    expect(finding(config(`apiKeyFile: ${file}`))).toMatch(
      /two\.key must hold one key and nothing else\. The key has a line break after its first 4 characters\.$/,
    );
  });

  it('of an API key must be set, and the file of an API key must exist', () => {
    const engine = (source: string) =>
      `engines: {far: {kind: remote, baseUrl: 'http://far/api/v1', ${source}}}\nmodels: []\n`;
    expect(finding(engine('apiKeyEnv: FAR_KEY'))).toMatch(
      /The variable FAR_KEY is not set\. Set it in the environment of the server, or write the key into a file and name that with `apiKeyFile`\.$/,
    );
    expect(finding(engine('apiKeyFile: /nowhere/key'))).toMatch(
      /The file \/nowhere\/key cannot be read \(there is no such file or folder\)\.$/,
    );
  });

  it.each([
    ['{from: a@b.example}', /`alerts\.smtp\.host`/],
    ['{host: mail, from: "Parley <a@b.example>"}', /`alerts\.smtp\.from`.*an address such as/],
    ['{host: mail, from: "a@b.example\\r\\nbcc: c@d.example"}', /`alerts\.smtp\.from`/],
    [
      '{host: mail, from: a@b.example, user: u}',
      /`alerts\.smtp\.passwordFile`.*set exactly when `user` is set/,
    ],
    [
      '{host: mail, from: a@b.example, tls: none, user: u, passwordFile: /etc/hostname}',
      /`alerts\.smtp\.tls`/,
    ],
    ['{host: mail, from: a@b.example, user: u, passwordFile: /nowhere/p}', /\/nowhere\/p cannot be read/],
  ])('of a mail server is refused: %s', (smtp, message) =>
    expect(finding(`alerts: {smtp: ${smtp}}\n`)).toMatch(message),
  );

  it('of a mail server has its password in a file', () => {
    const file = join(folder, 'password');
    writeFileSync(file, 'a password\n');
    const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(readFileSync('docs/alerts.md', 'utf8')) ?? [];
    const { config } = load(yaml.replace('/run/secrets/parley/smtp-password', file));
    expect(config.smtpPassword?.reveal()).toBe('a password');
    expect(config.alerts.smtp).toMatchObject({ tls: 'starttls', holdersMaySet: false });
    expect(JSON.stringify(config.smtpPassword)).toBe('{}');
  });

  it('with an invalid value is refused with the range', () => {
    expect(finding('', { env: { PARLEY_PORT: '80x80' } })).toBe(
      'PARLEY_PORT: `server.port` is "80x80", but must be a whole number from 0 to 65535.',
    );
  });

  it.each([
    ['PARLEY_SEVER_PORT', 'PARLEY_SERVER_PORT'],
    ['PARLEY_LEVEL', 'PARLEY_LOG_LEVEL'],
    ['PARLEY_DATADIR', 'PARLEY_DATA_DIR'],
    ['PARLEY_FAIR_USE_PLAN_UNITS', 'PARLEY_FAIR_USE_PLAN_UNITS_PER_MONTH'],
    ['PARLEY_APIKEY', 'PARLEY_API_KEY'],
  ])('without a setting is refused: %s, did you mean %s?', (name, meant) => {
    expect(finding('', { env: { [name]: 'x' } })).toBe(
      `${name}: No setting has the variable ${name}. Did you mean \`${meant}\`?`,
    );
  });

  it('without a setting is reported without its value, which may be a secret', () => {
    expect(finding('', { env: { PARLEY_ADMINKEY: 'pk_secret' } })).not.toContain('pk_secret');
  });

  it('is refused beside its other name', () => {
    expect(finding('', { env: { PARLEY_PORT: '1', PARLEY_SERVER_PORT: '2' } })).toContain(
      '`server.port` is set by PARLEY_PORT as well. Keep one of them.',
    );
  });

  it.each([
    ['PARLEY_PORT', 'tcp://10.96.0.7:8080'],
    ['PARLEY_SERVICE_HOST', '10.96.0.7'],
    ['PARLEY_SERVICE_PORT', '8080'],
    ['PARLEY_SERVICE_PORT_HTTP', '8080'],
    ['PARLEY_PORT_8080_TCP', 'tcp://10.96.0.7:8080'],
    ['PARLEY_PORT_8080_TCP_ADDR', '10.96.0.7'],
    ['PARLEY_EDGE_PORT', 'udp://10.96.0.7:8080'],
  ])('of a Kubernetes service is passed over with a warning: %s=%s', (name, text) => {
    const { config, warnings } = load('', { env: { [name]: text } });
    expect(config.server.port).toBe(8080);
    expect(warnings).toEqual([
      `${name} is ignored: Kubernetes sets it for a service of this name. Set \`enableServiceLinks: false\` in the pod.`,
    ]);
  });

  it('PARLEY_URL is passed over with a warning that names PARLEY_BASE_URL', () => {
    expect(load('', { env: { PARLEY_URL: 'http://127.0.0.1:8080' } }).warnings).toEqual([
      'PARLEY_URL is ignored: it is not a setting. Commands read the address of a server from PARLEY_BASE_URL.',
    ]);
  });

  it('of client commands or other programs is ignored', () => {
    const env = {
      PARLEY_API_KEY: 'a',
      PARLEY_ADMIN_KEY: 'b'.repeat(32),
      PARLEY_BASE_URL: 'c',
      PORT: 'd',
      PATH: 'e',
    };
    expect(findings('', { env })).toEqual([]);
  });
});

describe('a value set in more than one place', () => {
  const text = 'server:\n  port: 1\n  host: a\n  drainMs: 4\n';
  const env = { PARLEY_PORT: '2', PARLEY_HOST: 'b' };
  const overrides = { server: { port: '3', host: undefined }, dataDir: '/srv', log: {} };
  const { config, sourceOf } = load(text, { env, overrides });

  it('comes from the command line, else the environment, else the file, else the default', () => {
    expect(config.server).toMatchObject({ port: 3, host: 'b', drainMs: 4, keepAliveMs: 75_000 });
    expect(config.dataDir).toBe('/srv');
  });

  it('keeps its source', () => {
    expect(sourceOf(['server', 'port'])).toEqual({ kind: 'flag', name: '--port' });
    expect(sourceOf(['dataDir'])).toEqual({ kind: 'flag', name: '--data-dir' });
    expect(sourceOf(['server', 'host'])).toEqual({ kind: 'variable', name: 'PARLEY_HOST' });
    expect(sourceOf(['server', 'drainMs'])).toEqual({ kind: 'file', file, line: 4, column: 12 });
    expect(sourceOf(['server', 'keepAliveMs'])).toEqual({ kind: 'default' });
    expect(sourceText(sourceOf(['server', 'drainMs']))).toBe(`${file}:4:12`);
  });

  it('keeps its source in engines and models too', () => {
    const loaded = load(
      'server:\n  port:\nmodels:\n  - {id: e, type: chat, engine: builtin, price: {input: 1, output: 2}}\n',
      { env: { PARLEY_ENGINES_BUILTIN_RECOGNIZERS: '2' } },
    );
    expect(loaded.sourceOf(['engines', 'builtin', 'recognizers'])).toMatchObject({ kind: 'variable' });
    expect(loaded.sourceOf(['engines', 'builtin', 'kind'])).toEqual({ kind: 'default' });
    expect(loaded.sourceOf(['models', 0, 'price', 'output'])).toMatchObject({
      kind: 'file',
      line: 4,
      column: 68,
    });
    expect(loaded.sourceOf(['models', 0, 'ownedBy'])).toEqual({ kind: 'default' });
    expect(loaded.sourceOf(['server', 'port'])).toEqual({ kind: 'default' });
  });

  it('may be a number or a text on the command line; a finding names the flag', () => {
    expect(load('', { overrides: { server: { port: 5 } } }).config.server.port).toBe(5);
    expect(finding('', { overrides: { server: { port: 70_000 } } })).toMatch(
      /^--port: `server\.port` is 70000, but/,
    );
    expect(finding('', { overrides: { log: { level: 'all' } } })).toMatch(/^--log-level: /);
  });
});

describe('models', () => {
  const chat = (more: string) => `models:\n  - id: gpt\n    type: chat\n    engine: builtin\n    ${more}\n`;

  it('for chat need a price', () => {
    expect(finding(chat('ownedBy: me'))).toBe(
      '2:5: The chat model `gpt` has no price. Write `price: {input: 0.1, output: 0.4}`, in credits per million ' +
        'tokens, or `price: {input: 0, output: 0}` for a free one.',
    );
    expect(finding(chat('price:'))).toMatch(/^5:5: The chat model `gpt` has no price\. /);
    expect(finding(chat('price: {input: 0}'))).toMatch(/^5:12: `models\[0\]\.price\.output` is missing\. /);
  });

  it.each([
    ['0', 0n],
    ['0.1', 100_000_000n],
    ['0.123456789', 123_456_789n],
    ['"0.15"', 150_000_000n],
    ['3', 3_000_000_000n],
    ['999999.000000001', 999_999_000_000_001n],
    ['1000000', 10n ** 15n],
  ])('take %s credits exactly', (text, nano) => {
    const { config } = load(chat(`price: {input: ${text}, output: 0}`));
    expect(config.models[0]).toMatchObject({ price: { inputPerMillion: nano, outputPerMillion: 0n } });
  });

  it.each([
    '1e-3',
    '-1',
    '0.1234567891',
    '.5',
    '1.',
    '0x10',
    '1_000',
    'free',
    '1000000.1',
    '99999999',
    '.inf',
    'true',
    '[1]',
  ])('refuse %s as a price and say how to write it', (text) =>
    expect(finding(chat(`price: {input: ${text}, output: 0}`))).toMatch(
      /^5:20: `models\[0\]\.price\.input` is .+, but must be credits per million tokens, from 0 to 1000000 in plain digits with at most 9 decimals, such as 0\.15\.$/,
    ),
  );

  it('for chat may fill their context with a completion by default', () => {
    const free = 'price: {input: 0, output: 0}\n    ';
    expect(finding(chat(`${free}contextTokens: 100\n    outputTokensMax: 100`))).toBe('no finding');
    expect(finding(chat(`${free}outputTokensMax: 5000`))).toBe(
      '6:22: An answer of `gpt` may have 5000 tokens, more than the 4096 of its `contextTokens`.',
    );
  });

  it('have unique ids: a finding names both places', () => {
    expect(
      finding(
        'models:\n  - {id: a, type: speech, engine: builtin}\n  - {id: a, type: transcription, engine: builtin}\n',
      ),
    ).toBe('3:10: The model at 2:10 has the id `a` already. Give one of them another id.');
  });

  it('for transcription: one at most', () => {
    expect(
      finding(
        'models:\n  - {id: a, type: transcription, engine: builtin}\n  - {id: b, type: transcription, engine: builtin}\n',
      ),
    ).toBe(
      '3:19: `b` is a second transcription model. Exactly one is active and serves every transcription: `a` at 2:19. Keep one of them, or let one of them have `liveOnly: true`.',
    );
  });

  it('for live transcription: one more', () => {
    const two = (settings: string) =>
      finding(`models:\n  - {id: a, type: transcription, engine: builtin${settings}}\n  - ${second}\n`);
    const second = '{id: b, type: transcription, engine: builtin, liveOnly: true}';
    expect(two('')).toBe('no finding');
    expect(two(', liveOnly: true')).toBe(
      '3:19: `b` is a second transcription model. Only one has `liveOnly`: `a` at 2:19. Keep one of them.',
    );
    const conversation = 'realtime: [{id: talk, transcription: a, chat: c, speech: d}]';
    const models = `models: [{id: a, type: transcription, engine: builtin}, ${second}]`;
    expect(findings(`${conversation}\n${models}\n`)).toContainEqual(
      expect.stringContaining('There is no transcription model `a`. There are: b.'),
    );
  });

  it('name an existing engine', () => {
    expect(finding('models:\n  - {id: a, type: speech, engine: bulitin}\n')).toBe(
      '2:35: There is no engine `bulitin` for the model `a`. `engines` has: builtin. Did you mean `builtin`?',
    );
    expect(finding('log: {level: info}\nengines: {main: {kind: builtin}}\n')).toBe(
      '2:1: The default models need an engine `builtin`. `engines` has: main. Add it, or write `models`.',
    );
  });

  it('may have any id, and voices by any name', () => {
    const { config } = load(
      'models:\n  - id: tts-1\n    type: speech\n    engine: builtin\n    defaultVoice: onyx\n    voices: {alloy: slt, onyx: kal16}\n',
    );
    expect(config.models).toEqual([
      {
        id: 'tts-1',
        type: 'speech',
        engine: 'builtin',
        ownedBy: 'parley',
        defaultVoice: 'onyx',
        voices: { alloy: 'slt', onyx: 'kal16' },
      },
    ]);
  });

  it('speak with their first voice by default', () => {
    const { config } = load(
      'models: [{id: a, type: speech, engine: builtin, voices: {nova: slt, echo: rms}}]',
    );
    expect(config.models[0]).toMatchObject({ defaultVoice: 'nova' });
  });

  it('have the default voice among their voices', () => {
    expect(
      finding('models: [{id: a, type: speech, engine: builtin, defaultVoice: aloy, voices: {alloy: slt}}]'),
    ).toBe('1:63: The model `a` has no voice `aloy`. `voices` has: alloy. Did you mean `alloy`?');
  });

  it('have at least one voice in `voices`, and none named `__proto__`', () => {
    const voices = (map: string) => `models: [{id: a, type: speech, engine: builtin, voices: ${map}}]`;
    expect(finding(voices('{}'))).toContain('must be a map of at least one public voice name');
    expect(finding(voices('{a: slt, __proto__: kal}'))).toMatch(/^1:66: `__proto__` cannot be a name\./);
  });

  it('have a valid date', () => {
    const dated = (date: string) => `models: [{id: a, type: speech, engine: builtin, created: ${date}}]`;
    expect(load(dated('2024-02-29')).config.models[0]).toMatchObject({ created: '2024-02-29' });
    expect(finding(dated('2025-02-29'))).toContain('must be a date such as 2026-01-31');
  });

  it('may be an empty list', () => {
    expect(load('models: []').config.models).toEqual([]);
  });

  it('are checked against each other even if other settings are invalid', () => {
    const all = findings(
      'server: {port: x}\nmodels:\n  - {id: a, type: speech, engine: b}\n  - {id: a, type: chat, engine: builtin}\n',
    );
    expect(all.map((line) => line.split(': ')[0])).toEqual(['1:16', '3:35', '4:5', '4:10']);
  });
});

describe('conversations', () => {
  const models = `models:
  - {id: ear, type: transcription, engine: builtin}
  - {id: mind, type: chat, engine: builtin, price: {input: 0, output: 0}}
  - {id: mouth, type: speech, engine: builtin, voices: {anna: slt}}
`;

  it('are those of the file, none beside its own models, and one of the default models', () => {
    const written = load(`${models}realtime: [{id: a, chat: mind, speech: mouth, voice: anna}]`);
    expect(written.config.realtime).toEqual([{ id: 'a', chat: 'mind', speech: 'mouth', voice: 'anna' }]);
    expect(load(models).config.realtime).toEqual([]);
    expect(load('').config.realtime).toMatchObject([{ id: 'eliza-live', chat: 'eliza', speech: 'flite' }]);
  });

  it.each([
    ['{id: a, chat: mint, speech: mouth}', 'There is no chat model `mint`. There are: mind.'],
    ['{id: a, chat: ear, speech: mouth}', 'There is no chat model `ear`.'],
    ['{id: a, chat: mind, speech: mouth, transcription: mind}', 'There is no transcription model `mind`.'],
    ['{id: a, chat: mind, speech: mouth, voice: bert}', 'The model `mouth` has no voice `bert`.'],
    ['{id: a, chat: mind}', 'speech'],
    ['{id: a, chat: mind, speech: mouth}, {id: a, chat: mind, speech: mouth}', 'has the id `a` already'],
  ])('name models and voices that there are: %s', (conversations, message) => {
    expect(finding(`${models}realtime: [${conversations}]`)).toContain(message);
  });
});

describe('the files beside the program', () => {
  const example = readFileSync(project('parley.example.yaml'), 'utf8');
  const schema: unknown = JSON.parse(configJsonSchema());

  /** Every name of a setting in the schema, with its description. */
  const described = (node: unknown): (readonly [name: string, description: unknown])[] => {
    if (typeof node !== 'object' || node === null) return [];
    const { properties = {}, ...inner } = node as { properties?: Record<string, { description?: string }> };
    const own = Object.entries(properties).map(([name, { description }]) => [name, description] as const);
    return [...own, ...[...Object.values(properties), ...Object.values(inner)].flatMap(described)];
  };
  const settings = described(schema);

  it('parley.schema.json is current (node scripts/write-config-schema.ts writes it)', () => {
    expect(readFileSync(project('parley.schema.json'), 'utf8')).toBe(configJsonSchema());
  });

  it('parley.schema.json describes every setting by its comment in parley.example.yaml, and is the same on every machine', () => {
    expect(settings.filter(([, description]) => typeof description !== 'string')).toEqual([]);
    expect(schema).not.toHaveProperty(
      'properties.engines.additionalProperties.oneOf[0].properties.speechThreads.default',
    );
  });

  it('parley.example.yaml names every setting', () => {
    const names = settings.map(([name]) => name);
    const missing = names.filter((name) => !new RegExp(`^[ #-]*${name}:`, 'm').test(example));
    expect(names.length).toBeGreaterThan(30);
    expect(missing).toEqual([]);
  });

  it('parley.example.yaml shows every default of the sections', () => {
    const { config, sourceOf } = loadConfigWithSources({ env: {}, file: project('parley.example.yaml') });
    const { server, limits, fairUse, log } = config;
    const paths = Object.entries({ server, limits, fairUse, log }).flatMap(([section, settings]) =>
      Object.keys(settings).map((name) => `${section}.${name}`),
    );
    expect([...paths, 'dataDir'].filter((path) => sourceOf(path.split('.')).kind !== 'file')).toEqual([]);
  });

  it('parley.example.yaml names the schema for editors', () => {
    expect(example.split('\n')[0]).toBe('# yaml-language-server: $schema=./parley.schema.json');
  });

  it('parley.example.yaml has valid entries for clients with built-in names, commented out', () => {
    const lines = example.split('\n');
    const fixed = lines.slice(lines.findIndex((line) => line.includes('id: tts-1')));
    const { config } = load(`models:\n${fixed.map((line) => line.replace('# ', '')).join('\n')}`);
    expect(config.models).toMatchObject([
      { id: 'tts-1', defaultVoice: 'alloy', voices: { alloy: 'slt' } },
      { id: 'whisper-1', type: 'transcription' },
    ]);
  });

  it('parley.example.yaml stays valid with any commented setting enabled', () => {
    const settings = [
      'speechThreads',
      'encoderThreads',
      'recognizers',
      'created',
      'description',
      'defaultVoice',
    ];
    for (const name of settings) {
      const text = example.replace(new RegExp(`^( *)# (${name}: )`, 'm'), '$1$2');
      expect(text).not.toBe(example);
      expect(findings(text)).toEqual([]);
    }
  });
});
