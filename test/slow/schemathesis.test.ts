/**
 * Schemathesis makes requests from the OpenAPI document: the server accepts allowed requests, refuses forbidden ones,
 * and its answers match.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isObject } from '../../src/core/values/json.ts';
import { shell } from '../clients/shell.ts';
import { readDocument } from '../support/api-document.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { installPython } from './clients/install-python.ts';

const installed = await installPython('schemathesis', 10);
const missing = 'missing' in installed ? installed.missing : undefined;

/** Random cases for each operation, beside the examples and the bounds of the document. */
const cases = '6';
/** For 4,000 requests on a busy machine. */
const runMsMax = 1_200_000;

describe.skipIf(missing !== undefined)(`Schemathesis from PyPI ${missing ?? ''}`, () => {
  let parley: Parley;
  let accountKey: string;
  beforeAll(async () => {
    parley = await startParley();
    const scopes = ['speech', 'transcription', 'chat', 'manage'];
    const response = await parley.admin(`/accounts/${parley.accountId}/keys`, { name: 'all', scopes });
    accountKey = ((await response.json()) as { secret: string }).secret;
  });
  afterAll(() => parley.close());

  /** @param keyId the id of the key, which the run must not revoke or limit */
  async function run(key: string, keyId: string, paths: string): Promise<void> {
    if ('missing' in installed) throw new Error(installed.missing);
    const { folder } = installed;
    const file = join(folder, 'openapi.json');
    writeFileSync(file, JSON.stringify(playable(readDocument())));
    const { stdout, stderr, code } = await shell('exec venv/bin/python run.py', {
      env: { PARLEY_API_KEY: key, PARLEY_KEY_ID: keyId },
      args: [file, parley.baseUrl, paths, cases],
      cwd: folder,
      timeoutMs: runMsMax,
    });
    const found = stdout.slice(Math.max(stdout.search(/=+ (FAILURES|ERRORS) =+/), 0));
    expect(code, found + stderr).toBe(0);
    expect(stdout).toMatch(/\d{3,} generated, \d+ passed/);
  }

  it(
    'finds no difference with the key of an account',
    async () => {
      const response = await parley.call('/key', { headers: { authorization: `Bearer ${accountKey}` } });
      const { id } = (await response.json()) as { id: string };
      await run(accountKey, id, '^/(?!admin|metrics|healthz|readyz|openapi)');
    },
    runMsMax,
  );

  it(
    'finds no difference with an admin key',
    async () => {
      const { items } = await parley.app.store.keys.list(undefined, { size: 10, after: undefined });
      await run(parley.adminKey, items[0]?.id ?? '', '^/admin');
    },
    runMsMax,
  );
});

/**
 * The document with the models of this server, so that valid requests run. OpenAPI 3.1 cannot describe events, which
 * other tests check.
 */
function playable(document: JsonObject): JsonObject {
  const text = JSON.stringify(document, (name, value: unknown) =>
    name === 'text/event-stream' ? {} : value,
  );
  const copy: JsonObject = JSON.parse(text);
  for (const name of ['ChatCompletionParams', 'CompletionParams', 'ResponseParams'])
    Object.assign(at(copy, 'components', 'schemas', name, 'properties'), { model: { enum: ['eliza'] } });
  const speech = at(copy, 'components', 'schemas', 'SynthesizeSpeechRequest', 'properties');
  Object.assign(speech, { model: { enum: ['flite'] } });
  return copy;
}

function at(json: JsonObject, ...path: readonly string[]): JsonObject {
  return path.reduce((inner, key) => {
    const value = inner[key];
    if (!isObject(value)) throw new Error(`the document has no ${key}`);
    return value;
  }, json);
}
