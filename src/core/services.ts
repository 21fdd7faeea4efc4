import type { DescMethodUnary, MessageShape } from '@bufbuild/protobuf';
import { AdminService } from '../../gen/parley/admin/v1/admin_service_pb.ts';
import type { AdminCall } from './access/call.ts';
import type { AccountOperations } from './account/service.ts';
import type { AlertOperations } from './alerts/service.ts';
import type { CatalogOperations } from './catalog/service.ts';
import type { ChatOperations } from './chat/service.ts';
import type { CompletionOperations } from './completions/service.ts';
import type { ManagementOperations } from './management/service.ts';
import type { ResponseOperations } from './responses/service.ts';
import type { SpeechOperations } from './speech/service.ts';
import type { TranscriptionOperations } from './transcription/service.ts';

/** The implementations of the RPCs, grouped as the schemas group their services. */
export interface Services {
  readonly speech: SpeechOperations;
  readonly transcription: TranscriptionOperations;
  readonly chat: ChatOperations;
  readonly responses: ResponseOperations;
  readonly completions: CompletionOperations;
  readonly catalog: CatalogOperations;
  readonly account: AccountOperations;
  readonly management: ManagementOperations;
  readonly alerts: AlertOperations;
  readonly admin: AdminFunctions;
}

type AdminMethods = typeof AdminService.method;
export type AdminMethod = keyof AdminMethods;
export type AdminInput<K extends AdminMethod> = AdminMethods[K]['input'];
export type AdminOutput<K extends AdminMethod> = AdminMethods[K]['output'];

/** The schema's description of each admin RPC. */
export const adminMethods: {
  readonly [K in AdminMethod]: DescMethodUnary<AdminInput<K>, AdminOutput<K>>;
} = AdminService.method;

/** One function for each admin RPC; AdminOperations has them all. */
export type AdminFunctions = {
  readonly [K in AdminMethod]: (
    request: MessageShape<AdminInput<K>>,
    call: AdminCall,
  ) => Promise<MessageShape<AdminOutput<K>>>;
};
