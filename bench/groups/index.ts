/** All groups, in the order in which they run. */
import type { Group } from '../harness/result.ts';
import { chat } from './chat.ts';
import { eventLoop } from './event-loop.ts';
import { grpc } from './grpc.ts';
import { hearing } from './hearing.ts';
import { lifecycle } from './lifecycle.ts';
import { limits } from './limits.ts';
import { listeners } from './listeners.ts';
import { live } from './live.ts';
import { models } from './models.ts';
import { money } from './money.ts';
import { postgres, postgresChat } from './postgres.ts';
import { speech } from './speech.ts';
import { streamMemory } from './stream-memory.ts';
import { transcription } from './transcription.ts';
import { walk } from './walk.ts';
import { writer } from './writer.ts';

export const groups: readonly Group[] = [
  walk,
  chat,
  limits,
  grpc,
  models,
  writer,
  eventLoop,
  streamMemory,
  speech,
  listeners,
  transcription,
  hearing,
  live,
  money,
  postgres,
  postgresChat,
  lifecycle,
];
