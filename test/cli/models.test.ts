import { describe, expect, it } from 'vitest';
import { startCalledServer } from '../support/called-server.ts';
import { parley } from '../support/command-line.ts';
import { startHttp } from '../support/http-server.ts';

const called = await startCalledServer();

describe('parley models', () => {
  const run = (...args: string[]) => parley(args, called.options);

  it('lists the models that the key can call', async () => {
    const { code, stdout } = await run('models');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^MODEL +TYPE +OFFERS\nflite +speech +voices one \(default one\)\npocketsphinx +transcription +-\neliza +chat +4096 tokens of context; 0\.1 credits per million tokens in, 0\.4 out\n$/,
    );
  });

  it('prints the answer of the REST API with --json', async () => {
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
    expect(wrong.stderr).toMatch(
      /^The API key is unknown, expired or revoked\. A valid one is needed\. Give one with --api-key .* \(invalid_api_key, request req_[0-9a-f]+\)\n$/,
    );
  });

  it('accepts a key with a final line break, and names the flaw of a key that it cannot send', async () => {
    const { apiKey } = called.server;
    expect((await run('models', '--api-key', `${apiKey}\n`)).code).toBe(0);
    for (const [key, flaw] of [
      [`${apiKey.slice(0, 9)}\n${apiKey.slice(9)}`, 'has a line break after its first 9 characters'],
      [`${apiKey}\u200b`, 'has the character U+200B after its first 60 characters'],
      [`'${apiKey}'`, 'is in quotation marks'],
      ['', 'is empty'],
    ] as const) {
      const { code, stderr } = await run('models', '--api-key', key);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/^The key .*\. Give one with --api-key or .*\n$/),
      ]);
      expect(stderr).toContain(`The key ${flaw}.`);
      expect(stderr).not.toContain(apiKey.slice(9, 20));
    }
  });

  it('says that there is no data folder, if no server is named either', async () => {
    const { code, stderr } = await parley(['models', '--data-dir', 'missing'], { cwd: called.folder.path });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^There is no data folder missing yet\. Name .* --data-dir, .* --base-url .* PARLEY_API_KEY\.\n$/,
    );
  });

  it('accepts a base URL without the version prefix, and with a slash at its end', async () => {
    const { origin } = new URL(called.server.baseUrl);
    expect((await run('models', '--base-url', origin)).code).toBe(0);
    expect((await run('models', '--base-url', `${called.server.baseUrl}/`)).code).toBe(0);
  });

  it('says that the server is not a Parley', async () => {
    for (const [status, found] of [
      [404, 'HTTP 404'],
      [200, 'unsupported content type text/html'],
    ] as const) {
      const other = await startHttp((_, response) => {
        response.writeHead(status, { 'content-type': 'text/html' }).end('<html>');
      });
      const url = `${other.origin}/api/v1`;
      const { code, stderr } = await run('models', '--base-url', url);
      await other.close();
      expect(code).toBe(1);
      expect(stderr).toBe(`${url} does not answer like a Parley server (${found}). Check --base-url.\n`);
    }
  });
});
