/** The parts of the provider that tests use; the package has no types of its own. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  export default class Provider {
    constructor(issuer: string, settings: object);
    callback(): RequestListener;
  }
}
