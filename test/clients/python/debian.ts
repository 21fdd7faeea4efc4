/** Debian's Python with its gRPC, and the plugins that generate code for it. */
import { spawnSync } from 'node:child_process';
import { missingPrograms } from '../../support/audio-files.ts';

/** Debian's Python: another one on PATH does not have Debian's packages. */
export const python = '/usr/bin/python3';

/** The reason for a skipped test: the programs that this machine lacks. Undefined if it has all. */
export function missingFromPython(): string | undefined {
  const programs = missingPrograms(python, 'protoc', 'grpc_python_plugin');
  if (programs !== undefined) return programs;
  const imported = spawnSync(python, ['-c', 'import grpc, google.protobuf']);
  return imported.status === 0 ? undefined : `${python} has no module grpc or google.protobuf`;
}
