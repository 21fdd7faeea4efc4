/**
 * Short-lived secrets that open realtime sessions of a key, for browsers. A secret contains the key, sealed, so that every node can
 * open it and nothing is stored. The key's limits, records and end are those of the sessions.
 */
import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import type {
  CreateClientSecretRequest,
  CreateClientSecretResponseSchema,
} from '../../../gen/parley/audio/v1/client_secret_pb.ts';
import type { Store } from '../entities/store.ts';
import { bounds } from '../values/bounds.ts';
import type { Clock } from '../values/clock.ts';
import { hashKey } from '../values/key-secret.ts';
import { invalid } from '../values/parameters.ts';
import type { Call } from './call.ts';
import { seal, unseal } from './sealed.ts';

const prefix = 'ek_';
const purpose = 'parley client secret';
const defaultSeconds = 60;
/** A secret travels in a header. */
const sessionBytesMax = 4_096;
/** Longer texts are no secrets. */
const sealedCharactersMax = 8_192;

interface Sealed {
  readonly secret: string;
  readonly expiresAtMs: number;
  readonly session: JsonObject | undefined;
}

export interface ClientSecretDeps {
  readonly store: Pick<Store, 'keys'>;
  readonly accessClock: Clock;
}

export class ClientSecrets {
  readonly #deps: ClientSecretDeps;

  constructor(deps: ClientSecretDeps) {
    this.#deps = deps;
  }

  /** @throws `invalid_parameter` */
  async createClientSecret(
    { expiresAfter, session }: CreateClientSecretRequest,
    { authorization = '', caller }: Call,
  ): Promise<MessageInitShape<typeof CreateClientSecretResponseSchema>> {
    const { anchor = 'created_at', seconds = defaultSeconds } = expiresAfter ?? {};
    if (anchor !== 'created_at')
      throw invalid('expires_after.anchor', '`expires_after.anchor` is `created_at`.');
    const { minimum, maximum } = bounds.clientSecretSeconds;
    if (!Number.isInteger(seconds) || seconds < minimum || seconds > maximum) {
      const allowed = `a whole number of ${minimum} to ${maximum}`;
      throw invalid('expires_after.seconds', `\`expires_after.seconds\` is ${allowed}.`);
    }
    if (Buffer.byteLength(JSON.stringify(session ?? {})) > sessionBytesMax) {
      const message = `\`session\` has at most ${sessionBytesMax} bytes. Send the rest as \`session.update\`.`;
      throw invalid('session', message);
    }
    // Whole seconds, as the answer has them.
    const expiresAt = Math.floor(this.#deps.accessClock.now() / 1000) + seconds;
    const secret = authorization.replace(/^Bearer\s+/i, '').trim();
    const content: Sealed = { secret, expiresAtMs: expiresAt * 1000, session };
    const sealed = seal({ id: caller.keyId, hash: hashKey(secret) }, purpose, content);
    const value = `${prefix}${caller.keyId}.${sealed}`;
    return { value, expiresAt: BigInt(expiresAt), session: session ?? {} };
  }

  /**
   * The key behind a secret, which must be checked like any other, and the settings of its sessions. Undefined for anything but a
   * secret that has not expired.
   */
  async open(authorization = ''): Promise<Pick<Sealed, 'secret' | 'session'> | undefined> {
    const [, id, sealed] = /^Bearer\s+ek_(\w+)\.([\w-]+)$/i.exec(authorization) ?? [];
    if (id === undefined || sealed === undefined || sealed.length > sealedCharactersMax) return undefined;
    const key = await this.#deps.store.keys.findById(id);
    const opened = key && unseal<Sealed>(key, purpose, sealed);
    return opened && opened.expiresAtMs > this.#deps.accessClock.now() ? opened : undefined;
  }
}
