/** The addresses that alerts may reach over HTTP: public ones, and networks that the operator allows. */
import { isWithinAddresses, plainAddress } from '../values/addresses.ts';
import { bounds, hasLength } from '../values/bounds.ts';
import { invalid } from '../values/parameters.ts';

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

const setting = '`alerts.allowedNetworks`';

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

/**
 * The normalised URL. Its name is resolved and its addresses checked when it is called.
 * @throws `invalid_parameter` for the parameter of this name
 */
export function checkWebhookUrl(text: string, param: string, rules: AddressRules): string {
  const refused = (problem: string) => invalid(param, `\`${param}\` ${problem}`);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const { webhookUrl } = bounds;
  if (url === undefined || !hasLength(text, webhookUrl) || !hasLength(url.href, webhookUrl)) {
    throw refused(`must be a URL of at most ${webhookUrl.maxLength} characters.`);
  }
  if (url.username !== '' || url.password !== '') throw refused('must not have a user or a password.');
  const isPlain = url.protocol === 'http:' && rules.allowedNetworks.length > 0;
  if (url.protocol !== 'https:' && !isPlain) {
    throw refused(
      `must begin with \`https://\`. Plain \`http://\` needs a network that the operator allows in ${setting}.`,
    );
  }
  const address = literalAddress(url);
  if (address !== undefined && !mayReach(address, isPlain ? 'http' : 'https', rules)) {
    throw refused(`must not lead into a private network. The operator can allow it in ${setting}.`);
  }
  url.hash = '';
  return url.href;
}

/** The address in a URL, if it has one instead of a name. */
export function literalAddress({ hostname }: URL): string | undefined {
  if (hostname.startsWith('[')) return plainAddress(hostname.slice(1, -1));
  return /^[\d.]+$/.test(hostname) ? hostname : undefined;
}
