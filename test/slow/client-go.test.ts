/** The page on Go, by Debian's packages, which are sources: all of them are compiled here. */
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { readPage } from '../clients/page.ts';
import { describeClientProgram } from '../clients/program.ts';
import { mustRun } from '../clients/shell.ts';
import { missingPrograms } from '../support/audio-files.ts';

const sources = '/usr/share/gocode';

function whatIsMissing(): string | undefined {
  const programs = missingPrograms('go', 'protoc-gen-go', 'protoc-gen-go-grpc');
  if (programs !== undefined) return programs;
  const folder = ['grpc', 'protobuf', 'genproto']
    .map((name) => join(sources, 'src/google.golang.org', name))
    .find((path) => !existsSync(path));
  return folder && `there is no ${folder}`;
}

describeClientProgram({
  page: 'go',
  missing: whatIsMissing(),
  async build(home) {
    const page = readPage('go');
    const folder = join(home, 'client');
    for (const step of ['take', 'generate']) await mustRun(page.command(step), { env: { HOME: home } });
    // Debian has no modules: what is imported is found below GOPATH.
    const domain = join(home, 'go/src/example.com');
    mkdirSync(domain, { recursive: true });
    symlinkSync(folder, join(domain, 'client'));
    const path = [join(home, 'go'), sources].join(':');
    const env = { HOME: home, GO111MODULE: 'off', GOPATH: path, GOFLAGS: '', CGO_ENABLED: '0' };
    await mustRun('gofmt -e -l client.go | grep . && exit 1 || go vet client.go', { cwd: folder, env });
    await mustRun(page.command('build'), { cwd: folder, env });
  },
});
