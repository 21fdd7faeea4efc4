/**
 * Opens as many channels as the calls need. A server accepts a limited number of calls on a connection, 100 by default,
 * and grpc-js queues the rest without a limit.
 */
import { ParleyError } from '../../../core/values/errors.ts';
import type { Log } from '../../../core/values/log.ts';
import { Connection, type ConnectionSettings } from './connection.ts';

export interface ConnectionsSettings extends ConnectionSettings {
  /** Maximum per address. */
  readonly connectionsMax: number;
}

/** Leaves some of the 100 for health checks and the catalog. */
const callsPerConnectionMax = 90;
/** An additional connection is closed after this time without a call. */
const idleMs = 30_000;
const retryAfterSeconds = 1;

export interface TakenConnection {
  readonly connection: Connection;
  /** Call once, at the end of the call. */
  release(): void;
}

interface Opened {
  readonly connection: Connection;
  calls: number;
  idle: NodeJS.Timeout | undefined;
}

export class Connections {
  readonly #settings: ConnectionsSettings;
  readonly #first: Opened;
  readonly #all: Opened[];
  #isUp = true;

  /** Begins to connect. @throws if `tlsCa` cannot be read */
  constructor(settings: ConnectionsSettings, { name, log }: { readonly name: string; readonly log: Log }) {
    this.#settings = settings;
    const facts = { engine: name, address: settings.address };
    const connection = new Connection(settings, (isUp) => {
      this.#isUp = isUp;
      if (isUp) log.info(facts, 'the remote engine can be reached');
      else
        log.warn(
          facts,
          'the remote engine cannot be reached, or reports that it does not serve; calls to it fail at once',
        );
    });
    this.#first = { connection, calls: 0, idle: undefined };
    this.#all = [this.#first];
  }

  /** False once a connection has failed. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** @throws `overloaded` if every connection is full and no other may be opened */
  take(): TakenConnection {
    const opened = this.#all.find(({ calls }) => calls < callsPerConnectionMax) ?? this.#open();
    clearTimeout(opened.idle);
    opened.calls++;
    return {
      connection: opened.connection,
      release: () => {
        opened.calls--;
        if (opened.calls === 0 && opened !== this.#first) {
          opened.idle = setTimeout(() => this.#close(opened), idleMs).unref();
        }
      },
    };
  }

  close(): void {
    for (const opened of [...this.#all]) this.#close(opened);
  }

  #open(): Opened {
    if (this.#all.length >= this.#settings.connectionsMax) {
      throw new ParleyError('overloaded', { retryAfterSeconds, hasNotRun: true });
    }
    const opened = { connection: new Connection(this.#settings), calls: 0, idle: undefined };
    this.#all.push(opened);
    return opened;
  }

  #close(opened: Opened): void {
    clearTimeout(opened.idle);
    opened.connection.close();
    this.#all.splice(this.#all.indexOf(opened), 1);
  }
}
