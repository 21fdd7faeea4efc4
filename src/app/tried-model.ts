/** Loads a local model to see whether its runtime works on this machine: a program may end at its first prompt alone. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { ChatCompletionParamsSchema } from '../../gen/parley/chat/v1/chat_pb.ts';
import type { Config } from '../config/config.ts';
import { untilAborted } from '../core/values/signal.ts';
import { silentLog as log } from '../engines/diagnostics.ts';
import { createProcessEngine } from '../engines/process/index.ts';
import type { Program } from '../supervisor/program.ts';
import { Supervisor } from '../supervisor/supervisor.ts';
import { type LocalEngine, programSurroundings } from './local-programs.ts';

const shortChat = create(ChatCompletionParamsSchema, {
  messages: [{ role: 'user', content: { value: { case: 'text', value: 'Hi' } } }],
  maxTokens: 1,
});

/**
 * Loads the model; one for chat also writes a token.
 * @returns what failed, in words; undefined if nothing did
 */
export async function tryModel(
  { program: settings, model }: LocalEngine,
  config: Config,
  signal: AbortSignal,
): Promise<string | undefined> {
  if ('advice' in settings) return settings.found;
  const socketDir = mkdtempSync(join(tmpdir(), 'parley-'));
  const supervisor = new Supervisor({ log, ...programSurroundings(config), socketDir });
  // The path of a socket has at most some 100 bytes.
  const program = supervisor.open('local', settings);
  const engine = createProcessEngine(settings, { name: 'local', log, program });
  const load = async () => {
    await engine.program?.load();
    if (settings.contextTokens !== undefined) await engine.chat?.(model, false).complete(shortChat, signal);
  };
  try {
    await untilAborted(load(), signal);
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return (await failureOf(program)) ?? message.replace(/\.$/, '');
  } finally {
    await engine.close();
    rmSync(socketDir, { recursive: true, force: true });
  }
}

/** How long the end of a program may be noted after its connections. */
const endMsMax = 1_000;

/** Why the program has ended; undefined if it runs. */
async function failureOf(program: Program): Promise<string | undefined> {
  for (let ms = 0; program.state().failure === undefined && ms < endMsMax; ms += 20) await sleep(20);
  return program.state().failure;
}
