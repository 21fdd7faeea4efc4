import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CalledServer, forget, startCalledServer } from '../support/called-server.ts';
import { parley } from '../support/command-line.ts';

describe('parley models', () => {
  let called: CalledServer;
  beforeAll(async () => {
    called = await startCalledServer();
  });
  afterAll(() => called.close());
  beforeEach(forget);

  const run = (...args: string[]) => parley(args, called.options);

  it('lists what the key can call', async () => {
    const { code, stdout } = await run('models');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^MODEL +TYPE +OFFERS\nflite +speech +voices one \(default one\)\npocketsphinx +transcription +-\neliza +chat +4096 tokens of context; 0\.1 credits per million tokens in, 0\.4 out\n$/,
    );
  });

  it('prints what the REST API answers with --json', async () => {
    const { stdout } = await run('models', '--type', 'speech', '--json');
    expect(JSON.parse(stdout)).toEqual(await (await called.server.call('/models?type=speech')).json());
  });

  it('says where to get a key when there is none, and shows a refusal with its request id', async () => {
    const none = await parley(['models', '--base-url', called.server.baseUrl], { cwd: called.folder.path });
    expect([none.code, none.stdout]).toEqual([1, '']);
    expect(none.stderr).toMatch(
      /^There is no API key for http:.*\. Give one with --api-key or PARLEY_API_KEY; .*\n$/,
    );
    const wrong = await run('models', '--api-key', 'pk_wrong');
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toMatch(/^Send a valid API key .* \(invalid_api_key, request req_[0-9a-f]+\)\n$/);
  });

  it('says that there is no data folder where neither that nor a server is named', async () => {
    const { code, stderr } = await parley(['models', '--data-dir', 'missing'], { cwd: called.folder.path });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^There is no data folder missing yet\. Name .* --data-dir, .* --base-url .* PARLEY_API_KEY\.\n$/,
    );
  });

  it('takes a base URL without the version prefix, or with a slash behind it', async () => {
    const { origin } = new URL(called.server.baseUrl);
    expect((await run('models', '--base-url', origin)).code).toBe(0);
    expect((await run('models', '--base-url', `${called.server.baseUrl}/`)).code).toBe(0);
  });

  it('says that something else than Parley answers', async () => {
    const other = createServer((_, response) => response.writeHead(404).end('<html>')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}/api/v1`;
    const { stderr } = await run('models', '--base-url', url);
    other.close();
    expect(stderr).toBe(`${url} answered with status 404, and not as a Parley does. Check --base-url.\n`);
  });
});
