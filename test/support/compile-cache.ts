import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Compiled code for all processes and threads that the tests start. */
export const compileCache = join(tmpdir(), 'parley-test-compile-cache');
