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
