/** Lines for parley.yaml are checked as part of the file. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { checkAddedLines } from '../../src/config/config.ts';

const engine = 'engines:\n  far: { kind: openai, baseUrl: "http://127.0.0.1:9/v1" }\n';
const model = (settings: string) => `models:\n  - { id: far-small, engine: far, ${settings} }\n`;
const speech = model('type: speech');

/** @param text of the file. Default: no file */
function checked(lines: string, text?: string) {
  const env = { FAR_KEY: 'k' };
  if (text === undefined) return checkAddedLines({ env }, lines);
  const folder = mkdtempSync(join(tmpdir(), 'parley-lines-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'parley.yaml');
  writeFileSync(file, text);
  const findings = checkAddedLines({ env, file }, lines);
  expect(readFileSync(file, 'utf8')).toBe(text);
  return findings;
}

it('finds nothing in valid lines, with a file and without one', () => {
  const file =
    'engines: { builtin: { kind: builtin } }\nmodels: [{ id: a, type: speech, engine: builtin }]\n';
  expect(checked(engine + speech)).toEqual([]);
  expect(checked(engine + speech, file)).toEqual([]);
});

it('names settings as the lines have them, and what is wrong with each', () => {
  const file =
    'engines: { builtin: { kind: builtin } }\nmodels: [{ id: far-small, type: speech, engine: builtin }]\n';
  const wrong = engine.replace('http:', 'ftp:') + model('type: chat, price: { input: -1 }');
  const findings = checked(wrong, file);
  expect(Object.fromEntries(findings.map(({ setting, message }) => [setting, message]))).toEqual({
    'engines.far.baseUrl': expect.stringContaining('must be a URL such as'),
    'models[0].id': expect.stringContaining('has the id `far-small` already'),
    'models[0].price.input': expect.stringContaining('`models[0].price.input` is "-1", but must be'),
    'models[0].price.output': expect.stringContaining('is missing'),
  });
});

it('keeps findings about the rest of the file apart, with their places', () => {
  // Engines in the file replace the default ones.
  const [finding, ...others] = checked(engine, 'models: [{ id: a, type: speech, engine: builtin }]\n');
  expect(others).toEqual([]);
  expect(finding?.setting).toBeUndefined();
  expect(finding?.message).toMatch(/parley\.yaml:1:\d+: There is no engine `builtin` for the model `a`\./);
});

it('refuses a second engine of a name, and whatever is no engine and no model', () => {
  const lines = `${engine}server: { port: 1 }\n`;
  expect(checked(lines, `${engine}${speech}`)).toEqual([
    { setting: 'server', message: 'Only engines and models can be added.' },
    { setting: 'engines.far', message: 'There is an engine `far` already. Choose another name.' },
  ]);
  expect(checked('engines: 1\nmodels: { id: a }\n').map(({ setting }) => setting)).toEqual(
    expect.arrayContaining(['engines', 'models']),
  );
  expect(checked('- a\n')).toMatchObject([{ message: expect.stringContaining('must be a map') }]);
});

it('reads keys from variables only, and no file', () => {
  const keyed = (key: string) => engine.replace(' }', `, ${key} }`) + speech;
  expect(checked(keyed('apiKeyEnv: FAR_KEY'))).toEqual([]);
  expect(checked(keyed('apiKeyEnv: NO_KEY'))).toMatchObject([
    { setting: 'engines.far.apiKeyEnv', message: expect.stringContaining('NO_KEY is not set') },
  ]);
  expect(checked(keyed('apiKeyFile: /etc/passwd'))).toContainEqual({
    setting: 'engines.far.apiKeyFile',
    message: '`apiKeyFile` is not read here. Write `apiKeyEnv`.',
  });
});

it('names the model whose engine is missing, also without models in the file', () => {
  expect(checked(`${engine}${speech.replace('engine: far', 'engine: near')}`, engine)).toContainEqual(
    expect.objectContaining({ setting: 'models[0].engine' }),
  );
});

it('refuses more values than a server has, and says little about many wrong names', () => {
  const aliases = Array.from({ length: 2_000 }, () => '*a').join(', ');
  const repeated = checked(`server: &a x\nmodels: [${aliases}]\n`);
  expect(repeated).toMatchObject([{ message: expect.stringContaining('over 2000 values') }]);
  const names = Array.from({ length: 900 }, (_, index) => `e${index}`);
  const map = names.map((name) => `${name}: {kind: builtin}`).slice(0, 500);
  const wrong = `engines: {${map.join(', ')}}\nmodels: [{id: m, type: speech, engine: [x${names.join(', x')}]}]\n`;
  const findings = checked(wrong, 'engines: {}\n');
  expect(findings.length).toBeGreaterThan(0);
  expect(JSON.stringify(findings).length).toBeLessThan(50_000);
});
