import type { Command } from 'commander';
import { accountCommand } from './account.ts';
import { auditCommand } from './audit.ts';
import { backupCommand } from './backup.ts';
import { chatCommand } from './chat.ts';
import { newCommand } from './command.ts';
import { configCommand } from './config.ts';
import { creditsCommand } from './credits.ts';
import { doctorCommand } from './doctor.ts';
import { healthCommand } from './health.ts';
import { keyCommand } from './key.ts';
import { modelsCommand } from './models.ts';
import { planCommand } from './plan.ts';
import { pruneCommand } from './prune.ts';
import { restoreCommand } from './restore.ts';
import { serveCommand } from './serve.ts';
import { speakCommand } from './speak.ts';
import { endWithReader } from './terminal.ts';
import { transcribeCommand } from './transcribe.ts';
import { usageCommand } from './usage.ts';

/** Every command of `parley`. Parsing it runs one; what that throws has a message for the person at the terminal. */
export function createProgram(version: string): Command {
  endWithReader();
  return newCommand('parley', 'One self-hosted server for speech, transcription and chat.', [
    'parley serve --demo',
    'parley speak "Good morning." -o morning.mp3',
    'parley transcribe morning.mp3',
    'parley chat',
  ])
    .version(version)
    .addCommand(serveCommand())
    .addCommand(accountCommand())
    .addCommand(planCommand())
    .addCommand(keyCommand())
    .addCommand(creditsCommand())
    .addCommand(usageCommand())
    .addCommand(pruneCommand())
    .addCommand(backupCommand())
    .addCommand(restoreCommand())
    .addCommand(auditCommand())
    .addCommand(modelsCommand())
    .addCommand(speakCommand())
    .addCommand(transcribeCommand())
    .addCommand(chatCommand())
    .addCommand(configCommand())
    .addCommand(healthCommand())
    .addCommand(doctorCommand());
}
