import type { Command } from 'commander';
import { newCommand } from '../terminal/command.ts';

interface SherpaFlags {
  readonly dataDir: string;
  readonly socket: string;
  readonly threads: string;
  readonly calls: string;
}

/** `parley serve` starts this command for each model of the runtime sherpa. It is not shown. */
export function sherpaCommand(): Command {
  return newCommand('sherpa', 'Serve a model of sherpa-onnx on a Unix socket.', [
    'parley sherpa amy --data-dir data --socket amy.sock --threads 1 --calls 2',
  ])
    .argument('<model>', 'its id in `parley models list`')
    .requiredOption('--data-dir <folder>', 'the data folder')
    .requiredOption('--socket <path>', 'the Unix socket')
    .requiredOption('--threads <count>', 'threads of the model')
    .requiredOption('--calls <count>', 'concurrent calls')
    .action(async (id: string, { dataDir, socket, threads, calls }: SherpaFlags) => {
      const { runSherpaProgram } = await import('../../app/sherpa-program.ts');
      const options = { dataDir, socketPath: socket, threads: Number(threads), callsMax: Number(calls) };
      await runSherpaProgram(id, options);
    });
}
