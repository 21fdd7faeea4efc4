/** Where alerts are sent to, as the settings say and as forms want it. */
import type { AlertSettings } from '../../../gen/parley/alerts/v1/alerts_pb.ts';

export const destinations = { webhook: 'Webhook', mail: 'Mail', slack: 'Slack', matrix: 'Matrix' } as const;

interface Destination {
  readonly kind: keyof typeof destinations;
  readonly address: string;
}

/** Undefined if alerts are only listed. */
export function destinationOf(settings: AlertSettings | undefined): Destination | undefined {
  if (settings === undefined) return undefined;
  const { webhookUrl, mailAddresses, slackUrl, matrix } = settings;
  if (webhookUrl !== undefined) return { kind: 'webhook', address: webhookUrl };
  if (mailAddresses.length > 0) return { kind: 'mail', address: mailAddresses.join(', ') };
  if (slackUrl !== undefined) return { kind: 'slack', address: slackUrl };
  return matrix && { kind: 'matrix', address: `${matrix.roomId} at ${matrix.homeserverUrl}` };
}
