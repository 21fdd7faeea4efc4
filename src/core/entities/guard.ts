import type { ChatCompletionParams } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { AccountId, KeyId, RequestId } from '../values/ids.ts';
import type { Signal } from '../values/signal.ts';

/** A chat before its hold, as the operator's guard sees it. */
export interface GuardedChat {
  readonly requestId: RequestId;
  readonly account: { readonly id: AccountId; readonly name: string };
  readonly key: { readonly id: KeyId; readonly name: string };
  /** Id of the model in the catalog. */
  readonly model: string;
  readonly messages: ChatCompletionParams['messages'];
}

/** The operator's own program, which may refuse a chat but never changes it. */
export interface Guard {
  /**
   * Resolves if the chat may run.
   * @throws `guard_refused`; `guard_unavailable` if the guard fails and is set to refuse then; the signal's reason
   */
  check(chat: GuardedChat, signal: Signal): Promise<void>;
}
