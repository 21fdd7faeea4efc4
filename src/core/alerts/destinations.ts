/** Where alerts are sent to: a webhook, addresses of mail, Slack, or a room of Matrix. */
import type { AlertSettings as AlertSettingsMessage } from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import type { Destination, WaitingAddress } from '../entities/alert.ts';
import { bounds, hasLength, matches } from '../values/bounds.ts';
import { invalid } from '../values/parameters.ts';
import { type AddressRules, checkWebhookUrl } from './webhook-address.ts';

export interface DestinationRules extends AddressRules {
  /** Undefined if the server sends no mail. */
  readonly mail: { readonly holdersMaySet: boolean } | undefined;
}

/** A destination as a caller wants it. */
export interface WantedDestination {
  readonly destination: Destination;
  /** The URL of Slack, or the access token of Matrix. Undefined if it is kept or made. */
  readonly secret?: string | undefined;
}

type Fields = Pick<AlertSettingsMessage, 'webhookUrl' | 'mailAddresses' | 'slackUrl' | 'matrix'>;

/** @throws `invalid_parameter` */
export function readDestination(fields: Fields, rules: DestinationRules): WantedDestination | undefined {
  const { webhookUrl, mailAddresses, slackUrl, matrix } = fields;
  const wanted: WantedDestination[] = [];
  if (webhookUrl !== undefined) {
    const url = checkWebhookUrl(webhookUrl, 'settings.webhook_url', rules);
    wanted.push({ destination: { kind: 'webhook', url } });
  }
  if (mailAddresses.length > 0) wanted.push({ destination: readMail(mailAddresses, rules) });
  if (slackUrl !== undefined) {
    const url = checkWebhookUrl(slackUrl, 'settings.slack_url', rules);
    wanted.push({ destination: { kind: 'slack', origin: new URL(url).origin }, secret: url });
  }
  if (matrix !== undefined) wanted.push(readMatrix(matrix, rules));
  if (wanted.length <= 1) return wanted[0];
  const names = '`webhook_url`, `mail_addresses`, `slack_url` and `matrix`';
  throw invalid('settings', `\`settings\` takes only one of ${names}.`);
}

function readMail(addresses: readonly string[], { mail }: DestinationRules): Destination {
  const param = 'settings.mail_addresses';
  if (mail === undefined) {
    throw invalid(param, 'This server sends no mail. The operator can set a mail server in `alerts.smtp`.');
  }
  const { maxItems } = bounds.mailAddresses;
  if (addresses.length > maxItems || !addresses.every(isMailAddress)) {
    throw invalid(param, `\`${param}\` takes at most ${maxItems} addresses such as \`ops@example.com\`.`);
  }
  return { kind: 'mail', addresses: [...new Set(addresses)] };
}

export function isMailAddress(text: string): boolean {
  return hasLength(text, bounds.mailAddress) && matches(text, bounds.mailAddress);
}

function readMatrix(matrix: NonNullable<Fields['matrix']>, rules: DestinationRules): WantedDestination {
  const { roomId, accessToken } = matrix;
  const url = checkWebhookUrl(matrix.homeserverUrl, 'settings.matrix.homeserver_url', rules);
  const { matrixRoom, matrixToken } = bounds;
  if (!hasLength(roomId, matrixRoom) || !matches(roomId, matrixRoom)) {
    const param = 'settings.matrix.room_id';
    throw invalid(param, `\`${param}\` must be the id of a room: \`!\`, then at most 254 characters.`);
  }
  if (
    accessToken !== undefined &&
    !(hasLength(accessToken, matrixToken) && matches(accessToken, matrixToken))
  ) {
    const param = 'settings.matrix.access_token';
    const { maxLength } = matrixToken;
    throw invalid(param, `\`${param}\` must be at most ${maxLength} visible characters of ASCII.`);
  }
  const homeserverUrl = url.replace(/[?#].*$/, '').replace(/\/+$/, '');
  return { destination: { kind: 'matrix', homeserverUrl, roomId }, secret: accessToken };
}

/**
 * @param waiting addresses of mail that wait for a confirmation
 * @param slackUrl undefined if it cannot be read
 */
export function describeDestination(
  destination: Destination,
  waiting: readonly WaitingAddress[],
  slackUrl: string | undefined,
) {
  switch (destination.kind) {
    case 'webhook':
      return { webhookUrl: destination.url };
    case 'mail':
      return { mailAddresses: [...destination.addresses, ...waiting.map(({ address }) => address)] };
    case 'slack':
      return { slackUrl: slackUrl ?? destination.origin };
    case 'matrix':
      return { matrix: { homeserverUrl: destination.homeserverUrl, roomId: destination.roomId } };
  }
}

/** For the audit trail: only hosts, as the path of a URL may hold a secret, and addresses of mail are personal. */
export function hostsOf(destination: Destination): string {
  switch (destination.kind) {
    case 'webhook':
      return new URL(destination.url).host;
    case 'mail':
      return [...new Set(destination.addresses.map((address) => address.replace(/^.*@/, '')))].join(', ');
    case 'slack':
      return new URL(destination.origin).host;
    case 'matrix':
      return new URL(destination.homeserverUrl).host;
  }
}
