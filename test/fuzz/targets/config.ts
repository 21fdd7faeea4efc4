import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, loadConfig } from '../../../src/config/config.ts';
import type { FuzzTarget } from '../target.ts';

/** A `parley.yaml`. */
export const config: FuzzTarget = {
  seeds: [
    'server:\n  host: 127.0.0.2\n  port: 8081\nlog: {level: debug}\ncors:\n  origins: ["*"]\n',
    'engines:\n  a: &a\n    kind: openai\n    baseUrl: http://127.0.0.1:1/v1\n    models: {b: c}\n  b:\n    <<: *a\nmodels:\n  - id: b\n    type: chat\n    engine: [a, b]\n    price: {input: 0.1, output: 1}\n    contextTokens: 10\n',
    'tls: {cert: a, key: b}\nadmin: {host: "::1", port: 0}\nretention: {usageDays: 400}\nfairUse: {planUnitsPerMonth: 1}\nlimits:\n  chatBodyBytesMax: 1048576\n',
  ],
  words: [
    '\n',
    ': ',
    '- ',
    '&a ',
    '*a',
    '<<: ',
    '!!binary ',
    '? ',
    '|\n',
    '~',
    '.inf',
    '0x1f',
    '1e3',
    "''",
    '{',
    '}',
    '[',
    ']',
    '%YAML 1.1\n',
    '---\n',
    '# ',
    'PARLEY_',
    '__proto__: ',
  ],
  open() {
    const folder = mkdtempSync(join(tmpdir(), 'parley-fuzz-'));
    const file = join(folder, 'parley.yaml');
    return {
      read(input) {
        writeFileSync(file, input);
        try {
          loadConfig({ env: {}, file });
        } catch (error) {
          if (!(error instanceof ConfigError)) throw error;
        }
      },
      close: async () => rmSync(folder, { recursive: true }),
    };
  },
};
