/** Settings, destinations and alerts in the form of requests and answers. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type Alert as AlertMessage,
  AlertSchema,
  type AlertSettings as AlertSettingsMessage,
  type AlertSettingsSchema,
} from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import type {
  Alert,
  AlertSettings,
  Destination,
  StoredAlertSettings,
  WaitingAddress,
} from '../entities/alert.ts';
import { type AddressRules, literalAddress, mayReach } from '../values/addresses.ts';
import { bounds, hasLength, isMailAddress, isWithin, matches } from '../values/bounds.ts';
import { present } from '../values/json.ts';
import { formatCredits, type NanoCredits, parseCredits } from '../values/money.ts';
import { invalid } from '../values/parameters.ts';

const percentsByDefault = [50, 80, 100];

export type WantedSettings = AlertSettings & Pick<WantedDestination, 'secret'>;

/** @throws `invalid_parameter` */
export function readAlertSettings(message: AlertSettingsMessage, rules: DestinationRules): WantedSettings {
  return {
    destination: undefined,
    ...readDestination(message, rules),
    percents: readPercents(message.percents),
    balanceBelow: readBalance(message.balanceBelow),
  };
}

function readPercents(percents: readonly number[]): readonly number[] {
  if (percents.length === 0) return percentsByDefault;
  const { maxItems } = bounds.percents;
  const isRight =
    percents.length <= maxItems && percents.every((percent) => isWithin(percent, bounds.percent));
  if (isRight) return [...new Set(percents)].sort((a, b) => a - b);
  throw invalid(
    'settings.percents',
    `\`settings.percents\` takes at most ${maxItems} whole numbers from 1 to 100.`,
  );
}

function readBalance(text: string | undefined): NanoCredits | undefined {
  const param = 'settings.balance_below';
  const amount = text === undefined ? undefined : parseCredits(text, param);
  if (amount === undefined || amount > 0n) return amount;
  throw invalid(param, `\`${param}\` must be above zero.`);
}

/** @param slackUrl undefined for other destinations, and if it cannot be read */
export function describeAlertSettings(stored: StoredAlertSettings, slackUrl: string | undefined) {
  const { percents, balanceBelow, waiting, offAtMs } = stored;
  return {
    settings: {
      percents: [...percents],
      ...destinationFields(stored, slackUrl),
      ...(balanceBelow !== undefined && { balanceBelow: formatCredits(balanceBelow) }),
    },
    waitingAddresses: waiting.map(describeWaiting),
    ...present({ webhookOffAt: timeOf(offAtMs) }),
  };
}

export function describeAlert(alert: Alert): AlertMessage {
  const { resetsAtMs, endsAtMs, ...details } = alert.details;
  const { nextAttemptAtMs, deliveredAtMs, lastFailure, state, attempts } = alert;
  const times = { nextAttemptAt: timeOf(nextAttemptAtMs), deliveredAt: timeOf(deliveredAtMs) };
  return create(AlertSchema, {
    id: alert.id,
    type: alert.kind,
    accountId: alert.accountId,
    createdAt: timestampFromMs(alert.createdAtMs),
    ...details,
    ...present({ resetsAt: timeOf(resetsAtMs), endsAt: timeOf(endsAtMs) }),
    delivery: { state, attempts, ...present({ ...times, lastFailure }) },
  });
}

export function describeWaiting({ address, sentAtMs, expiresAtMs, lastFailure }: WaitingAddress) {
  return { address, ...present({ sentAt: timeOf(sentAtMs), expiresAt: timeOf(expiresAtMs), lastFailure }) };
}

function timeOf(ms: number | undefined) {
  return ms === undefined ? undefined : timestampFromMs(ms);
}

export interface DestinationRules extends AddressRules {
  /** Undefined if the server sends no mail. */
  readonly mail: { readonly holdersMaySet: boolean } | undefined;
}

interface WantedDestination {
  readonly destination: Destination;
  /** The URL of Slack, or the access token of Matrix. Undefined if it is kept or made. */
  readonly secret?: string | undefined;
}

