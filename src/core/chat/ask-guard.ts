import type { ChatCompletionParams } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { Call } from '../access/call.ts';
import type { Guard } from '../entities/guard.ts';

/** @throws as `Guard.check` does */
export async function askGuard(
  guard: Guard,
  model: string,
  { messages }: ChatCompletionParams,
  { id, caller, signal }: Call,
): Promise<void> {
  const { keyId, keyName, account } = caller;
  const facts = { account: { id: account.id, name: account.name }, key: { id: keyId, name: keyName } };
  await guard.check({ requestId: id, ...facts, model, messages }, signal);
}
