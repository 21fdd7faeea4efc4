/** A real OpenID provider. Its people sign in by their name, with any password. */
import Provider from 'oidc-provider';
import type { ConfigOverrides } from '../../src/config/config.ts';
import { freePort, startHttp } from './http-server.ts';
import { type Parley, type ParleyOptions, startParley } from './parley.ts';

/** The groups of each person. Their address is verified, but that of `unverified`. */
const people: Readonly<Record<string, readonly string[]>> = {
  holly: ['holders'],
  mara: ['managers'],
  rita: ['auditors'],
  otto: ['staff', 'admins'],
  nobody: ['guests'],
  lost: ['lost'],
  boss: [],
  unverified: [],
};

const rules: NonNullable<Exclude<ConfigOverrides['oidc'], string>>['rules'] = [
  { claim: 'groups', value: 'admins', role: 'operator' },
  { claim: 'groups', value: 'auditors', role: 'readOnlyOperator' },
  { claim: 'realm.groups', value: 'managers', role: 'manager', account: 'account-1' },
  { claim: 'groups', value: 'holders', role: 'holder', account: 'account-1' },
  { claim: 'groups', value: 'lost', role: 'holder', account: 'no-such-account' },
  { claim: 'email', value: 'boss@example.com', role: 'operator' },
  { claim: 'email', value: 'unverified@example.com', role: 'operator' },
];

export interface WithProvider extends Parley {
  readonly origin: string;
}

/** The settings of a server on a port, for a provider. */
export function oidcSettings(issuer: string, port: number): ConfigOverrides {
  const consoleUrls = [`http://127.0.0.1:${port}`];
  return { server: { port }, oidc: { name: 'Test Login', issuer, clientId: 'parley', consoleUrls, rules } };
}

/** Starts Parley with a provider, which closes with it. */
export async function startWithProvider(options: ParleyOptions = {}): Promise<WithProvider> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  let answer: ReturnType<Provider['callback']> | undefined;
  const server = await startHttp((request, response) => answer?.(request, response));
  answer = provider(server.origin, origin).callback();
  const parley = await startParley({ ...options, settings: oidcSettings(server.origin, port) });
  const close = async () => {
    await parley.close();
    await server.close();
  };
  return { ...parley, origin, close };
}

function provider(issuer: string, parley: string): Provider {
  const client = {
    client_id: 'parley',
    token_endpoint_auth_method: 'none',
    redirect_uris: [`${parley}/console/oidc/callback`],
    backchannel_logout_uri: `${parley}/console/oidc/back-channel-logout`,
    backchannel_logout_session_required: true,
  };
  return new Provider(issuer, {
    clients: [client],
    claims: { openid: ['sub', 'groups', 'realm', 'email', 'email_verified'] },
    conformIdTokenClaims: false,
    features: { backchannelLogout: { enabled: true } },
    cookies: { keys: ['for tests only'] },
    // Its own way of fetching refuses addresses of this machine.
    fetch: (url: string, { dispatcher: _, ...init }: RequestInit & { dispatcher?: unknown }) =>
      fetch(url, init),
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => claimsOf(id) }),
    loadExistingGrant: async ({ oidc }: GrantContext) => {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client.clientId,
        accountId: oidc.session.accountId,
      });
      grant.addOIDCScope('openid profile email');
      await grant.save();
      return grant;
    },
  });
}

interface GrantContext {
  readonly oidc: {
    readonly provider: {
      readonly Grant: new (of: object) => { addOIDCScope(names: string): void; save(): unknown };
    };
    readonly client: { readonly clientId: string };
    readonly session: { readonly accountId: string };
  };
}

function claimsOf(id: string): object {
  const groups = people[id] ?? [];
  return {
    sub: id,
    groups,
    realm: { groups },
    email: `${id}@example.com`,
    email_verified: id !== 'unverified',
  };
}

/** A browser without scripts: it follows redirects and keeps cookies. */
export class Visitor {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** The `Cookie` header for an origin. */
  cookies(origin: string): string {
    return [...(this.#cookies.get(origin) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  /** Asks once. */
  async ask(url: string, init: RequestInit = {}): Promise<Response> {
    const { origin } = new URL(url);
    const headers = { 'sec-fetch-site': 'same-origin', cookie: this.cookies(origin), ...init.headers };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    const jar = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, jar);
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      jar.set(name, value);
    }
    return response;
  }

  /** Asks and follows redirects, up to a URL that matches. @returns that URL */
  async follow(start: string, last: RegExp, init?: RequestInit): Promise<string> {
    let response = await this.ask(start, init);
    for (let at = start; ; response = await this.ask(at)) {
      const location = response.headers.get('location');
      if (location === null) throw new Error(`${at} answers ${response.status} and leads nowhere`);
      at = new URL(location, at).href;
      if (last.test(at)) return at;
    }
  }

  /** Signs in at the provider. @returns the URL of the callback, which is not visited */
  async callbackOf(origin: string, name: string): Promise<string> {
    const form = await this.follow(`${origin}/console/oidc/sign-in`, /\/interaction\//);
    const body = new URLSearchParams({ prompt: 'login', login: name, password: 'any' });
    return this.follow(form, /\/console\/oidc\/callback/, { method: 'POST', body });
  }

  /** Signs in to the console. @returns where the browser ends */
  async signIn(origin: string, name: string): Promise<string | null> {
    return (await this.ask(await this.callbackOf(origin, name))).headers.get('location');
  }
}
