/** The way to a remote Parley: one channel, which finds the addresses, shares the calls among them and connects again. */
import { readFileSync } from 'node:fs';
import {
  type ChannelCredentials,
  Client,
  type ClientOptions,
  connectivityState,
  credentials,
} from '@grpc/grpc-js';
import { unreachable } from './failures.ts';
import { healthCheckedRoundRobin } from './health-checked-balancing.ts';

export interface ConnectionSettings {
  /** As gRPC names it: `host:port`, `dns:///host:port`, `ipv4:10.0.0.1:80,10.0.0.2:80`. */
  readonly address: string;
  readonly tls: boolean;
  /** The path of a PEM file. */
  readonly tlsCa?: string | undefined;
  /** The name that the certificate must have, where not that of the address. */
  readonly tlsName?: string | undefined;
  readonly connectMs: number;
  readonly keepaliveMs: number;
  /** How often a request looks again that finds the connection lost. */
  readonly retriesMax: number;
}

export type Turn = 'up' | 'down';

/** Bytes of a message, either way: what a Parley takes by default. */
export const messageBytesMax = 20 * 1024 * 1024;

/** Often enough that a restart of the remote is hardly seen, and never so often that it is in the way. */
const reconnectMs = { first: 100, most: 10_000 };
/** The pause before a request looks again is about this long, then twice as long, and so on. */
const retryMs = 100;
const pingTimeoutMsMax = 10_000;

export class Connection {
  readonly client: Client;
  readonly #settings: ConnectionSettings;
  #isClosed = false;

  /**
   * Begins to connect.
   * @param onTurn told of each way up and down once, however often it is tried in between
   * @throws where the file of authorities cannot be read
   */
  constructor(settings: ConnectionSettings, onTurn?: (turn: Turn) => void) {
    this.#settings = settings;
    this.client = new Client(settings.address, credentialsOf(settings), optionsOf(settings));
    this.#follow(onTurn);
  }

  /**
   * Resolves when a call may be made: when there is a connection, and also where there is none to be had, since a call then
   * fails at once and says why. A channel that has been found down before is left alone until it has connected again;
   * where it goes down just now, it is looked at a few times more.
   *
   * @throws `upstream_error`, which says that the request has not run, where that takes too long; the reason of the signal
   */
  async ready(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const deadlineMs = Date.now() + this.#settings.connectMs;
    let state = this.#state();
    let retriesLeft = state === connectivityState.TRANSIENT_FAILURE ? 0 : this.#settings.retriesMax;
    for (let pauseMs = retryMs; state !== connectivityState.READY; state = this.#state()) {
      let untilMs = deadlineMs;
      if (state === connectivityState.TRANSIENT_FAILURE) {
        if (retriesLeft-- === 0) return;
        untilMs = Math.min(deadlineMs, Date.now() + pauseMs * (0.5 + Math.random()));
        pauseMs *= 2;
      }
      if (Date.now() >= deadlineMs) throw this.#unreachable('it did not come about in time');
      await this.#change(state, untilMs, signal);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.client.close();
  }

  #state(): connectivityState {
    if (this.#isClosed) throw this.#unreachable('the engine is closed');
    return this.client.getChannel().getConnectivityState(true);
  }

  #unreachable(why: string): Error {
    return unreachable(new Error(`no connection to ${this.#settings.address}: ${why}`));
  }

  /** Resolves when the state is another than `from`, or at a moment. */
  #change(from: connectivityState, untilMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = () => reject(signal.reason);
      const end = () => {
        signal.removeEventListener('abort', stop);
        resolve();
      };
      signal.addEventListener('abort', stop, { once: true });
      this.client.getChannel().watchConnectivityState(from, untilMs, end);
    });
  }

  #follow(onTurn?: (turn: Turn) => void): void {
    let told: Turn | undefined;
    const channel = this.client.getChannel();
    const look = () => {
      if (this.#isClosed) return;
      const state = channel.getConnectivityState(true);
      const turn = turnOf(state);
      if (turn !== undefined && turn !== told) {
        told = turn;
        onTurn?.(turn);
      }
      channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, look);
    };
    look();
  }
}

function turnOf(state: connectivityState): Turn | undefined {
  if (state === connectivityState.READY) return 'up';
  return state === connectivityState.TRANSIENT_FAILURE ? 'down' : undefined;
}

function credentialsOf({ tls, tlsCa }: ConnectionSettings): ChannelCredentials {
  if (!tls) return credentials.createInsecure();
  return credentials.createSsl(tlsCa === undefined ? null : readFileSync(tlsCa));
}

function optionsOf({ keepaliveMs, retriesMax, tlsName }: ConnectionSettings): ClientOptions {
  return {
    'grpc.service_config': JSON.stringify({
      loadBalancingConfig: healthCheckedRoundRobin(),
      methodConfig: [],
    }),
    // Neither the DNS nor the environment has a say in it.
    'grpc.service_config_disable_resolution': 1,
    'grpc.enable_http_proxy': 0,
    // Without a policy of the service config only what has not begun is sent again: what never left, once what was refused.
    'grpc.enable_retries': retriesMax > 0 ? 1 : 0,
    'grpc.initial_reconnect_backoff_ms': reconnectMs.first,
    'grpc.max_reconnect_backoff_ms': reconnectMs.most,
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.keepalive_timeout_ms': Math.min(keepaliveMs, pingTimeoutMsMax),
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.max_send_message_length': messageBytesMax,
    'grpc.max_receive_message_length': messageBytesMax,
    'grpc.enable_channelz': 0,
    // Two engines with one address have each their own connections.
    'grpc.use_local_subchannel_pool': 1,
    ...(tlsName !== undefined && { 'grpc.ssl_target_name_override': tlsName }),
  };
}
