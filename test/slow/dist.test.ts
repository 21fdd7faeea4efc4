/** The bundles in dist/, by the launcher that builds them: formats, worker threads, schemas and pages are found there. */
import { expect, it } from 'vitest';
import { runTestsWith } from './binary/program-tests.ts';

const launcher = new URL('../../parley', import.meta.url).pathname;
const names = [
  ...['cli/config', 'cli/transcribe', 'engines/openai/parley', 'engines/process/page'],
  'supervisor/killed-parley',
  ...['transports/rest/speech', 'transports/rest/probe-routes', 'transports/rpc/reflection-and-health'],
];

it('pass the tests of the program', { timeout: 600_000 }, async () => {
  expect(await runTestsWith(launcher, names)).toEqual({ code: 0, failures: [] });
});
