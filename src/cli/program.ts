import { setFlagsFromString } from 'node:v8';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { readNotices } from '../app/notices.ts';
import { accountCommand } from './commands/account.ts';
import { alertsCommand } from './commands/alerts.ts';
import { auditCommand } from './commands/audit.ts';
import { backupCommand, restoreCommand } from './commands/backup.ts';
import { chatCommand } from './commands/chat.ts';
import { completeCommand, completionCommand } from './commands/completion.ts';
import { configCommand } from './commands/config.ts';
import { creditsCommand, statementCommand } from './commands/credits.ts';
import { doctorCommand } from './commands/doctor.ts';
import { enginesCommand } from './commands/engines.ts';
import { healthCommand } from './commands/health.ts';
import { keyCommand, keysCommand } from './commands/key.ts';
import { listenCommand, talkCommand } from './commands/live.ts';
import { modelsCommand } from './commands/models.ts';
import { planCommand } from './commands/plan.ts';
import { pricesCommand } from './commands/prices.ts';
import { pruneCommand } from './commands/prune.ts';
import { runtimesCommand } from './commands/runtimes.ts';
import { speakCommand } from './commands/speak.ts';
import { migrateCommand, storeCommand } from './commands/store.ts';
import { transcribeCommand } from './commands/transcribe.ts';
import { usageCommand } from './commands/usage.ts';
import { type ServeFlags, withConfigFlags } from './flags.ts';
import { newCommand } from './terminal/command.ts';
import { printData } from './terminal/terminal.ts';

/** All commands of `parley`. `parseAsync` runs one, and rejects with a message for the person at the terminal. */
export function createProgram(version: string): Command {
  return newCommand('parley', 'One self-hosted server for speech, transcription and chat.')
    .version(version, '-v, --version', 'show the version')
    .commandsGroup('Run:')
    .addCommand(serveCommand())
    .addCommand(configCommand())
    .addCommand(healthCommand())
    .addCommand(doctorCommand())
    .addCommand(completionCommand())
    .addCommand(noticesCommand())
    .commandsGroup('Accounts and keys:')
    .addCommand(accountCommand())
    .addCommand(keyCommand())
    .addCommand(keysCommand())
    .addCommand(auditCommand())
    .addCommand(alertsCommand())
    .commandsGroup('Money and usage:')
    .addCommand(planCommand())
    .addCommand(creditsCommand())
    .addCommand(statementCommand())
    .addCommand(usageCommand())
    .addCommand(pricesCommand())
    .commandsGroup('Models and engines:')
    .addCommand(modelsCommand())
    .addCommand(enginesCommand())
    .addCommand(runtimesCommand())
    .commandsGroup('Data:')
    .addCommand(backupCommand())
    .addCommand(restoreCommand())
    .addCommand(migrateCommand())
    .addCommand(storeCommand())
    .addCommand(pruneCommand())
    .commandsGroup('Call it:')
    .addCommand(speakCommand())
    .addCommand(transcribeCommand())
    .addCommand(listenCommand())
    .addCommand(talkCommand())
    .addCommand(chatCommand())
    .addCommand(versionCommand(version), { hidden: true })
    .addCommand(modelProgramCommand(), { hidden: true })
    .addCommand(completeCommand(), { hidden: true });
}

function serveCommand(): Command {
  return withConfigFlags(newCommand('serve', 'Start the server.'))
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
    .option('--port <number>', 'the port to listen on, 0 for any free one (default: 8080)')
    .option('--log-level <level>', 'trace, debug, info, warn, error, fatal or silent (default: info)')
    .option('--demo', 'on an empty database, create an account with a trial, credits and keys')
    .addOption(new Option('--workers <count>').argParser(refuseWorkers).hideHelp())
    .action(async (flags: ServeFlags) => {
      optimizeUpTo(0);
      const { serve } = await import('./commands/serve/server.ts');
      await serve(flags, () => optimizeUpTo(optimizedBytesMax));
    });
}

/** V8's default. */
const optimizedBytesMax = 61_440;

/**
 * Code of the start runs once: V8's optimizing compilers would take 13 MB for it, and save no time.
 * @param bytesMax of the bytecode of a function
 */
function optimizeUpTo(bytesMax: number): void {
  setFlagsFromString(`--max-optimized-bytecode-size=${bytesMax}`);
}

/** Services may still start with it. */
function refuseWorkers(): never {
  throw new InvalidArgumentError(
    'It is gone. Start several servers on the same PostgreSQL database, each with a port and a data folder.',
  );
}

/** `parley serve` starts this command for each local model whose runtime is a library. It is not shown. */
function modelProgramCommand(): Command {
  return newCommand('model-program', 'Serve a local model on a Unix socket.')
    .argument('<model>', 'its id in `parley models list`')
    .argument('<socket>', 'the Unix socket')
    .argument('<settings>', 'as JSON: dataDir, runtime, threads, callsMax, and contextTokens for a chat')
    .action(async (id: string, socketPath: string, settings: string) => {
      const { runModelProgram } = await import('../app/model-program.ts');
      await runModelProgram(id, { ...JSON.parse(settings), socketPath });
    });
}

function noticesCommand(): Command {
  return newCommand('notices', 'Show the licences of the software in Parley.').action(() =>
    printData(readNotices()),
  );
}

/** Many people type this first. */
function versionCommand(version: string): Command {
  return newCommand('version', 'Show the version.').action(() => printData(`${version}\n`));
}