/** @throws `invalid_parameter` */
function readDestination(
  { webhookUrl, mailAddresses, slackUrl, matrix }: AlertSettingsMessage,
  rules: DestinationRules,
): WantedDestination | undefined {
  const wanted: WantedDestination[] = [];
  if (webhookUrl !== undefined) {
    const url = checkWebhookUrl(webhookUrl, 'settings.webhook_url', rules);
    wanted.push({ destination: { kind: 'webhook', url } });
  }
  if (mailAddresses.length > 0) wanted.push({ destination: readMail(mailAddresses, rules) });
  if (slackUrl !== undefined) {
    const url = checkWebhookUrl(slackUrl, 'settings.slack_url', rules);
    wanted.push({ destination: { kind: 'slack', url: new URL(url).origin }, secret: url });
  }
  if (matrix !== undefined) wanted.push(readMatrix(matrix, rules));
  if (wanted.length <= 1) return wanted[0];
  const names = '`webhook_url`, `mail_addresses`, `slack_url` and `matrix`';
  throw invalid('settings', `\`settings\` takes only one of ${names}.`);
}

/**
 * The normalised URL. Its name is resolved and its addresses checked when it is called.
 * @throws `invalid_parameter` for the parameter of this name
 */
function checkWebhookUrl(text: string, param: string, rules: AddressRules): string {
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
      `must begin with \`https://\`. Plain \`http://\` needs a network that the operator allows in \`alerts.allowedNetworks\`.`,
    );
  }
  const address = literalAddress(url);
  if (address !== undefined && !mayReach(address, isPlain ? 'http' : 'https', rules)) {
    throw refused(
      `must not lead into a private network. The operator can allow it in \`alerts.allowedNetworks\`.`,
    );
  }
  url.hash = '';
  return url.href;
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

function readMatrix(
  matrix: NonNullable<AlertSettingsMessage['matrix']>,
  rules: DestinationRules,
): WantedDestination {
  const { roomId, accessToken } = matrix;
  const url = checkWebhookUrl(matrix.homeserverUrl, 'settings.matrix.homeserver_url', rules);
  const { matrixRoom, matrixToken } = bounds;
  if (!hasLength(roomId, matrixRoom) || !matches(roomId, matrixRoom)) {
    const param = 'settings.matrix.room_id';
    throw invalid(param, `\`${param}\` must be the id of a room: \`!\`, then at most 254 characters.`);
  }
  const isToken = (text: string) => hasLength(text, matrixToken) && matches(text, matrixToken);
  if (accessToken !== undefined && !isToken(accessToken)) {
    const param = 'settings.matrix.access_token';
    const { maxLength } = matrixToken;
    throw invalid(param, `\`${param}\` must be at most ${maxLength} visible characters of ASCII.`);
  }
  const plainUrl = url.replace(/[?#].*$/, '').replace(/\/+$/, '');
  return { destination: { kind: 'matrix', url: plainUrl, roomId }, secret: accessToken };
}

function destinationFields(
  { destination, waiting }: StoredAlertSettings,
  slackUrl: string | undefined,
): MessageInitShape<typeof AlertSettingsSchema> {
  switch (destination?.kind) {
    case 'webhook':
      return { webhookUrl: destination.url };
    case 'mail':
      return { mailAddresses: [...destination.addresses, ...waiting.map(({ address }) => address)] };
    case 'slack':
      return { slackUrl: slackUrl ?? destination.url };
    case 'matrix':
      return { matrix: { homeserverUrl: destination.url, roomId: destination.roomId ?? '' } };
    case undefined:
      return {};
  }
}

/** For the audit trail: only hosts, as the path of a URL may hold a secret, and addresses of mail are personal. */
export function hostsOf(destination: Destination): string {
  if (destination.kind !== 'mail') return new URL(destination.url).host;
  return [...new Set(destination.addresses.map((address) => address.replace(/^.*@/, '')))].join(', ');
}
