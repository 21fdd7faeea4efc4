/** The Python page, with Debian's gRPC. */
import { dirname } from 'node:path';
import { describeClientProgram, generateCode } from './program.ts';
import { missingFromPython, python } from './python/debian.ts';

describeClientProgram({
  page: 'python',
  missing: missingFromPython(),
  env: { PATH: `${dirname(python)}:${process.env['PATH']}`, PYTHONDONTWRITEBYTECODE: '1' },
  build: (_, env) => generateCode('python', env),
});
