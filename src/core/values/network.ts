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
