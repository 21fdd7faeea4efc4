/** The Go page, with Debian's packages. They are sources, so that all of them are compiled here. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readPage } from '../clients/page.ts';
import { describeClientProgram, generateCode } from '../clients/program.ts';
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
  async build(home, generating) {
    await generateCode('go', generating);
    const { command } = readPage('go');
    const env = { HOME: home, GOFLAGS: '' };
    await mustRun([command('debian'), command('build')].join('\n'), { env });
    const checks = 'cd ~/client\ngofmt -e -l client.go | grep . && exit 1 || go vet client.go';
    await mustRun([command('debian'), checks].join('\n'), { env });
  },
});
