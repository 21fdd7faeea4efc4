/** The REST routes, created from the table of RPCs. The schema of an RPC states its verb and path. */
import { hasOption } from '@bufbuild/protobuf';
import { http } from '../../../gen/google/api/annotations_pb.ts';
import { type HttpRule, httpRule } from '../../codec/http-rule.ts';
import { allRpcs, type Rpc, type RpcTable } from '../../core/rpcs.ts';
import { chat } from './chat.ts';
import { completions } from './completions.ts';
import { dialectHandler } from './dialect.ts';
import type { Exchange, RestHandler } from './exchange.ts';
import { countTokensHandler, messages } from './messages.ts';
import { listShapes, modelShapes } from './models.ts';
import type { RestLimits } from './request.ts';
import { responses } from './responses.ts';
import { speechHandler } from './speech.ts';
import { transcriptionHandler } from './transcription.ts';
import { adminHandler, unaryHandler } from './unary.ts';

export interface Route {
  readonly rule: Pick<HttpRule, 'verb' | 'path'>;
  /** The RPC that the gate checks; undefined for probes, which have no gate. */
  readonly rpc: Rpc | undefined;
  readonly handle: RestHandler;
  /** Whether the route serves a request; for others there is nothing at its path. Default: it serves all. */
  readonly isFor?: (request: Exchange['request']) => boolean;
}

/** @param isServed whether an RPC is served at this port */
export function restRoutes(table: RpcTable, limits: RestLimits, isServed: (rpc: Rpc) => boolean): Route[] {
  const { createChatCompletion, streamChatCompletion, createCompletion, streamCompletion } = table;
  const { createMessage, streamMessage, createResponse, streamResponse } = table;
  /** RPCs with their own HTTP form: raw audio, forms, server-sent events. */
  const special = new Map<Rpc, RestHandler>([
    [table.synthesizeSpeech, speechHandler(table, limits)],
    [table.createTranscription, transcriptionHandler(table)],
    [createChatCompletion, dialectHandler(createChatCompletion, streamChatCompletion, limits, chat)],
    [createCompletion, dialectHandler(createCompletion, streamCompletion, limits, completions)],
    [createMessage, dialectHandler(createMessage, streamMessage, limits, messages)],
    [createResponse, dialectHandler(createResponse, streamResponse, limits, responses)],
    [table.countMessageTokens, countTokensHandler(table, limits)],
    [table.listModels, unaryHandler(table.listModels, listShapes)],
    [table.getModel, unaryHandler(table.getModel, modelShapes)],
  ]);
  return allRpcs(table)
    .filter((rpc) => hasOption(rpc.method, http) && isServed(rpc))
    .map((rpc) => ({ rule: httpRule(rpc.method), rpc, handle: special.get(rpc) ?? handlerFromSchema(rpc) }));
}

function handlerFromSchema(rpc: Rpc): RestHandler {
  if (rpc.kind === 'unary') return unaryHandler(rpc);
  if (rpc.kind === 'admin') return adminHandler(rpc);
  throw new Error(`${rpc.method} streams: it needs a REST handler of its own`);
}
