/** Changes of parley.yaml by operators, on a running server with a real file. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { FileEditor } from '../../../src/app/configuration-editor.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { bearer, errorOf, type Parley, startParley } from '../../support/parley.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { json } from '../../support/upstream-answers.ts';

interface Result {
  readonly version: string;
  readonly diff: readonly string[];
  readonly findings: readonly { readonly setting?: string; readonly message: string }[];
}

interface File {
  readonly path: string;
  readonly version: string;
  readonly entries: readonly { section: string; name: string; yaml: string; read_only: boolean }[];
  readonly problem?: string;
  readonly can_undo: boolean;
}

const written = `# Ours
engines:
  # by contract
  builtin: { kind: builtin }
models:
  - id: eliza # old
    type: chat
    engine: builtin
    price: { input: 0.10, output: 0.40 }
`;

let folder: string;
let file: string;
let parley: Parley;
let upstream: ScriptedUpstream;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-configuration-'));
  file = join(folder, 'parley.yaml');
  writeFileSync(file, written, { mode: 0o640 });
  [parley, upstream] = await Promise.all([startParley({ file }), startScriptedUpstream()]);
  return async () => {
    await Promise.all([parley.close(), upstream.stop()]);
    rmSync(folder, { recursive: true });
  };
});

const textOf = () => readFileSync(file, 'utf8');
const read = async () => (await (await parley.admin('/configuration')).json()) as File;
const edit = (section: string, name: string, yaml: string, more: object = {}) => ({
  section,
  name,
  yaml,
  ...more,
});

async function send(edits: readonly object[], more: object = {}) {
  const { version } = await read();
  return parley.admin('/configuration', { version, edits, ...more });
}

async function change(edits: readonly object[], more: object = {}): Promise<Result> {
  const answer = await send(edits, more);
  const result = (await answer.json()) as Result;
  expect([answer.status, result]).toMatchObject([200, {}]);
  return result;
}

const engine = () =>
  edit('engines', 'far', `kind: openai\nbaseUrl: ${upstream.baseUrl}\n`, { api_key: 'sk-typed' });
const model = edit(
  'models',
  'gpt',
  'id: gpt\ntype: chat\nengine: far\nprice: { input: 1, output: 2 }\ncontextTokens: 8192\n',
);

it('adds an engine with its key and a model, which serve at once', async () => {
  const { diff, findings } = await change([engine(), model]);
  expect(findings).toEqual([]);
  expect(diff).toContain('+   - id: gpt');
  expect(textOf()).toContain('# by contract');
  expect(textOf()).not.toContain('sk-typed');
  expect(statSync(file).mode & 0o777).toBe(0o640);
  upstream.answer(
    '/chat/completions',
    json({
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    }),
  );
  const answer = await parley.postJson('/chat/completions', {
    model: 'gpt',
    messages: [{ role: 'user', content: 'Hi' }],
  });
  expect(answer.status).toBe(200);
  expect(upstream.requests.at(-1)?.headers.authorization).toBe('Bearer sk-typed');
  const [, keyFile = ''] = /apiKeyFile: (.*)/.exec(textOf()) ?? [];
  expect(statSync(keyFile).mode & 0o777).toBe(0o600);
});

it('keeps comments and the form of what it does not change', async () => {
  const before = 'id: eliza # old\ntype: chat\nengine: builtin\nprice: { input: 0.10, output: 0.40 }\n';
  expect((await read()).entries).toEqual([
    { section: 'engines', name: 'builtin', yaml: '', read_only: true },
    { section: 'models', name: 'eliza', yaml: before, read_only: false },
  ]);
  const { diff } = await change([edit('models', 'eliza', before.replace('0.40', '0.50'))]);
  expect(diff.filter((line) => !line.startsWith('  '))).toEqual([
    '-     price: { input: 0.10, output: 0.40 }',
    '+     price: { input: 0.10, output: 0.50 }',
  ]);
  expect(textOf()).toBe(written.replace('0.40', '0.50'));
});

it('writes nothing if only blanks would change', async () => {
  const spaced = written.replace('id: eliza # old', 'id:   eliza    # old');
  writeFileSync(file, spaced);
  const before = await read();
  const { yaml = '' } = before.entries.find(({ name }) => name === 'eliza') ?? {};
  const { diff, version } = await change([edit('models', 'eliza', yaml)]);
  expect([diff, version, textOf()]).toEqual([[], before.version, spaced]);
});

it('only shows what would change if it is asked to', async () => {
  const { diff, version } = await change([engine(), model], { validate_only: true });
  expect(diff).toContain('+   - id: gpt');
  expect(textOf()).toBe(written);
  expect((await read()).version).not.toBe(version);
  expect(keysOf()).toEqual([]);
});

it('changes nothing that the configuration check refuses, and says why', async () => {
  const { findings } = await change([edit('models', 'gpt', 'id: gpt\ntype: chat\nengine: nowhere\n')]);
  expect(findings.map(({ setting }) => setting)).toEqual(['models[1].price', 'models[1].engine']);
  expect(textOf()).toBe(written);
});

it('takes the last change back, and makes it again', async () => {
  const { version } = await change([engine(), model]);
  const after = textOf();
  expect((await read()).can_undo).toBe(true);
  expect((await parley.admin('/configuration/undo', { version })).status).toBe(200);
  expect(textOf()).toBe(written);
  await parley.admin('/configuration/undo', { version: (await read()).version });
  expect(textOf()).toBe(after);
  await change([edit('models', 'gpt', ''), edit('engines', 'far', '')]);
  expect(keysOf()).toHaveLength(1);
  await change([
    edit('models', 'eliza', 'id: eliza\ntype: chat\nengine: builtin\nprice: { input: 1, output: 1 }\n'),
  ]);
  expect(keysOf()).toEqual([]);
  writeFileSync(file, `${textOf()}# by hand\n`);
  expect((await read()).can_undo).toBe(false);
  const { code } = await errorOf(
    await parley.admin('/configuration/undo', { version: (await read()).version }),
  );
  expect(code).toBe('invalid_parameter');
});

it('loses nothing if two people save at once', async () => {
  const { version } = await read();
  const yaml = 'id: eliza\ntype: chat\nengine: builtin\nprice: { input: 1, output: 1 }\n';
  const second = edit('models', 'eliza', yaml);
  const answers = await Promise.all(
    [[engine(), model], [second]].map((edits) => parley.admin('/configuration', { version, edits })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  const refused = answers.find(({ status }) => status === 400) as Response;
  expect(await errorOf(refused)).toMatchObject({
    param: 'version',
    message: expect.stringContaining('Read it again'),
  });
});

it('writes each change into the audit trail, with its lines', async () => {
  await change([engine(), model]);
  const { entries } = (await (await parley.admin('/audit?page_size=1')).json()) as {
    entries: { action: string; target: string; details: string }[];
  };
  expect(entries).toMatchObject([{ action: 'configuration.change', target: file }]);
  expect(JSON.parse(entries[0]?.details ?? '').diff).toContain('+   - id: gpt');
});

it('replaces no entry that must be new', async () => {
  await change([engine(), model]);
  const again = { ...model, must_be_new: true };
  const { findings } = await change([again]);
  expect(findings).toMatchObject([{ setting: 'models[2].id' }]);
  expect(await errorOf(await send([{ ...engine(), must_be_new: true }]))).toMatchObject({ param: 'name' });
});

it('shows no secret of the file, wherever a change stands', async () => {
  const engines = `  secret: { kind: process, command: [sh], group:   hidden }
  far:   { kind: openai, baseUrl: "http://127.0.0.1:9/v1", headers: { Authorization:    hidden } }
`;
  writeFileSync(file, written.replace('models:', `${engines}models:`));
  expect(JSON.stringify(await read())).not.toContain('hidden');
  const other = edit('engines', 'other', 'kind: openai\nbaseUrl: http://127.0.0.1:9/v1\n');
  const { diff } = await change([other, model], { validate_only: true });
  expect(diff).toContain('+   other:');
  expect(JSON.stringify(diff)).not.toContain('hidden');
  const moved = edit('engines', 'far', 'kind: openai\nbaseUrl: http://127.0.0.1:8/v1\n');
  expect(await errorOf(await send([moved]))).toMatchObject({ status: 400, param: 'yaml' });
});

describe('refuses', () => {
  it.each([
    ['a program', edit('engines', 'own', 'kind: process\ncommand: [sh]\n'), 'openai'],
    [
      'the engine inside',
      edit('engines', 'builtin', 'kind: openai\nbaseUrl: http://127.0.0.1:9/v1\n'),
      'openai',
    ],
    [
      'a file as the key',
      edit('engines', 'far', 'kind: openai\nbaseUrl: http://127.0.0.1:9/v1\napiKeyFile: /etc/hostname\n'),
      'Type the key',
    ],
    [
      'a variable as the key',
      edit('engines', 'far', 'kind: openai\nbaseUrl: http://127.0.0.1:9/v1\napiKeyEnv: PATH\n'),
      'Type the key',
    ],
    ['a list', edit('models', 'x', '- id: x\n'), 'map'],
    ['broken YAML', edit('models', 'x', 'id: [x\n'), 'not valid YAML'],
    ['an anchor of another entry', edit('models', 'x', 'id: x\ntype: *far\n'), 'anchor'],
    [
      'many values by aliases',
      edit('models', 'x', `id: x\na: &a [${'1,'.repeat(99)}]\nb: [${'*a,'.repeat(99)}]\n`),
      'values',
    ],
    ['another id than the name', edit('models', 'x', 'id: y\ntype: chat\n'), '`id`'],
    ['an unknown section', edit('store', 'kind', 'kind: sqlite\n'), 'engines, models'],
    ['the removal of nothing', edit('models', 'x', ''), 'no `x`'],
    ['a key for a model', edit('models', 'x', 'id: x\n', { api_key: 'k' }), 'has a key'],
  ])('%s', async (_, one, words) => {
    const refused = await errorOf(await send([one]));
    expect(refused).toMatchObject({ status: 400, message: expect.stringContaining(words) });
    expect(textOf()).toBe(written);
  });

  it('to send a key to another address than the one it was given for', async () => {
    await change([engine(), model]);
    const { entries } = await read();
    const far = entries.find(({ name }) => name === 'far');
    const moved = edit(
      'engines',
      'far',
      String(far?.yaml.replace(upstream.baseUrl, 'http://127.0.0.1:9/v1')),
    );
    expect(await errorOf(await send([moved]))).toMatchObject({ param: 'api_key' });
    expect((await change([{ ...moved, api_key: 'sk-other' }])).findings).toEqual([]);
  });

  it('a key without the scope', async () => {
    const made = await parley.admin('/keys', { name: 'server', scopes: ['server'] });
    const { secret } = (await made.json()) as { secret: string };
    for (const path of ['/configuration', '/configuration/undo']) {
      const answer = await parley.postJson(`/admin${path}`, { version: 'x', edits: [] }, bearer(secret));
      expect(await errorOf(answer)).toMatchObject({ status: 403, code: 'insufficient_scope' });
    }
  });
});

it('brings the old content back if the server cannot use the new one, or the audit entry cannot be written', async () => {
  let problem: string | undefined = 'The engine does not start.';
  const source = {
    path: file,
    read: (text?: string) => loadConfig({ env: {}, file, text, overrides: { dataDir: folder } }),
    apply: async () => problem,
    refusal: undefined,
    recogniser: () => 'pocketsphinx',
  };
  const config = loadConfig({ env: {}, file, overrides: { dataDir: folder } });
  const editor = new FileEditor({ source, config: () => config });
  const changed = (record: () => Promise<void>) => {
    const { version } = editor.read();
    const edits = [
      {
        section: 'models',
        name: 'eliza',
        yaml: written.slice(written.indexOf('id: eliza'), -1).replaceAll('\n    ', '\n').replace('0.40', '9'),
        mustBeNew: false,
      },
    ] as const;
    return editor.change({ version, isTried: false, edits }, record);
  };
  await expect(changed(async () => undefined)).rejects.toThrow('does not start');
  expect(textOf()).toBe(written);
  problem = undefined;
  await expect(changed(() => Promise.reject(new Error('no entry')))).rejects.toThrow('no entry');
  expect(textOf()).toBe(written);
  expect((await changed(async () => undefined)).diff).toHaveLength(2);
  expect(textOf()).not.toBe(written);
});

it('follows a link to the file, and keeps the link', async () => {
  const link = join(folder, 'link.yaml');
  symlinkSync(file, link);
  const linked = await startParley({ file: link });
  const { version } = (await (await linked.admin('/configuration')).json()) as File;
  await linked.admin('/configuration', { version, edits: [engine(), model] });
  await linked.close();
  expect(textOf()).toContain('id: gpt');
});

it('says what to do where the file cannot be written', async () => {
  rmSync(folder, { recursive: true });
  const { problem } = await read();
  expect(problem).toContain('parley config apply');
  expect((await change([engine(), model], { validate_only: true })).findings).toEqual([]);
  expect(await errorOf(await send([engine(), model]))).toMatchObject({ status: 400, message: problem });
  mkdirSync(folder);
});

const keysOf = () => {
  try {
    return readdirSync(join(parley.dataDir, 'configuration')).filter((name) => name.endsWith('.key'));
  } catch {
    return [];
  }
};

it('changes one of a thousand models, and lists all of them', async () => {
  const models = Array.from(
    { length: 1_000 },
    (_, at) =>
      `  - { id: m-${at}, type: chat, engine: builtin, price: { input: 1, output: 1 }, contextTokens: 4096 } # ${at}\n`,
  );
  writeFileSync(file, `engines: { builtin: { kind: builtin } }\nmodels:\n${models.join('')}`);
  const before = await read();
  expect(before.entries.filter(({ section }) => section === 'models')).toHaveLength(1_000);
  const { yaml = '' } = before.entries.find(({ name }) => name === 'm-777') ?? {};
  const { diff, findings } = await change([edit('models', 'm-777', yaml.replace('input: 1', 'input: 2'))]);
  // The entry is written in lines of its own.
  expect([diff[0], diff.length, findings]).toEqual([expect.stringContaining('id: m-777'), 6, []]);
  expect(textOf()).toContain('# 999');
  const { data } = (await (await parley.call('/models')).json()) as {
    data: { id: string; price: { input: string } }[];
  };
  expect(data).toHaveLength(1_000);
  expect(data.find(({ id }) => id === 'm-777')?.price.input).toBe('2');
});

it('takes no change that another page sends with the cookie of an operator', async () => {
  const { origin } = new URL(parley.baseUrl);
  const own = { origin, 'sec-fetch-site': 'same-origin' };
  const signedIn = await fetch(`${origin}/console/session`, {
    method: 'POST',
    headers: { ...own, authorization: `Bearer ${parley.adminKey}` },
  });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  expect(cookie).not.toBe('');
  const { version } = await read();
  const edits = [engine()];
  const sent = (page: Record<string, string>) =>
    fetch(`${parley.baseUrl}/admin/configuration`, {
      method: 'POST',
      headers: { ...page, cookie },
      body: JSON.stringify({ version, edits }),
    });
  const others = [
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { origin: 'http://evil.example' },
  ];
  for (const other of others) expect((await sent(other)).status).toBe(401);
  expect(textOf()).toBe(written);
  expect((await sent(own)).status).toBe(200);
});
