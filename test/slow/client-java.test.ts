/** The Java page, with Debian's packages. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readPage } from '../clients/page.ts';
import { describeClientProgram, generateCode } from '../clients/program.ts';
import { mustRun } from '../clients/shell.ts';
import { missingPrograms } from '../support/audio-files.ts';

function whatIsMissing(): string | undefined {
  const programs = missingPrograms('javac', 'protoc', 'grpc_java_plugin');
  if (programs !== undefined) return programs;
  const jar = ['grpc-netty', 'netty-codec-http2', 'netty-tcnative', 'protobuf', 'guava', 'perfmark-api']
    .map((name) => `/usr/share/java/${name}.jar`)
    .find((path) => !existsSync(path));
  return jar && `there is no ${jar}`;
}

describeClientProgram({
  page: 'java',
  missing: whatIsMissing(),
  before: ['libraries'],
  async build(home, generating) {
    await generateCode('java', generating);
    const page = readPage('java');
    const folder = join(home, 'client');
    await mustRun([page.command('libraries'), page.command('build')].join('\n'), { cwd: folder });
  },
});
