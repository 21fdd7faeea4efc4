/** Plain chats over gRPC, for clients that otherwise use REST. */
import { fromJson } from '@bufbuild/protobuf';
import { type Client, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { ChatCompletionParamsSchema } from '../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { type ErrorCode, errorTable } from '../../src/core/values/errors.ts';

export interface GrpcAnswer {
  readonly id: string;
  readonly usage: readonly [prompt: number, completion: number];
}

/** An error of the service, with its REST status. */
export class GrpcError extends Error {
  readonly status: number;

  constructor(reason: string) {
    super(`gRPC: ${reason}`);
    this.status = errorTable[reason as ErrorCode].http;
  }
}

interface Conversation {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly max_tokens?: number;
}

const idleMs = 1_000;

export class GrpcChat {
  readonly #clients = new Map<string, Client<typeof ChatService>>();

  /** @throws GrpcError; `fetch failed` if the connection is lost */
  async ask(baseUrl: string, key: string, { messages, ...others }: Conversation): Promise<GrpcAnswer> {
    let id = 'without an id';
    const typed = messages.map(({ role, content }) => ({ role, content: { text: content } }));
    const params = fromJson(ChatCompletionParamsSchema, { ...others, messages: typed });
    const onHeader = (headers: Headers) => {
      id = headers.get('x-request-id') ?? id;
    };
    const options = { headers: { authorization: `Bearer ${key}` }, onHeader };
    try {
      const client = this.#clientOf(new URL(baseUrl).origin);
      const { completion } = await client.createChatCompletion({ params }, options);
      const { promptTokens = 0, completionTokens = 0 } = completion?.usage ?? {};
      return { id, usage: [promptTokens, completionTokens] };
    } catch (error) {
      const [info] = ConnectError.from(error).findDetails(ErrorInfoSchema);
      if (info) throw new GrpcError(info.reason);
      throw new Error('fetch failed', { cause: error });
    }
  }

  #clientOf(origin: string): Client<typeof ChatService> {
    let client = this.#clients.get(origin);
    if (client === undefined) {
      client = createClient(
        ChatService,
        createGrpcTransport({ baseUrl: origin, idleConnectionTimeoutMs: idleMs }),
      );
      this.#clients.set(origin, client);
    }
    return client;
  }
}
