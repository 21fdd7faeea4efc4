/** The alert rules and the dashboard use metrics and labels of the server, and promtool accepts all three. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { missingPrograms } from '../support/audio-files.ts';
import { startParley } from '../support/parley.ts';

const folder = fileURLToPath(new URL('../../deploy/prometheus/', import.meta.url));
const read = (name: string) => readFileSync(`${folder}${name}`, 'utf8');
const rules: readonly { readonly expr: string }[] = parse(read('alerts.yaml')).groups[0].rules;
const panels: readonly { readonly targets: readonly { readonly expr: string }[] }[] = JSON.parse(
  read('dashboard.json'),
).panels;
const expressions = [...rules, ...panels.flatMap(({ targets }) => targets)].map(({ expr }) => expr);

const parley = await startParley();
const body = { model: 'eliza', messages: [{ role: 'user', content: 'Hello.' }] };
await (await parley.postJson('/chat/completions', body)).text();
const text = await parley.metrics();
afterAll(() => parley.close());

/** Names of the samples that a server reports. */
function sampleNames(): ReadonlySet<string> {
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  return new Set(
    types.flatMap(([, name = '', type]) => (type === 'histogram' ? [`${name}_bucket`] : [name])),
  );
}

it('rules and dashboard read metrics that exist', () => {
  const used = expressions.flatMap((expr) => expr.match(/\b(parley|nodejs|process)_\w+/g) ?? []);
  expect(new Set(used).size).toBeGreaterThan(15);
  const names = sampleNames();
  expect(used.filter((name) => !names.has(name))).toEqual([]);
});

it('an alert that is given up counts from 0, as the rule needs an increase', () => {
  expect(text).toMatch(/^parley_alert_attempts_total\{outcome="given_up"\} 0$/m);
});

it('only counters are named like counters', () => {
  const named = [...text.matchAll(/^# TYPE (\S+_total) (\S+)$/gm)].map(([, , type]) => type);
  expect(new Set(named)).toEqual(new Set(['counter']));
});

it('a server that accepts requests is ready', () => {
  expect(text).toMatch(/^parley_ready 1$/m);
});

const missing = missingPrograms('promtool');
const reason = missing === undefined ? '' : ` (skipped: ${missing}, of the Debian package prometheus)`;
describe.skipIf(missing !== undefined)(`promtool${reason}`, () => {
  it.each([
    ['check', 'metrics'],
    ['check', 'rules', '--lint=all', '--lint-fatal', 'alerts.yaml'],
    ['test', 'rules', 'alerts-test.yaml'],
  ])('%s %s finds no fault', (...args) => {
    const { status, stdout, stderr } = spawnSync('promtool', args, {
      cwd: folder,
      input: text,
      encoding: 'utf8',
    });
    expect({
      status,
      faults: status === 0 ? stderr.replace(/^.*SUCCESS.*$/gm, '').trim() : stdout + stderr,
    }).toEqual({ status: 0, faults: '' });
  });
});
