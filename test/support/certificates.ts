/** Certificates for tests, made on demand. They are self-signed, so that each is its own authority. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

export interface Certificate {
  /** In PEM format. */
  readonly cert: string;
  readonly key: string;
}

const dayMs = 86_400_000;

/** A certificate for `localhost`, 127.0.0.1 and ::1, valid for one day. */
export function makeCertificate(commonName: string): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(set(sequence(objectId(commonNameId), utf8(commonName))));
  const nowMs = Date.now();
  const body = sequence(
    tagged(0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    sequence(objectId(ecdsaWithSha256Id)),
    name,
    sequence(time(nowMs - dayMs), time(nowMs + dayMs)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(3, sequence(isAuthority, alternativeNames)),
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(body, sequence(objectId(ecdsaWithSha256Id)), bits(signature));
  return { cert: pem(certificate), key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

/** A value in DER: its tag, its length, its bytes. */
function value(tag: number, ...parts: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(parts);
  const { length } = bytes;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), bytes]);
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), bytes]);
}

const sequence = (...parts: readonly Buffer[]) => value(0x30, ...parts);
const set = (...parts: readonly Buffer[]) => value(0x31, ...parts);
const integer = (bytes: Buffer) => value(0x02, bytes);
const utf8 = (text: string) => value(0x0c, Buffer.from(text));
const bits = (bytes: Buffer) => value(0x03, Buffer.from([0]), bytes);
const octets = (bytes: Buffer) => value(0x04, bytes);
const tagged = (number: number, bytes: Buffer) => value(0xa0 + number, bytes);
/** `YYMMDDhhmmssZ` */
const time = (ms: number) =>
  value(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14)}Z`));
const objectId = (hex: string) => value(0x06, Buffer.from(hex, 'hex'));

const commonNameId = '550403';
const ecdsaWithSha256Id = '2a8648ce3d040302';
const yes = value(0x01, Buffer.from([0xff]));

const isAuthority = sequence(objectId('551d13'), yes, octets(sequence(yes)));
const dnsName = (name: string) => value(0x82, Buffer.from(name));
const ipAddress = (bytes: readonly number[]) => value(0x87, Buffer.from(bytes));
const alternativeNames = sequence(
  objectId('551d11'),
  octets(
    sequence(
      dnsName('localhost'),
      ipAddress([127, 0, 0, 1]),
      ipAddress([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
    ),
  ),
);

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
