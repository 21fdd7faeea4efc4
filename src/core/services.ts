import type { DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { AdminService } from '../../gen/parley/admin/v1/admin_service_pb.ts';
import type { AdminCall } from './access/call.ts';
import type { ClientSecrets } from './access/client-secrets.ts';
import type { accountsApi } from './accounts/service.ts';
import type { alertsApi } from './alerts/service.ts';
import type { CatalogOperations } from './catalog/service.ts';
import type { OperationsOf } from './chat/dialect.ts';
import type { ChatOperations } from './chat/service.ts';
import type { completions } from './completions/dialect.ts';
import type { messages } from './messages/dialect.ts';
import type { RealtimeOperations } from './realtime/service.ts';
import type { responses } from './responses/dialect.ts';
import type { SpeechOperations } from './speech/service.ts';
import type { TranscriptionOperations } from './transcription/service.ts';

/** The implementations of the RPCs. */
export interface Services {
  readonly speech: SpeechOperations;
  readonly transcription: TranscriptionOperations;
  readonly realtime: RealtimeOperations;
  readonly clientSecrets: ClientSecrets;
  readonly chat: ChatOperations;
  readonly responses: OperationsOf<typeof responses>;
  readonly messages: OperationsOf<typeof messages>;
  readonly completions: OperationsOf<typeof completions>;
  readonly catalog: CatalogOperations;
  readonly accounts: AccountFunctions;
}

/** The functions of AccountService, ManagementService, AlertsService and AdminService. */
export type AccountFunctions = ReturnType<typeof accountsApi> & ReturnType<typeof alertsApi>;

type AdminMethods = typeof AdminService.method;
export type AdminMethod = keyof AdminMethods;
export type AdminInput<K extends AdminMethod> = AdminMethods[K]['input'];
export type AdminOutput<K extends AdminMethod> = AdminMethods[K]['output'];

/** The schema's description of each admin RPC. */
export const adminMethods: {
  readonly [K in AdminMethod]: DescMethodUnary<AdminInput<K>, AdminOutput<K>>;
} = AdminService.method;

export type UnaryMethods = Readonly<Record<string, DescMethodUnary>>;

/** A function for each RPC, under its name. */
export type Functions<M extends UnaryMethods, C> = {
  readonly [K in keyof M]: (
    request: MessageShape<M[K]['input']>,
    call: C,
  ) => Promise<MessageInitShape<M[K]['output']>>;
};

export type AdminFunctions = Functions<AdminMethods, AdminCall>;
