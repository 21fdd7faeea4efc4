/** Settings of earlier versions: the file is still valid, and a warning names each with its place. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadConfigWithSources } from '../../src/config/config.ts';
import { scratchPath } from '../support/scratch-path.ts';

const folder = scratchPath('dropped');

it('of programs have no effect any more', () => {
  const file = join(folder, 'parley.yaml');
  const text = `programs: {memoryWaitMs: 5, socketDir: /run}
engines:
  local: {kind: local, pauseMs: 10}
  own: {kind: process, command: [serve, '{port}'], memoryBytes: 2000000, pauseMs: 10}
models: []
`;
  writeFileSync(file, text);
  const { config, warnings } = loadConfigWithSources({ env: {}, file });
  expect(warnings).toEqual([
    `${file}:1:12: \`programs.memoryWaitMs\` has no effect any more. Requests wait for a minute while other programs keep the memory.`,
    `${file}:1:29: \`programs.socketDir\` has no effect any more. The sockets are in \`sockets\` in the data folder.`,
    expect.stringContaining(':3:24: `engines.local.pauseMs` has no effect any more. '),
    expect.stringContaining(':4:74: `engines.own.pauseMs` has no effect any more. '),
  ]);
  expect(config.programs).toEqual({});
  expect(config.engines['local']).not.toHaveProperty('pauseMs');
});

it('of programs have no effect as variables, and without a value', () => {
  const file = join(folder, 'empty.yaml');
  writeFileSync(file, 'programs:\n  socketDir:\n');
  const { config, warnings } = loadConfigWithSources({ env: { PARLEY_PROGRAMS_SOCKET_DIR: '/run' }, file });
  expect(warnings).toEqual([
    expect.stringContaining(':2:3: `programs.socketDir` has no effect any more. '),
    'PARLEY_PROGRAMS_SOCKET_DIR is ignored: The sockets are in `sockets` in the data folder.',
  ]);
  expect(config.programs).toEqual({});
});
