/** Makes accounts in Parley, each named by the e-mail address of its owner. */
import { randomUUID } from 'node:crypto';
import { Refusal } from './refusal.ts';

const timeoutMs = 20_000;
/** Parley's longest name. */
const nameLengthMax = 100;
const addressForm = /^[a-z0-9._%+-]+@[a-z0-9-]+(\.[a-z0-9-]+)+$/;

/** @throws Refusal */
export function accountName(address: string): string {
  const name = address.trim().toLowerCase();
  if (addressForm.test(name) && name.length <= nameLengthMax) return name;
  throw new Refusal(400, 'Enter an e-mail address, such as ada@example.com.');
}

export class Accounts {
  readonly #url: string;
  readonly #key: string;

  /** @param key an admin key with the scopes `accounts:write` and `keys` */
  constructor(url: string, key: string) {
    this.#url = `${url}/api/v1/admin/accounts`;
    this.#key = key;
  }

  /**
   * The account gets its name last. So a sign-up that breaks off can be tried again, and of two at once only one succeeds.
   *
   * @returns the key of a new account with a trial. @throws Refusal if there is one of that name
   */
  async signUp(name: string): Promise<string> {
    const found = await this.#call('GET', `/${name}/keys`);
    if (found.status !== 404) {
      await checked(found);
      throw taken(name);
    }
    const { id } = await this.#done<{ id: string }>('', { name: `sign-up ${randomUUID()}` });
    try {
      await this.#done(`/${id}/trial`, {});
      const key = { name: 'sign-up', scopes: ['speech', 'transcription', 'chat', 'manage'] };
      const { secret } = await this.#done<{ secret: string }>(`/${id}/keys`, key);
      const named = await this.#call('POST', `/${id}/rename`, { name });
      if (named.status === 400) throw taken(name);
      await checked(named);
      return secret;
    } catch (error) {
      await this.#done(`/${id}/delete`, {});
      throw error;
    }
  }

  async #done<Body>(path: string, body: object): Promise<Body> {
    return (await checked(await this.#call('POST', path, body))) as Body;
  }

  #call(method: 'GET' | 'POST', path: string, body?: object): Promise<Response> {
    return fetch(this.#url + path, {
      method,
      headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
      body: body ? JSON.stringify(body) : null,
      signal: AbortSignal.timeout(timeoutMs),
    });
  }
}

function taken(name: string): Refusal {
  return new Refusal(409, `There is already an account for ${name}. Use its key, or ask us for a new one.`);
}

async function checked(answer: Response): Promise<unknown> {
  const text = await answer.text();
  if (!answer.ok) throw new Error(`Parley answered ${answer.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text);
}
