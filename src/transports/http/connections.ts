/** The open connections of a port, and which of them close to make room for others. */
import type { IncomingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Client } from '../../core/access/gate.ts';
import { networkOf, plainAddress } from '../../core/values/addresses.ts';
import { closeIdle, turnAway } from './bad-request.ts';
import type { ServerLimits } from './limits.ts';
import { unanswered } from './pipeline.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

/** The connections of the port, or of one address. */
class Share {
  readonly open = new Set<Connection>();
  /** Connections without a valid key so far, the oldest first. */
  readonly keyless = new Set<Connection>();

  /**
   * If there is no room for another, closes the oldest connection without a valid key, else the oldest idle one of
   * HTTP/1. Returns whether there is room now.
   */
  makeRoom(connectionsMax: number, isTls: boolean): boolean {
    if (this.open.size < connectionsMax) return true;
    const [oldest = this.#idle()] = this.keyless;
    oldest?.close(isTls);
    return oldest !== undefined;
  }

  #idle(): Connection | undefined {
    return Array.from(this.open).find(({ isProxy, idleSocket }) => !isProxy && idleSocket !== undefined);
  }
}

class Connection implements Client {
  readonly address: string;
  /** Whether many clients share the connection. Then it is not closed to make room. */
  readonly isProxy: boolean;
  /** The socket, TLS socket or HTTP/2 session by which its requests come. */
  carrier: object;
  readonly #socket: Socket;
  readonly #shares: readonly Share[];

  constructor(socket: Socket, address: string, shares: readonly Share[], isProxy: boolean) {
    this.#socket = socket;
    this.carrier = socket;
    this.address = address;
    this.isProxy = isProxy;
    this.#shares = shares;
    for (const { open, keyless } of shares) {
      open.add(this);
      if (!isProxy) keyless.add(this);
    }
  }

  /** The socket that waits for another request over HTTP/1. */
  get idleSocket(): Socket | undefined {
    const { carrier } = this;
    return carrier instanceof Socket && unanswered(carrier) === 0 ? carrier : undefined;
  }

  noteKey(): void {
    for (const { keyless } of this.#shares) keyless.delete(this);
  }

  /** Stops counting the connection. */
  leave(): void {
    this.noteKey();
    for (const { open } of this.#shares) open.delete(this);
  }

  close(isTls: boolean): void {
    this.leave();
    const { carrier } = this;
    // During the handshake, and over HTTP/2, a client does not understand an HTTP/1 answer.
    if (carrier instanceof Socket && isTls === carrier instanceof TLSSocket) turnAway(carrier);
    else this.#socket.destroy();
  }
}

/** Stands for the client of a request whose connection has already closed. */
const nobody: Client = { address: '', noteKey: () => undefined };

export class Connections {
  readonly #limits: ServerLimits;
  readonly #proxies: TrustedProxies;
  readonly #isTls: boolean;
  readonly #port = new Share();
  readonly #networks = new Map<string, Share>();
  readonly #byPeer = new Map<string, Connection>();
  /** By the socket, TLS socket or HTTP/2 session that carries the requests. */
  readonly #byCarrier = new WeakMap<object, Connection>();

  constructor(limits: ServerLimits, proxies: TrustedProxies, isTls: boolean) {
    this.#limits = limits;
    this.#proxies = proxies;
    this.#isTls = isTls;
  }

  /**
   * Counts a new socket. If its address or the port has no room for it, closes the connection that has been without a
   * valid key for the longest time. If all have had one, closes the new one.
   * @returns whether the new one stays open
   */
  admit(socket: Socket): boolean {
    const address = plainAddress(socket.remoteAddress ?? '');
    const share = this.#shareOf(address);
    const { connectionsMax, connectionsPerAddressMax } = this.#limits;
    const hasRoom =
      share?.makeRoom(connectionsPerAddressMax, this.#isTls) !== false &&
      this.#port.makeRoom(connectionsMax, this.#isTls);
    // Without an address, the client has left already.
    if (!hasRoom || address === '') {
      if (this.#isTls || address === '') socket.destroy();
      else turnAway(socket.resume());
      return false;
    }
    const shares = share ? [this.#port, share] : [this.#port];
    const connection = new Connection(socket, address, shares, share === undefined);
    this.#list(socket, connection, share);
    return true;
  }

  /** Records that requests of a socket arrive by its TLS socket or its HTTP/2 session. */
  carry(socket: Socket, carrier: object): void {
    const connection = this.#byCarrier.get(socket) ?? this.#byPeer.get(peerOf(socket));
    if (connection === undefined) return;
    connection.carrier = carrier;
    this.#byCarrier.set(carrier, connection);
  }

  /** Closes HTTP/1 connections that wait for another request. */
  closeIdle(): void {
    for (const { idleSocket } of this.#port.open) if (idleSocket) closeIdle(idleSocket);
  }

  /**
   * The client of a request.
   * @param carrier the socket, TLS socket or HTTP/2 session that the request arrived by
   */
  clientOf(carrier: object | undefined, headers: IncomingHttpHeaders): Client {
    const connection = carrier && this.#byCarrier.get(carrier);
    if (connection === undefined) return nobody;
    if (!connection.isProxy) return connection;
    return { ...nobody, address: this.#proxies.clientOf(connection.address, headers) };
  }

  /** Undefined for a trusted proxy, whose address all its clients share. */
  #shareOf(address: string): Share | undefined {
    if (this.#proxies.has(address)) return undefined;
    return this.#networks.get(networkOf(address)) ?? new Share();
  }

  #list(socket: Socket, connection: Connection, share: Share | undefined): void {
    const [network, peer] = [networkOf(connection.address), peerOf(socket)];
    this.#byCarrier.set(socket, connection);
    this.#byPeer.set(peer, connection);
    if (share) this.#networks.set(network, share);
    socket.once('close', () => {
      connection.leave();
      if (this.#byPeer.get(peer) === connection) this.#byPeer.delete(peer);
      const isUnused = share?.open.size === 0 && this.#networks.get(network) === share;
      if (isUnused) this.#networks.delete(network);
    });
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
