/**
 * The destination of alerts as one text: the URL of a webhook, else `mailto:`, `slack:` or `matrix:` and its address.
 * Versions that know only webhooks cannot open a connection to such a text, and leave the alert to others.
 */
import type { Destination } from '../../core/entities/alert.ts';

export function destinationText(destination: Destination): string {
  switch (destination.kind) {
    case 'webhook':
      return destination.url;
    case 'mail':
      return `mailto:${destination.addresses.join(',')}`;
    case 'slack':
      return `slack:${destination.origin}`;
    case 'matrix':
      return `matrix:${destination.homeserverUrl} ${destination.roomId}`;
  }
}

export function destinationFrom(text: string): Destination {
  const [scheme = ''] = text.split(':', 1);
  const address = text.slice(scheme.length + 1);
  switch (scheme) {
    case 'mailto':
      return { kind: 'mail', addresses: address === '' ? [] : address.split(',') };
    case 'slack':
      return { kind: 'slack', origin: address };
    case 'matrix': {
      const [homeserverUrl = '', roomId = ''] = address.split(' ');
      return { kind: 'matrix', homeserverUrl, roomId };
    }
    default:
      return { kind: 'webhook', url: text };
  }
}
