/** All groups, in the order in which they run. */
import type { Group } from '../harness/group.ts';
import { chatPlain } from './chat-plain.ts';
import { chatStreamed } from './chat-streamed.ts';
import { grpc } from './grpc.ts';
import { streamMemory } from './stream-memory.ts';

export const groups: readonly Group[] = [chatPlain, chatStreamed, streamMemory, grpc];
