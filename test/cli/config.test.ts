import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { afterAll, describe, expect, it } from 'vitest';
import { version } from '../../src/app/version.ts';
import { createProgram } from '../../src/cli/program.ts';
import { parley, parleyProcess, printed, printedJson, scratchFolder } from '../support/command-line.ts';

const folder = scratchFolder();
afterAll(() => folder.remove());
const options = { cwd: folder.path };

describe('parley config', () => {
  it('shows each setting, its value and its source', async () => {
    writeFileSync(
      folder.file('parley.yaml'),
      'server:\n  host: 127.0.0.2\nmodels:\n  - {id: chatty, type: chat, engine: builtin, price: {input: 0.15, output: 1}}\n',
    );
    const env = { PARLEY_LOG_LEVEL: 'warn' };
    const { settings } = await printedJson<{ settings: { name: string; value: unknown; source: string }[] }>(
      ['config', 'show', '--data-dir', 'elsewhere'],
      { ...options, env },
    );
    const facts = (name: string) => settings.find((setting) => setting.name === name);
    expect(facts('server.host')).toEqual({
      name: 'server.host',
      value: '127.0.0.2',
      source: 'parley.yaml:2:9',
    });
    expect(facts('server.port')).toEqual({ name: 'server.port', value: 8080, source: 'default' });
    expect(facts('log.level')).toEqual({ name: 'log.level', value: 'warn', source: 'PARLEY_LOG_LEVEL' });
    expect(facts('dataDir')).toEqual({ name: 'dataDir', value: 'elsewhere', source: '--data-dir' });
    expect(facts('models[0].price.input')).toMatchObject({
      value: '0.15',
      source: expect.stringContaining('parley.yaml:4:'),
    });
    expect(await printed(['config', 'show'], options)).toMatch(
      /^SETTING +VALUE +FROM\nserver\.host +127\.0\.0\.2 +parley\.yaml:2:9\n/,
    );
  });

  it('checks a file and shows every problem at once', async () => {
    writeFileSync(folder.file('good.yaml'), 'server: {port: 9000}\n');
    writeFileSync(folder.file('bad.yaml'), 'server:\n  port: 70000\n  hots: 1\n');
    const good = await parley(['config', 'check', 'good.yaml'], options);
    expect([good.code, good.stdout, good.stderr]).toEqual([0, '', 'good.yaml is valid.\n']);
    const bad = await parley(['config', 'check', 'bad.yaml'], options);
    expect(bad.code).toBe(1);
    expect(bad.stderr).toMatch(
      /^The configuration has 2 problems:\n {2}bad\.yaml:2:9: .*\n {2}bad\.yaml:3:3: .* Did you mean `host`\?\n$/,
    );
    const { code, stdout } = await parley(['config', 'check', 'bad.yaml', '--json'], options);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      valid: false,
      findings: [
        { source: 'bad.yaml:2:9', setting: 'server.port' },
        { source: 'bad.yaml:3:3', suggestion: 'host' },
      ],
    });
  });
});

const groups = {
  '': [
    'serve',
    'config',
    'health',
    'doctor',
    'completion',
    'notices',
    'account',
    'key',
    'keys',
    'audit',
    'alerts',
    'plan',
    'credits',
    'statement',
    'usage',
    'prices',
    'models',
    'engines',
    'runtimes',
    'backup',
    'restore',
    'migrate',
    'store',
    'prune',
    'speak',
    'transcribe',
    'listen',
    'talk',
    'chat',
    'version',
    'model-program',
    'complete',
  ],
  account: ['create', 'list', 'show', 'limits', 'rename', 'suspend', 'resume', 'export', 'delete'],
  audit: ['export'],
  keys: ['list', 'create', 'limits', 'rotate', 'revoke', 'usage'],
  plan: ['start-trial', 'activate', 'end'],
  key: ['create', 'invite', 'list', 'rotate', 'limits', 'revoke'],
  credits: ['load', 'adjust', 'show', 'ledger'],
  usage: ['show', 'export', 'focus', 'totals'],
  prices: ['diff'],
  alerts: ['show', 'set', 'confirm', 'list', 'test'],
  config: ['apply', 'show', 'check'],
  store: ['copy'],
  engines: ['load', 'unload'],
  runtimes: ['list', 'install', 'verify'],
  models: ['list', 'available', 'pull', 'add', 'import', 'verify', 'rm'],
};

function helpOf(command: Command): string {
  let help = '';
  command.configureOutput({
    writeOut: (text) => {
      help += text;
    },
  });
  command.outputHelp();
  return help;
}

