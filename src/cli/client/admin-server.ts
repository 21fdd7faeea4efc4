/** Admin commands on a server: with an admin key, or with an API key for its own account. */
import type { DescService, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import type { CallOptions } from '@connectrpc/connect';
import { AccountService } from '../../../gen/parley/account/v1/account_service_pb.ts';
import { AdminService } from '../../../gen/parley/admin/v1/admin_service_pb.ts';
import { AlertsService } from '../../../gen/parley/alerts/v1/alerts_service_pb.ts';
import { ManagementService } from '../../../gen/parley/management/v1/management_service_pb.ts';
import type { AdminInput, AdminMethod, AdminOutput } from '../../core/services.ts';
import type { AdminFlags } from '../flags.ts';
import { CliError } from '../terminal/command.ts';
import { adminServer, clientServer } from './chosen-server.ts';
import type { ServerConnection } from './server-connection.ts';

export type AdminRequest<K extends AdminMethod> = MessageInitShape<AdminInput<K>>;
export type AdminResponse<K extends AdminMethod> = MessageShape<AdminOutput<K>>;

export interface AdminConnection {
  /** @throws CliError with the refusal of core or of the server */
  invoke<K extends AdminMethod>(method: K, request: AdminRequest<K>): Promise<AdminResponse<K>>;
  close(): Promise<void>;
}

/** @throws CliError if no key for the server is known */
export function serverConnection(flags: AdminFlags, baseUrl: string | undefined): AdminConnection {
  if (flags.own || baseUrl === undefined) return connection(clientServer(flags), ownServices);
  return connection(adminServer(baseUrl, flags), [AdminService]);
}

/** Services for the keys of an account. Their methods have the names and messages of the admin methods. */
const ownServices = [AccountService, AlertsService, ManagementService];

type AdminCalls = {
  readonly [K in AdminMethod]: (request: AdminRequest<K>, options: CallOptions) => Promise<AdminResponse<K>>;
};

function connection(server: ServerConnection, services: readonly DescService[]): AdminConnection {
  return {
    async invoke<K extends AdminMethod>(method: K, request: AdminRequest<K>): Promise<AdminResponse<K>> {
      const service = services.find((one) => Object.hasOwn(one.method, method));
      if (service === undefined) throw new CliError('This needs an admin key, not an API key.');
      return server.call(service, (client, options) =>
        (client as unknown as AdminCalls)[method](request, options),
      );
    },
    close: async () => undefined,
  };
}
