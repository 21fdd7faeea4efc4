import { request as forward } from 'node:http';
import { describe, expect, it } from 'vitest';
import { startCalledServer } from '../support/called-server.ts';
import { makeCertificate } from '../support/certificates.ts';
import { parley, printed } from '../support/command-line.ts';
import { startHttp } from '../support/http-server.ts';

const called = await startCalledServer();

describe('the connection to a server', () => {
  it('works through a proxy that puts a path in front of the API', async () => {
    const { origin } = new URL(called.server.baseUrl);
    const proxy = await startHttp((request, response) => {
      const { method, headers, url = '' } = request;
      const target = forward(origin + url.replace(/^\/audio-team\//, '/'), { method, headers });
      target.on('response', (answer) =>
        answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers)),
      );
      request.pipe(target);
    });
    const flags = ['--base-url', `${proxy.origin}/audio-team/api/v1`];
    expect(await printed(['models', ...flags], called.options)).toContain('eliza');
    expect(await printed(['chat', 'Hello.', ...flags], called.options)).toBe('1: Hello.\n');
    await proxy.close();
  });

  it('says what to do about a certificate that is not accepted', async () => {
    const other = await startHttp((_, response) => response.end(), makeCertificate('localhost'));
    const { code, stderr } = await parley(['models', '--base-url', other.origin], called.options);
    await other.close();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^The certificate of https:\/\/127\.0\.0\.1:\d+\/api\/v1 is not accepted \(\w+\)\. .* NODE_EXTRA_CA_CERTS=FILE\.\n$/,
    );
  });

  it('names the code of a connection that breaks', async () => {
    const other = await startHttp((request) => request.socket.destroy());
    const { code, stderr } = await parley(['models', '--base-url', other.origin], called.options);
    await other.close();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^The connection to http:.* failed \(ECONNRESET\)\. Check --base-url, or try again\.\n$/,
    );
  });
});
