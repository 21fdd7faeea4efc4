/** The REST paths, each mapped onto the RPC whose schema states it. */
import type { DescMessage, DescMethod, DescMethodUnary, MessageShape } from '@bufbuild/protobuf';
import { AccountService } from '../../../gen/parley/account/v1/account_service_pb.ts';
import { TranscriptionService } from '../../../gen/parley/audio/v1/transcription_service_pb.ts';
import { CatalogService } from '../../../gen/parley/catalog/v1/catalog_service_pb.ts';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { SpeechService } from '../../../gen/parley/speech/v1/speech_service_pb.ts';
import { type HttpRule, httpRule } from '../../codec/http-rule.ts';
import type { Gate } from '../../core/access/gate.ts';
import type { AdminCall, Call } from '../../core/call.ts';
import { toParleyError } from '../../core/errors.ts';
import type { Operation } from '../../core/ports/usage.ts';
import { type AdminFunctions, type AdminMethod, adminMethods, type Services } from '../../core/services.ts';
import { chatHandler } from './chat.ts';
import type { Exchange } from './exchange.ts';
import { speechHandler } from './speech.ts';
import { transcriptionHandler } from './transcription.ts';
import { type PathParameters, unaryHandler } from './unary.ts';

export interface RestLimits {
  readonly speechBodyBytesMax: number;
  readonly chatBodyBytesMax: number;
}

export interface Route {
  readonly rule: Pick<HttpRule, 'verb' | 'path'>;
  readonly handle: (exchange: Exchange, parameters: PathParameters) => Promise<void>;
}

const adminNames = Object.keys(adminMethods) as AdminMethod[];

export function restRoutes(services: Services, gate: Gate, limits: RestLimits): Route[] {
  const { speech, transcription, chat, catalog, account, admin } = services;
  const guard = new Guard(gate);
  const api = guard.operation.bind(guard);
  return [
    api(SpeechService.method.synthesizeSpeech, 'speech', speechHandler(speech, limits.speechBodyBytesMax)),
    api(
      TranscriptionService.method.createTranscription,
      'transcription',
      transcriptionHandler(transcription),
    ),
    api(ChatService.method.createChatCompletion, 'chat', chatHandler(chat, limits.chatBodyBytesMax)),
    guard.unary(CatalogService.method.listModels, 'catalog', (request, call) =>
      catalog.listModels(request, call),
    ),
    guard.unary(CatalogService.method.getModel, 'catalog', (request, call) =>
      catalog.getModel(request, call),
    ),
    guard.unary(AccountService.method.getAccount, 'account', (request, call) =>
      account.getAccount(request, call),
    ),
    guard.unary(AccountService.method.listUsageRecords, 'account', (request, call) =>
      account.listUsageRecords(request, call),
    ),
    ...adminNames.map((name) => guard.admin(name, admin)),
  ];
}

/** Puts the gate before a handler, and the request's end behind it whatever the handler throws. */
class Guard {
  readonly #gate: Gate;

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  operation(
    method: DescMethod,
    operation: Operation,
    handle: (exchange: Exchange, call: Call, parameters: PathParameters) => Promise<void>,
  ): Route {
    return {
      rule: httpRule(method),
      handle: async (exchange, parameters) => {
        const { id, idempotencyKey, signal } = exchange;
        const arrival = { id, operation, idempotencyKey, signal, ...exchange.credentials };
        const call = await this.#gate.open(arrival);
        try {
          await handle(exchange, call, parameters);
        } catch (thrown) {
          const error = toParleyError(signal.aborted ? signal.reason : thrown);
          await call.metering.void(error);
          throw error;
        }
      },
    };
  }

  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    operation: Operation,
    run: (request: MessageShape<I>, call: Call) => Promise<MessageShape<O>>,
  ): Route {
    const answer = unaryHandler(method, run, operation);
    return this.operation(method, operation, (exchange, call, parameters) =>
      answer(exchange, parameters, call),
    );
  }

  admin<K extends AdminMethod>(name: K, admin: AdminFunctions): Route {
    const method = adminMethods[name];
    const answer = unaryHandler(method, (request, call: AdminCall) => admin[name](request, call));
    return {
      rule: httpRule(method),
      handle: async (exchange, parameters) => {
        await answer(exchange, parameters, await this.#gate.openAdmin(exchange.credentials));
      },
    };
  }
}
