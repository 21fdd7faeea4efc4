/** Networks in CIDR notation, such as `10.0.0.0/8`, and single addresses. */
import { BlockList, isIP } from 'node:net';

interface Network {
  readonly address: string;
  readonly bits: number;
  readonly family: 'ipv4' | 'ipv6';
}

interface Compiled {
  readonly list: BlockList;
  /** The answers for the latest addresses, as most clients call again. */
  readonly known: Map<string, boolean>;
}

const compiled = new WeakMap<readonly string[], Compiled>();
const knownMax = 64;

/** @param address an address without a port */
export function isWithinAddresses(networks: readonly string[], address: string): boolean {
  let found = compiled.get(networks);
  if (found === undefined) {
    found = { list: listOf(networks), known: new Map() };
    compiled.set(networks, found);
  }
  const { list, known } = found;
  let isWithin = known.get(address);
  if (isWithin === undefined) {
    const plain = plainAddress(address);
    isWithin = isIP(plain) !== 0 && list.check(plain, familyOf(plain));
    if (known.size >= knownMax) known.clear();
    known.set(address, isWithin);
  }
  return isWithin;
}

/** Undefined for a text that is neither an address nor a network. */
export function readNetwork(text: string): Network | undefined {
  const [address = '', bitsText, ...more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0 || address.includes('%')) return undefined;
  const bitsMax = version === 4 ? 32 : 128;
  if (bitsText === undefined) return { address, bits: bitsMax, family: familyOf(address) };
  if (!/^\d{1,3}$/.test(bitsText) || Number(bitsText) > bitsMax) return undefined;
  return { address, bits: Number(bitsText), family: familyOf(address) };
}

/** Whether every address of a network is in one of the others. */
export function coversNetwork(networks: readonly string[], wanted: string): boolean {
  const inner = readNetwork(wanted);
  if (inner === undefined) return false;
  return networks.some((text) => {
    const outer = readNetwork(text);
    if (outer === undefined || outer.family !== inner.family || outer.bits > inner.bits) return false;
    return listOf([text]).check(inner.address, inner.family);
  });
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of networks) {
    const network = readNetwork(text);
    if (network !== undefined) list.addSubnet(network.address, network.bits, network.family);
  }
  return list;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

/** Groups of an IPv6 address, and of its /64 network. */
const groupsMax = 8;
const networkGroups = 4;

/** The key for counting clients: an IPv4 address, or an IPv6 /64, since the owner of one of its addresses has them all. */
export function networkOf(address: string): string {
  const plain = plainAddress(address);
  if (!plain.includes(':')) return plain;
  // Expands `::` to its zeros. Otherwise the groups after it would be taken for the network.
  const [head = [], tail = []] = plain.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = new Array<string>(Math.max(0, groupsMax - head.length - tail.length)).fill('0');
  return [...head, ...zeros, ...tail].slice(0, networkGroups).join(':');
}

/** An IPv4 address that arrived over IPv6, as IPv4. Any other is unchanged. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/** IPv4 networks without public servers: private, local, shared, reserved, for documentation, tests and multicast. */
const closedNetworks = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  // IPv6 networks within `publicNetworks` that are not public: networks that carry IPv4 addresses, and for
  // documentation.
  ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
] as const;
/** All other IPv6 is local, reserved, or carries an IPv4 address. */
const publicNetworks = ['0.0.0.0/0', '2000::/3'] as const;

export interface AddressRules {
  /** Networks that need not be public, in CIDR notation. Plain HTTP is allowed only there. */
  readonly allowedNetworks: readonly string[];
}

/** @param address an address without a port */
export function mayReach(
  address: string,
  scheme: 'http' | 'https',
  { allowedNetworks }: AddressRules,
): boolean {
  if (isWithinAddresses(allowedNetworks, address)) return true;
  if (scheme === 'http') return false;
  return isWithinAddresses(publicNetworks, address) && !isWithinAddresses(closedNetworks, address);
}

/** An address of a name, as Node looks it up. */
interface FoundAddress {
  readonly address: string;
  readonly family: number;
}
type Found = (error: Error | null, found: string | FoundAddress[], family?: number) => void;

/**
 * Looks names up for a connection, and gives only permitted addresses, so that no other is connected to, whatever the name resolves
 * to later.
 * @param refusal the error for a name without any
 */
export function permittedLookup(
  resolve: (name: string) => Promise<readonly FoundAddress[]>,
  isPermitted: (address: string) => boolean,
  refusal: (name: string) => Error,
) {
  return (name: string, { all }: { readonly all?: boolean | undefined }, done: Found): void => {
    const use = (addresses: readonly FoundAddress[]) => {
      const open = addresses.filter(({ address }) => isPermitted(address));
      const [first] = open;
      if (first === undefined) done(refusal(name), '', 0);
      else if (all === true) done(null, open);
      else done(null, first.address, first.family);
    };
    resolve(name).then(use, (error) => done(error, '', 0));
  };
}

/** The address in a URL, if it has one instead of a name. */
export function literalAddress({ hostname }: URL): string | undefined {
  if (hostname.startsWith('[')) return plainAddress(hostname.slice(1, -1));
  return /^[\d.]+$/.test(hostname) ? hostname : undefined;
}
