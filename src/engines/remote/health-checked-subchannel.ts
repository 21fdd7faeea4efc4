/** A connection to one address, which counts as unfit for calls while the server behind it says that it does not serve. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type ChannelInterface,
  Client,
  type ClientReadableStream,
  connectivityState,
  credentials,
  experimental,
  status,
} from '@grpc/grpc-js';
import {
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../gen/health/v1/health_pb.ts';

const watchPath = '/grpc.health.v1.Health/Watch';
/** The server as a whole. */
const wholeServer = toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service: '' }));
/** Between two watches of one connection: a server may end them at any time. */
const watchAgainMs = 1_000;

/**
 * What was last heard on a connection. A new list of addresses makes new wrappers around connections that stay, and a
 * server that has said that it does not serve must not get calls until it has said so again.
 */
const lastHeard = new WeakMap<object, boolean>();

export class HealthCheckedSubchannel extends experimental.BaseSubchannelWrapper {
  readonly #watch: HealthWatch;
  #uses = 0;

  constructor(connection: experimental.SubchannelInterface) {
    super(connection);
    const real = connection.getRealSubchannel();
    this.setHealthy(lastHeard.get(real) ?? true);
    this.#watch = new HealthWatch(connection.getChannel(), (isServing) => {
      lastHeard.set(real, isServing);
      this.setHealthy(isServing);
    });
  }

  override ref(): void {
    super.ref();
    if (this.#uses++ > 0) return;
    this.child.addConnectivityStateListener(this.#followState);
    this.#follow(this.child.getConnectivityState());
  }

  override unref(): void {
    if (--this.#uses === 0) {
      this.child.removeConnectivityStateListener(this.#followState);
      this.#watch.stop();
    }
    super.unref();
  }

  readonly #followState: experimental.ConnectivityStateListener = (_connection, _before, now) =>
    this.#follow(now);

  #follow(state: connectivityState): void {
    const real = this.getRealSubchannel();
    if (state === connectivityState.READY) {
      this.setHealthy(lastHeard.get(real) ?? true);
      this.#watch.start();
      return;
    }
    this.#watch.stop();
    // The next connection may be to another process; it counts as healthy from its beginning, not from this one's end, as
    // the balancing may yet have to hear of that.
    lastHeard.delete(real);
  }
}

/** Asks over one connection whether its server serves, and goes on asking for as long as the connection lasts. */
class HealthWatch {
  readonly #client: Client;
  readonly #onHeard: (isServing: boolean) => void;
  #call: ClientReadableStream<HealthCheckResponse> | undefined;
  #again: NodeJS.Timeout | undefined;

  constructor(channel: ChannelInterface, onHeard: (isServing: boolean) => void) {
    // The connection has its credentials already.
    this.#client = new Client('', credentials.createInsecure(), { channelOverride: channel });
    this.#onHeard = onHeard;
  }

  start(): void {
    if (this.#call === undefined && this.#again === undefined) this.#open();
  }

  stop(): void {
    clearTimeout(this.#again);
    this.#again = undefined;
    const call = this.#call;
    this.#call = undefined;
    // A call that is only about to begin does not heed its cancellation.
    if (call) setImmediate(() => call.cancel());
  }

  #open(): void {
    const call = this.#client.makeServerStreamRequest(
      watchPath,
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes: Buffer) => fromBinary(HealthCheckResponseSchema, bytes),
      wholeServer,
    );
    this.#call = call;
    call.on('data', (response: HealthCheckResponse) => {
      if (this.#call === call) this.#onHeard(response.status === ServingStatus.SERVING);
    });
    // Each call ends with exactly one status; an error says nothing that it does not.
    call.on('error', () => undefined);
    call.on('status', ({ code }) => {
      if (this.#call === call) this.#ended(code);
    });
  }

  #ended(code: status): void {
    this.#call = undefined;
    // A server without this service is one that serves.
    if (code === status.UNIMPLEMENTED) {
      this.#onHeard(true);
      return;
    }
    this.#again = setTimeout(() => {
      this.#again = undefined;
      this.#open();
    }, watchAgainMs).unref();
  }
}
