/** The guides to other programs: their commands run as they are shown, or have a reason here why they do not. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { readPage } from './page.ts';
import { type Ended, shell } from './shell.ts';

const root = new URL('../..', import.meta.url).pathname;
const fixedNames = join(root, 'examples/fixed-names.yaml');
const needsDocker = 'it downloads an image of a gigabyte or more';
const needsPackages = 'test/slow installs the same packages and calls them';
const isAgent = 'test/slow plays the whole page, before upstreams that call tools';
const isServer = 'the test starts the server in its own process, with the same settings';

/** By page, the blocks that are not run here, with the reason. */
const notRun: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'claude-code': { serve: isServer, key: isServer, install: isAgent, task: isAgent, continue: isAgent },
  codex: { serve: isServer, install: isAgent, settings: isAgent, task: isAgent, continue: isAgent },
  opencode: { serve: isServer, install: isAgent, settings: isAgent, task: isAgent, continue: isAgent },
  cline: { serve: isServer, install: isAgent, settings: isAgent, task: isAgent },
  'open-webui': { serve: isServer, 'open-webui': needsDocker },
  'home-assistant': { serve: isServer, install: needsPackages, bridge: needsPackages },
  livekit: {
    serve: isServer,
    install: needsPackages,
    agent: "it needs LiveKit's server; test/slow starts the program with --help",
  },
  n8n: { serve: isServer, n8n: needsDocker },
  tls: { serve: isServer, renew: 'it writes to /etc' },
};

/** The blocks that are run here; files are checked. */
const run: Readonly<Record<string, readonly string[]>> = {
  'claude-code': ['parley.yaml', 'settings', 'check'],
  codex: ['parley.yaml', 'key', 'check'],
  opencode: ['parley.yaml', 'key', 'check'],
  cline: ['parley.yaml', 'key', 'check'],
  'open-webui': ['check'],
  'home-assistant': ['check'],
  livekit: ['agent.mjs', 'check'],
  n8n: ['check'],
  tls: [
    'certificate',
    'call',
    'commands',
    'parley.yaml',
    'check',
    'proxied.yaml',
    'Caddyfile',
    'live',
    'parley.conf',
  ],
};

/** A command of a page, with the address of a server in place of the page's. */
async function play(parley: Parley, commands: string): Promise<Ended> {
  const { origin } = new URL(parley.baseUrl);
  const shown = commands.replaceAll('http://127.0.0.1:8080', origin).replace('pk_…', parley.apiKey);
  const ended = await shell(shown, { env: { KEY: parley.apiKey, ANTHROPIC_API_KEY: 'sk-other' } });
  expect([ended.code, ended.code === 0 ? '' : ended.stderr]).toEqual([0, '']);
  return ended;
}

function configOf(page: string, name: string): ReturnType<typeof loadConfig> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-guide-'));
  const file = join(folder, 'parley.yaml');
  writeFileSync(file, readPage(`../${page}`).file(name));
  try {
    return loadConfig({ env: {}, file });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe.each(Object.keys(run))('docs/%s.md', (page) => {
  const markdown = readFileSync(join(root, `docs/${page}.md`), 'utf8');

  it('has no command that is neither run nor has a reason', () => {
    const named = [...markdown.matchAll(/^```\w+ (\S+)$/gm)].map(([, name = '']) => name);
    const known = [...(run[page] ?? []), ...Object.keys(notRun[page] ?? {})];
    expect(named.toSorted()).toEqual(known.toSorted());
    expect(markdown).not.toMatch(/^```(sh|console)$/m);
  });

  it('shows the file name above each file', () => {
    const files = readPage(`../${page}`).unseenFiles();
    // It is a part of a file that the reader has.
    expect(files.filter((file) => file !== 'proxied.yaml')).toEqual([]);
  });
});

const agents = [
  { page: 'claude-code', before: 'settings', answer: { type: 'message', model: 'coder' } },
  { page: 'codex', before: 'key', answer: { object: 'response', model: 'coder' } },
  { page: 'opencode', before: 'key', answer: { type: 'message', model: 'coder' } },
  { page: 'cline', before: 'key', answer: { object: 'chat.completion', model: 'coder' } },
];

describe.each(agents)('the guide to the agent $page', ({ page: name, before, answer }) => {
  it('has a configuration that is valid', () => {
    const { models } = configOf(name, 'parley.yaml');
    expect(models.map(({ id, type }) => `${id} ${type}`)).toEqual(['coder chat']);
  });

  it('has settings with which the server answers', async () => {
    const models = [
      {
        id: 'coder',
        type: 'chat',
        engine: 'builtin',
        price: { input: 0, output: 0 },
        contextTokens: 65_536,
      } as const,
    ];
    const parley = await startParley({ settings: { models } });
    const page = readPage(`../${name}`);
    const { stdout } = await play(parley, `${page.command(before)}\n${page.command('check')}`);
    expect(JSON.parse(stdout)).toMatchObject(answer);
    await parley.close();
  });
});

describe('the guides with names that clients have built in', () => {
  it.each(['open-webui', 'home-assistant', 'n8n'])(
    '%s finds the models and voices that it names',
    async (name) => {
      const parley = await startParley({ file: fixedNames, settings: { voices: { access: 'open' } } });
      const { stdout } = await play(parley, readPage(`../${name}`).command('check'));
      const text = readFileSync(join(root, `docs/${name}.md`), 'utf8');
      if (name === 'open-webui' || name === 'home-assistant') {
        expect(text).toContain('PARLEY_VOICES_ACCESS=open ./parley serve');
        expect(stdout).toContain('"alloy"');
      }
      if (name !== 'home-assistant')
        for (const id of ['tts-1', 'whisper-1', 'gpt-4o-mini']) expect(stdout).toContain(`"${id}"`);
      await parley.close();
    },
  );
});

describe('the guide to LiveKit', () => {
  it('names models and a voice of the engine inside', async () => {
    const parley = await startParley();
    const page = readPage('../livekit');
    const { stdout } = await play(parley, page.command('check'));
    const { data } = JSON.parse(stdout) as { data: { id: string; voices?: string[] }[] };
    const agent = page.file('agent.mjs');
    const named = [...agent.matchAll(/model: '([^']+)'/g)].map(([, id]) => id);
    expect(named).toHaveLength(3);
    const ids = data.map(({ id }) => id);
    expect(named.filter((id = '') => !ids.includes(id))).toEqual([]);
    const [, voice = ''] = /voice: '([^']+)'/.exec(agent) ?? [];
    expect(data.find(({ id }) => id === 'flite')?.voices).toContain(voice);
    await parley.close();
  });

  it('is JavaScript', async () => {
    const env = { CODE: readPage('../livekit').file('agent.mjs') };
    const check = `printf %s "$CODE" | '${process.execPath}' --check --input-type=module`;
    const { code, stderr } = await shell(`${check} && :`, { env });
    expect([code, stderr]).toEqual([0, '']);
  });

  it('installs the versions that the slow test calls', () => {
    const { dependencies } = JSON.parse(
      readFileSync(join(root, 'test/slow/clients/livekit/package.json'), 'utf8'),
    ) as { dependencies: Record<string, string> };
    for (const name of ['@livekit/agents', '@livekit/agents-plugin-openai'])
      expect(readPage('../livekit').command('install')).toContain(`${name}@${dependencies[name]}`);
  });
});
