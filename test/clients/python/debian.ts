/** Debian's Python with its gRPC, and the plugins that generate for it. */
import { spawnSync } from 'node:child_process';
import { missingPrograms } from '../../support/audio-files.ts';

/** Debian's own: another on PATH does not have Debian's packages. */
export const python = '/usr/bin/python3';

/** The programs that this machine lacks, as the reason of a skipped test; undefined if it has all. */
export function missingFromPython(): string | undefined {
  const programs = missingPrograms(python, 'protoc', 'grpc_python_plugin');
  if (programs !== undefined) return programs;
  const imported = spawnSync(python, ['-c', 'import grpc, google.protobuf']);
  return imported.status === 0 ? undefined : `${python} has no module grpc or google.protobuf`;
}
