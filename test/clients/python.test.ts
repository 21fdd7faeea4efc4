/** The Python page, with Debian's gRPC. */
import { dirname } from 'node:path';
import { readPage } from './page.ts';
import { describeClientProgram } from './program.ts';
import { missingFromPython, python } from './python/debian.ts';
import { mustRun } from './shell.ts';

describeClientProgram({
  page: 'python',
  missing: missingFromPython(),
  env: { PATH: `${dirname(python)}:${process.env['PATH']}`, PYTHONDONTWRITEBYTECODE: '1' },
  async build(home) {
    const page = readPage('python');
    for (const step of ['take', 'generate']) await mustRun(page.command(step), { env: { HOME: home } });
  },
});
