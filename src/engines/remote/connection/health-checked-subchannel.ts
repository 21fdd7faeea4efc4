/** A connection to one address that gets no calls while its server reports that it does not serve. */
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
} from '../../../../gen/health/v1/health_pb.ts';

const watchPath = '/grpc.health.v1.Health/Watch';
/** The empty name stands for the whole server. */
const wholeServer = toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service: '' }));
/** The wait before a new watch, as a server may end one at any time. */
const watchAgainMs = 1_000;

/**
 * The last report on each connection. A new list of addresses creates new wrappers around the same connections, which
 * must not send calls to a server that does not serve.
 */
const lastReport = new WeakMap<object, boolean>();

export class HealthCheckedSubchannel extends experimental.BaseSubchannelWrapper {
  readonly #watch: HealthWatch;
  #uses = 0;

  constructor(connection: experimental.SubchannelInterface) {
    super(connection);
    const real = connection.getRealSubchannel();
    this.setHealthy(lastReport.get(real) ?? true);
    this.#watch = new HealthWatch(connection.getChannel(), (isServing) => {
      lastReport.set(real, isServing);
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
      this.setHealthy(lastReport.get(real) ?? true);
      this.#watch.start();
      return;
    }
    this.#watch.stop();
    // The next connection may reach another process. It counts as healthy once it is ready, not now, as the balancer
    // may not know yet that this one ended.
    lastReport.delete(real);
  }
}

/** Watches whether the server of a connection serves, for as long as the connection lasts. */
class HealthWatch {
  readonly #client: Client;
  readonly #onReport: (isServing: boolean) => void;
  #call: ClientReadableStream<HealthCheckResponse> | undefined;
  #again: NodeJS.Timeout | undefined;

  constructor(channel: ChannelInterface, onReport: (isServing: boolean) => void) {
    // The channel already has its credentials.
    this.#client = new Client('', credentials.createInsecure(), { channelOverride: channel });
    this.#onReport = onReport;
  }

  start(): void {
    if (this.#call === undefined && this.#again === undefined) this.#open();
  }

  stop(): void {
    clearTimeout(this.#again);
    this.#again = undefined;
    const call = this.#call;
    this.#call = undefined;
    // grpc-js ignores the cancellation of a call that has not started yet.
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
      if (this.#call === call) this.#onReport(response.status === ServingStatus.SERVING);
    });
    // Every call ends with one status, which repeats the error.
    call.on('error', () => undefined);
    call.on('status', ({ code }) => {
      if (this.#call === call) this.#ended(code);
    });
  }

  #ended(code: status): void {
    this.#call = undefined;
    // A server without the health service counts as serving.
    if (code === status.UNIMPLEMENTED) {
      this.#onReport(true);
      return;
    }
    this.#again = setTimeout(() => {
      this.#again = undefined;
      this.#open();
    }, watchAgainMs).unref();
  }
}
