import type { Command } from 'commander';
import { newCommand } from '../terminal/command.ts';

interface ModelProgramFlags {
  readonly dataDir: string;
  readonly runtime: string;
  readonly socket: string;
  readonly threads: string;
  readonly calls: string;
  readonly contextTokens: string;
}

/** `parley serve` starts this command for each local model whose runtime is a library. It is not shown. */
export function modelProgramCommand(): Command {
  return newCommand('model-program', 'Serve a local model on a Unix socket.', [
    'parley model-program amy --data-dir data --runtime data/runtimes/sherpa --socket amy.sock --threads 1 --calls 2',
  ])
    .argument('<model>', 'its id in `parley models list`')
    .requiredOption('--data-dir <folder>', 'the data folder')
    .requiredOption('--runtime <path>', 'the library of its runtime')
    .requiredOption('--socket <path>', 'the Unix socket')
    .requiredOption('--threads <count>', 'threads of the model')
    .requiredOption('--calls <count>', 'concurrent calls')
    .option('--context-tokens <count>', 'of a chat: prompt and answer together', '4096')
    .action(async (id: string, flags: ModelProgramFlags) => {
      const { runModelProgram } = await import('../../app/model-program.ts');
      await runModelProgram(id, {
        dataDir: flags.dataDir,
        runtime: flags.runtime,
        socketPath: flags.socket,
        threads: Number(flags.threads),
        callsMax: Number(flags.calls),
        contextTokens: Number(flags.contextTokens),
      });
    });
}
