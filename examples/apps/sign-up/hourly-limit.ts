/** Counts what each address does in an hour. */
import { Refusal } from './refusal.ts';

const addressesMax = 100_000;

export class HourlyLimit {
  readonly #max: number;
  readonly #counts = new Map<string, number>();
  #hour = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @throws Refusal */
  count(address: string): void {
    const hour = Math.floor(Date.now() / 3_600_000);
    if (hour !== this.#hour) this.#counts.clear();
    this.#hour = hour;
    const network = networkOf(address);
    const count = this.#counts.get(network) ?? (this.#counts.size < addressesMax ? 0 : this.#max);
    if (count >= this.#max) throw new Refusal(429, 'You have tried this too often. Try again in an hour.');
    this.#counts.set(network, count + 1);
  }
}

/** A person with IPv6 has a whole /64. */
function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = [], tail = []] = address.split('::').map((groups) => groups.split(':'));
  return [...head, ...Array(Math.max(0, 8 - head.length - tail.length)).fill('0'), ...tail]
    .slice(0, 4)
    .join(':');
}
