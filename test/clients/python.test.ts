/** The page on Python, by Debian's gRPC. */
import { dirname, join } from 'node:path';
import { missingFromPython, python } from '../python/debian.ts';
import { readPage } from './page.ts';
import { describeClientProgram } from './program.ts';
import { mustRun } from './shell.ts';

describeClientProgram({
  page: 'python',
  missing: missingFromPython(),
  env: { PATH: `${dirname(python)}:${process.env['PATH']}`, PYTHONDONTWRITEBYTECODE: '1' },
  async build(home) {
    const page = readPage('python');
    page.writeTo(join(home, 'client'), 'buf.gen.yaml', 'client.py');
    await mustRun(page.command('generate'), { env: { HOME: home } });
  },
});
