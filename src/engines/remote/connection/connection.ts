/** One channel to a remote Parley. Resolves the addresses, balances calls among them and reconnects. */

import { readFileSync } from 'node:fs';
import {
  type ChannelCredentials,
  Client,
  type ClientOptions,
  connectivityState,
  credentials,
} from '@grpc/grpc-js';
import type { Signal } from '../../../core/values/signal.ts';
import { unreachable } from '../errors.ts';
import { healthCheckedRoundRobin } from './health-checked-round-robin.ts';

export interface ConnectionSettings {
  /** A gRPC target: `host:port`, `dns:///host:port`, `ipv4:10.0.0.1:80,10.0.0.2:80`. */
  readonly address: string;
  readonly tls: boolean;
  /** The path of a PEM file. */
  readonly tlsCa?: string | undefined;
  /** The name that the certificate must have. Default: that of the address. */
  readonly tlsName?: string | undefined;
  readonly connectMs: number;
  readonly keepaliveMs: number;
  /** Maximum times that a request waits for a lost connection. */
  readonly retriesMax: number;
}

/** Bytes of a message in either direction. A Parley accepts this many by default. */
export const messageBytesMax = 20 * 1024 * 1024;

/** Short at first, so that a restart of the remote is hardly noticed. */
const reconnectMs = { min: 100, max: 10_000 };
/** The first pause before a request checks again; it doubles each time. */
const retryMs = 100;
const pingTimeoutMsMax = 10_000;

export class Connection {
  readonly client: Client;
  readonly #settings: ConnectionSettings;
  #isClosed = false;

  /**
   * Begins to connect.
   * @param onChange called when the connection is made or lost, not for failed attempts in between
   * @throws if `tlsCa` cannot be read
   */
  constructor(settings: ConnectionSettings, onChange?: (isUp: boolean) => void) {
    this.#settings = settings;
    this.client = new Client(settings.address, credentialsOf(settings), optionsOf(settings));
    this.#watch(onChange);
  }

  /**
   * Resolves when a call may be made: connected, or known to fail at once with the reason. Returns at once if the
   * channel was already down; if it goes down now, checks again up to `retriesMax` times.
   *
   * @throws `upstream_error` with `hasNotRun` after `connectMs`, or the signal's reason
   */
  async ready(signal: Signal): Promise<void> {
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
      if (Date.now() >= deadlineMs) throw this.#unreachable('timeout');
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

  /** Resolves when the state is no longer `from`, or at `untilMs`. */
  #change(from: connectivityState, untilMs: number, signal: Signal): Promise<void> {
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

  #watch(onChange?: (isUp: boolean) => void): void {
    let wasUp: boolean | undefined;
    const channel = this.client.getChannel();
    const look = () => {
      if (this.#isClosed) return;
      const state = channel.getConnectivityState(true);
      const isUp = isUpIn(state);
      if (isUp !== undefined && isUp !== wasUp) {
        wasUp = isUp;
        onChange?.(isUp);
      }
      channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, look);
    };
    look();
  }
}

/** Undefined while connecting or idle. */
function isUpIn(state: connectivityState): boolean | undefined {
  if (state === connectivityState.READY) return true;
  return state === connectivityState.TRANSIENT_FAILURE ? false : undefined;
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
    // Ignore service configs from DNS and proxies from the environment.
    'grpc.service_config_disable_resolution': 1,
    'grpc.enable_http_proxy': 0,
    // Without a retry policy in the service config, grpc-js only retries calls that the server has not begun.
    'grpc.enable_retries': retriesMax > 0 ? 1 : 0,
    'grpc.initial_reconnect_backoff_ms': reconnectMs.min,
    'grpc.max_reconnect_backoff_ms': reconnectMs.max,
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.keepalive_timeout_ms': Math.min(keepaliveMs, pingTimeoutMsMax),
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.max_send_message_length': messageBytesMax,
    'grpc.max_receive_message_length': messageBytesMax,
    'grpc.enable_channelz': 0,
    // Two engines with one address do not share connections.
    'grpc.use_local_subchannel_pool': 1,
    ...(tlsName !== undefined && { 'grpc.ssl_target_name_override': tlsName }),
  };
}
