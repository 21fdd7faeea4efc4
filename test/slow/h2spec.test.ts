/**
 * h2spec, the conformance tests of HTTP/2: Parley's port passes every case that a bare server of Node passes in the
 * same run. The tests use TLS: without TLS the port answers a wrong preface as HTTP/1, which the bare server does not
 * know.
 */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shell } from '../clients/shell.ts';
import { makeCertificate } from '../support/certificates.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { installGo } from './clients/install-go.ts';

const casesInAll = 145;
/** How often a case may fail: on a busy machine an answer can come after h2spec's time. */
const attempts = 3;

const installed = await installGo('h2spec');
const missing = 'missing' in installed ? installed.missing : undefined;
const program = 'folder' in installed ? join(installed.folder, 'bin/h2spec') : '';

describe.skipIf(missing)(`h2spec${missing ? ` (${missing})` : ''}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-h2spec-'));
  let bare: Http2SecureServer;
  let parley: Parley;
  beforeAll(async () => {
    const { cert, key } = makeCertificate('h2spec');
    const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    writeFileSync(files.cert, cert);
    writeFileSync(files.key, key);
    parley = await startParley({ settings: { tls: files } });
    bare = createSecureServer({ cert, key }, (request, response) => {
      request.resume();
      response.end('ok');
    });
    bare.on('sessionError', () => undefined);
    bare.on('stream', (stream) => stream.on('error', () => undefined));
    await once(bare.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(async () => {
    bare.close();
    await parley.close();
    rmSync(folder, { recursive: true });
  });

  /** All cases by whether they passed. */
  async function run(port: number): Promise<ReadonlyMap<string, boolean>> {
    const report = join(folder, `${port}.xml`);
    const options = `-h 127.0.0.1 -p ${port} -t -k -P /healthz --timeout 5 --junit-report '${report}'`;
    await shell(`'${program}' ${options}`, {});
    const cases = readFileSync(report, 'latin1').matchAll(
      /<testcase package="(.*?)" classname="(.*?)" time=".*?">([\s\S]*?)<\/testcase>/g,
    );
    return new Map(Array.from(cases, ([, part, name, fault]) => [`${part}: ${name}`, fault?.trim() === '']));
  }

  it('passes every case that bare node:http2 passes', async () => {
    const port = Number(new URL(parley.baseUrl).port);
    // At the same time, as the cases wait most of the time.
    const [ofBare, ofParley] = await Promise.all([run((bare.address() as AddressInfo).port), run(port)]);
    const passed = (cases: ReadonlyMap<string, boolean>) => [...cases.values()].filter(Boolean).length;
    process.stdout.write(
      `h2spec: ${passed(ofParley)} of ${ofParley.size}; bare node:http2 ${passed(ofBare)}\n`,
    );
    expect([ofParley.size, ofBare.size]).toEqual([casesInAll, casesInAll]);
    let behind = [...ofParley]
      .filter(([name, isPassed]) => !isPassed && ofBare.get(name))
      .map(([name]) => name);
    for (let attempt = 1; behind.length > 0 && attempt < attempts; attempt++) {
      const again = await run(port);
      behind = behind.filter((name) => again.get(name) === false);
    }
    expect(behind).toEqual([]);
  });
});
