/** The calls of admin commands, through a server or the data folder. */
import type { MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import type { AdminInput, AdminMethod, AdminOutput } from '../../core/services.ts';

export type AdminRequest<K extends AdminMethod> = MessageInitShape<AdminInput<K>>;
export type AdminResponse<K extends AdminMethod> = MessageShape<AdminOutput<K>>;

export interface AdminConnection {
  /** @throws CliError with the refusal of core or of the server */
  invoke<K extends AdminMethod>(method: K, request: AdminRequest<K>): Promise<AdminResponse<K>>;
  close(): Promise<void>;
}
