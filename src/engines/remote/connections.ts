/**
 * As many channels as the calls need. A server takes only so many calls at once on one connection, 100 by default, and
 * grpc-js lets the others wait without a limit and without a word.
 */
import { ParleyError } from '../../core/errors.ts';
import type { Log } from '../../core/ports/log.ts';
import { Connection, type ConnectionSettings } from './connection.ts';

export interface ConnectionsSettings extends ConnectionSettings {
  /** To each address. */
  readonly connectionsMax: number;
}

/** Of the 100, some are for asking after its health and its models. */
const callsPerConnectionMax = 90;
/** After so long without a call a connection is closed that is not the first. */
const idleMs = 30_000;
const retryAfterSeconds = 1;

/** A call's place on a connection. */
export interface Place {
  readonly connection: Connection;
  /** To be called once. */
  leave(): void;
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

  /** Begins to connect. @throws where the file of authorities cannot be read */
  constructor(settings: ConnectionsSettings, { name, log }: { readonly name: string; readonly log: Log }) {
    this.#settings = settings;
    const facts = { engine: name, address: settings.address };
    const connection = new Connection(settings, (event) => {
      this.#isUp = event === 'up';
      if (event === 'up') log.info(facts, 'the remote engine can be reached');
      else
        log.warn(facts, 'the remote engine cannot be reached, or does not serve; calls to it fail at once');
    });
    this.#first = { connection, calls: 0, idle: undefined };
    this.#all = [this.#first];
  }

  /** False once it has turned out that it cannot be reached. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** @throws `overloaded` where every connection has all the calls that it can have */
  take(): Place {
    const opened = this.#all.find(({ calls }) => calls < callsPerConnectionMax) ?? this.#open();
    clearTimeout(opened.idle);
    opened.calls++;
    return {
      connection: opened.connection,
      leave: () => {
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
