/** Finds the client behind reverse proxies that the operator trusts. */
import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { plainAddress } from '../../core/values/addresses.ts';

export interface ProxySettings {
  /** Addresses and networks (CIDR). */
  readonly trustedProxies: readonly string[];
  /** The header to which each proxy appends its client's address. */
  readonly proxyHeader: 'x-forwarded-for' | 'forwarded';
}

export class TrustedProxies {
  readonly #networks = new BlockList();
  readonly #header: ProxySettings['proxyHeader'];

  constructor({ trustedProxies, proxyHeader }: ProxySettings) {
    this.#header = proxyHeader;
    for (const network of trustedProxies) {
      const [address = '', prefix] = network.split('/');
      const family = familyOf(address);
      if (prefix === undefined) this.#networks.addAddress(address, family);
      else this.#networks.addSubnet(address, Number(prefix), family);
    }
  }

  has(address: string): boolean {
    return isIP(address) !== 0 && this.#networks.check(address, familyOf(address));
  }

  /**
   * The client's address: the last one in the header that is not a trusted proxy. A client can forge the beginning of
   * the header, but not the addresses that a trusted proxy appends.
   * @param peer the address at the other end of the connection
   */
  clientOf(peer: string, headers: IncomingHttpHeaders): string {
    let client = peer;
    for (const hop of this.#hopsOf(headers).reverse()) {
      const address = addressOf(hop);
      if (!this.has(client) || address === undefined) break;
      client = address;
    }
    return client;
  }

  #hopsOf(headers: IncomingHttpHeaders): string[] {
    const value = headers[this.#header];
    if (typeof value !== 'string') return [];
    const hops = value.split(',');
    return this.#header === 'forwarded' ? hops.map(forwardedFor) : hops;
  }
}

/** The `for` parameter of an element of `Forwarded` (RFC 7239); empty if there is none. */
function forwardedFor(element: string): string {
  const [, quoted, plain] = /(?:^|;)\s*for=(?:"([^"]*)"|([^;\s]*))/i.exec(element) ?? [];
  return quoted ?? plain ?? '';
}

/** The address of a hop without port, brackets and zone; undefined for a name or an invalid address. */
function addressOf(hop: string): string | undefined {
  const text = hop.trim();
  const [, bracketed] = /^\[([^\]]*)\](?::\d+)?$/.exec(text) ?? [];
  const [, withPort] = /^([\d.]+):\d+$/.exec(text) ?? [];
  const address = plainAddress((bracketed ?? withPort ?? text).replace(/%.*$/, ''));
  return isIP(address) === 0 ? undefined : address;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
