/** Answers over Connect and gRPC-Web, in the shapes that connect-node asks for. */
import { constants, Http2ServerResponse } from 'node:http2';
import { type DescMessage, type Message, toBinary } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { type AnyRpc, answerRpc, type Sent, streamRpc } from '../rpc/rpcs.ts';
import { connectError } from './errors.ts';
import { type GatedCall, gatedKey, type Response } from './request.ts';

export async function answer(rpc: AnyRpc, sent: Sent, context: HandlerContext): Promise<Message> {
  const { served, release } = take(context);
  try {
    const response = await answerRpc(rpc, sent, served, bytesOf(rpc.method.input));
    markReplay(context, served.isReplay);
    return response;
  } catch (error) {
    throw connectError(error, context, served);
  } finally {
    release();
  }
}

export async function* stream(rpc: AnyRpc, sent: Sent, context: HandlerContext): AsyncGenerator<Message> {
  const { served, response, release } = take(context);
  // Unblocks writes to a slow client when the call is aborted.
  const giveUp = () => cut(response);
  try {
    for await (const parts of streamRpc(rpc, sent, served, bytesOf(rpc.method.input))) {
      markReplay(context, served.isReplay);
      served.signal.addEventListener('abort', giveUp);
      for (const part of parts) {
        // The source throws the reason when it is asked for more.
        if (served.signal.aborted) break;
        try {
          yield part;
        } catch {
          // The part could not be written: the client has left.
          return;
        }
      }
      served.signal.removeEventListener('abort', giveUp);
    }
  } catch (error) {
    throw connectError(error, context, served);
  } finally {
    served.signal.removeEventListener('abort', giveUp);
    release();
  }
}

/** The gated call of a context, bound to the client's deadline. Throws the refusal of the gate. */
function take(context: HandlerContext): GatedCall & { readonly release: () => void } {
  const gated = context.values.get(gatedKey);
  if (gated === undefined) throw new Error('a call reached its handler without passing the gate');
  const { served, refusal } = gated;
  if (refusal !== undefined) throw connectError(refusal, context, served);
  const cancel = () => served.cancel();
  context.signal.addEventListener('abort', cancel);
  if (context.signal.aborted) cancel();
  return {
    ...gated,
    release: () => {
      served.finish();
      context.signal.removeEventListener('abort', cancel);
    },
  };
}

/** connect-node does not say how many bytes a message had: it is encoded again to be measured. */
function bytesOf(input: DescMessage): (message: Message) => number {
  return (message) => toBinary(input, message).length;
}

/** Ends the answer so that no client takes it for complete. */
function cut(response: Response): void {
  if (response instanceof Http2ServerResponse) response.stream.close(constants.NGHTTP2_CANCEL);
  else response.destroy();
}

function markReplay({ responseHeader }: HandlerContext, isReplay: boolean): void {
  if (isReplay) responseHeader.set('idempotent-replayed', 'true');
}