describe('every command', () => {
  const program = createProgram(version);

  it('shows its version', async () => {
    const [first, commit, schema] = (await parleyProcess(['--version'])).stdout.trimEnd().split('\n');
    expect(first).toBe(version);
    expect(commit).toMatch(/^commit ([0-9a-f]{40}(-dirty)?|unknown)$/);
    expect(schema).toMatch(/^schema \d+ \(\d{4}-[a-z-]+\)$/);
  });

  it.each(Object.entries(groups))('under parley %s has help with examples', (group, commands) => {
    const parent = program.commands.find((command) => command.name() === group) ?? program;
    expect(parent.commands.map((command) => command.name())).toEqual(commands);
    for (const command of [parent, ...parent.commands]) {
      expect(helpOf(command)).toMatch(/\nExamples:\n {2}.*parley /);
    }
  });

  it.each(['-v', 'version'])('shows its version for %s', async (word) => {
    expect(await printed([word])).toMatch(/^\d+\.\d+\.\d+(\n|$)/);
  });

  it('shows its help on standard output, and exits with 0', async () => {
    expect(await printed(['key', 'create', '--help'])).toMatch(/^Usage: parley key create \[options\]\n/);
  });

  it.each([
    [['usage', '--state', 'faild'], / \(Did you mean failed\?\) See `parley usage --help`\.\n$/],
    [['usage', 'totals', '--by', 'key,acount'], / \(Did you mean account\?\) See /],
    [['usage', '--state', 'xyzzy'], / replayed\. See `parley usage --help`\.\n$/],
    [['acount'], /^error: unknown command 'acount'\. \(Did you mean account\?\) See `parley --help`\.\n$/],
    [
      ['account', 'show'],
      /^error: missing required argument 'account'\. See `parley account show --help`\.\n$/,
    ],
    [
      ['usage', '--limit', '0'],
      /^error: option '--limit <number>' argument '0' is invalid\. Write a whole number .*\n$/,
    ],
    [
      ['usage', '--state', 'faild'],
      /^error: option '--state <state>' argument 'faild' is invalid\. Allowed choices are started, ok, refused, failed, .*\n$/,
    ],
    [['key', 'create'], /^error: give --account <account>, or --admin\. See `parley key create --help`\.\n$/],
    [
      ['key', 'create', '--admin', '--account', 'a'],
      /^error: option '--admin' cannot be used with option '--account <account>'\. .*\n$/,
    ],
    [
      ['key', 'create', '--account', 'a', '--expires', 'soon'],
      /is invalid\. Write a date such as 2027-01-31, .*\n$/,
    ],
    [
      ['key', 'create', '--account', 'a', '--expires', '2027-13-01'],
      /is invalid\. Write a date such as 2027-01-31, .*\n$/,
    ],
    [
      ['key', 'create', '--account', 'a', '--scopes', 'speech,song'],
      /is invalid\. Write some of speech,transcription,chat,manage\. .*\n$/,
    ],
    [
      ['key', 'rotate', 'key_1', '--overlap', '1 day'],
      /is invalid\. Write a number and s, m, h, d or w, such as 24h\. .*\n$/,
    ],
    [['credits', 'load', 'a', '1'], /^error: required option '--reason <text>' not specified\. .*\n$/],
    [
      ['models', '--base-url', 'localhost'],
      /is invalid\. Write a URL such as http:\/\/127\.0\.0\.1:8080\/api\/v1\. .*\n$/,
    ],
    [
      ['speak', 'hi', '-o', 'hi.txt'],
      /^error: the file name has no known extension: use one of \.mp3, .* or add --format\. .*\n$/,
    ],
    [['speak', 'hi', '--json'], /^error: --json needs -o: .*\n$/],
    [['transcribe'], /^error: missing required argument 'file'\. .*\n$/],
    [
      ['transcribe', 'a.mp3', '--words', '--format', 'srt'],
      /^error: --words needs --format verbose_json\. .*\n$/,
    ],
    [
      ['transcribe', 'a.mp3', 'b.mp3', '--format', 'srt'],
      /^error: several srt files cannot be one output: add --output-dir <folder>\. .*\n$/,
    ],
    [
      ['transcribe', 'x/a.mp3', 'a.wav', '--output-dir', 'out'],
      /^error: two files would be written to out\/a\.txt: .*\n$/,
    ],
    [['chat', '--json'], /^error: --json needs a message\. .*\n$/],
  ])('says in one line what is wrong with %j, and exits with 2', async (args, line) => {
    const { code, stdout, stderr } = await parley(args, {
      cwd: folder.path,
      env: { PARLEY_CONFIG: 'good.yaml' },
    });
    expect(stderr).toMatch(line);
    expect([code, stdout]).toEqual([2, '']);
  });
});
