import { readFileSync } from 'node:fs';
import { fileReason, systemCode } from '../../files/reason.ts';
import { ConfigError } from './finding.ts';
import type { Source } from './source.ts';

const usualFile = './parley.yaml';

export interface ConfigFile {
  /** The name as it was given. */
  readonly file: string;
  readonly text: string;
}

/**
 * Finds and reads the file: that of `--config`, else that of PARLEY_CONFIG, else ./parley.yaml where there is one.
 * Throws ConfigError where a file was named and is missing, or where it cannot be read.
 */
export function readConfigFile(named: string | undefined, env: NodeJS.ProcessEnv): ConfigFile | undefined {
  if (named !== undefined) return read(named, { kind: 'flag', name: '--config' });
  const { PARLEY_CONFIG: variable } = env;
  if (variable !== undefined) return read(variable, { kind: 'variable', name: 'PARLEY_CONFIG' });
  return read(usualFile, undefined);
}

function read(file: string, namedBy: Source | undefined): ConfigFile | undefined {
  try {
    return { file: file.replace(/^\.\//, ''), text: readFileSync(file, 'utf8') };
  } catch (cause) {
    const code = systemCode(cause);
    if (code === 'ENOENT' && namedBy === undefined) return undefined;
    const why = code === 'ENOENT' ? 'There is no such file' : `It cannot be read (${fileReason(cause)})`;
    const source = namedBy ?? { kind: 'file', file, line: 1, column: 1 };
    throw new ConfigError([
      { source, setting: '', message: `The configuration is to be in \`${file}\`. ${why}.` },
    ]);
  }
}
