/** Admin commands on a server: with an admin key, or with an API key for its own account. */
import {
  type DescMethodUnary,
  fromJson,
  type MessageInitShape,
  type MessageShape,
  toJson,
} from '@bufbuild/protobuf';
import type { CallOptions, Client } from '@connectrpc/connect';
import { AccountService } from '../../../gen/parley/account/v1/account_service_pb.ts';
import { AdminService } from '../../../gen/parley/admin/v1/admin_service_pb.ts';
import { AlertsService } from '../../../gen/parley/alerts/v1/alerts_service_pb.ts';
import { ManagementService } from '../../../gen/parley/management/v1/management_service_pb.ts';
import { type AdminInput, type AdminMethod, type AdminOutput, adminMethods } from '../../core/services.ts';
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
  if (flags.own || baseUrl === undefined) return onOwnAccount(clientServer(flags));
  return onServer(adminServer(baseUrl, flags));
}

type AdminCalls = {
  readonly [K in AdminMethod]: (request: AdminRequest<K>, options: CallOptions) => Promise<AdminResponse<K>>;
};

function onServer(server: ServerConnection): AdminConnection {
  return {
    invoke: <K extends AdminMethod>(method: K, request: AdminRequest<K>): Promise<AdminResponse<K>> =>
      server.call(AdminService, (client: AdminCalls, options) => client[method](request, options)),
    close: async () => undefined,
  };
}

/** Clients of the account's own services. Their methods have the names and messages of the admin methods, without the account. */
const services = [AccountService, AlertsService, ManagementService];

/** An account named in a request must be the key's own. */
function onOwnAccount(server: ServerConnection): AdminConnection {
  return {
    async invoke<K extends AdminMethod>(method: K, request: AdminRequest<K>): Promise<AdminResponse<K>> {
      const { accountId, ...own } = request as Record<string, unknown> & { readonly accountId?: string };
      if (accountId !== undefined) await checkOwn(server, accountId);
      const service = services.find((one) => Object.hasOwn(one.method, method));
      if (service === undefined) throw new CliError('This needs an admin key, not an API key.');
      const { output } = Reflect.get(service.method, method) as DescMethodUnary;
      const response = await server.call(service, (client, options) => {
        const call = Reflect.get(client, method) as UntypedCall;
        return call(own, options);
      });
      const json = toJson(output, response as MessageShape<typeof output>);
      return fromJson<AdminOutput<K>>(adminMethods[method].output, json);
    },
    close: async () => undefined,
  };
}

type UntypedCall = (request: object, options: CallOptions) => Promise<unknown>;

async function checkOwn(server: ServerConnection, idOrName: string): Promise<void> {
  const { account } = await server.call(
    AccountService,
    (client: Client<typeof AccountService>, options: CallOptions) => client.getAccount({}, options),
  );
  if (account?.id === idOrName || account?.name === idOrName) return;
  throw new CliError(`The API key belongs to another account, \`${account?.name ?? ''}\`. Use an admin key.`);
}
