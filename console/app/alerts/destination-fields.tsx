/** The fields of a form that say where alerts are sent to. */
import { useState } from 'preact/hooks';
import type { AlertSettings } from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import { destinationOf } from '../../../src/core/alerts/alert-words.ts';
import { Choice, Field } from '../fields.tsx';

export const destinations = { webhook: 'Webhook', mail: 'Mail', slack: 'Slack', matrix: 'Matrix' } as const;
const options = Object.entries(destinations);
const address = { autocomplete: 'off', spellcheck: false } as const;

export function DestinationFields({ settings }: { readonly settings: AlertSettings | undefined }) {
  const before = settings && destinationOf(settings);
  const [kind, setKind] = useState<string>(before?.kind ?? 'webhook');
  return (
    <>
      <Choice label="Send alerts by" value={kind} onChange={setKind} options={options} />
      {kind === 'webhook' && <WebhookFields url={settings?.webhookUrl} />}
      {kind === 'mail' && (
        <Field
          {...address}
          label="Addresses"
          name="settings.mail_addresses"
          inputMode="email"
          defaultValue={settings?.mailAddresses.join(', ')}
          placeholder="ops@example.com"
          hint="At most five. Each gets a code to confirm it. Empty: alerts are only listed"
        />
      )}
      {kind === 'slack' && (
        <Field
          {...address}
          label="URL of the incoming webhook"
          name="settings.slack_url"
          inputMode="url"
          placeholder="https://hooks.slack.com/services/…"
          defaultValue={settings?.slackUrl}
          hint="Slack shows it in the settings of the app. Empty: alerts are only listed"
        />
      )}
      {kind === 'matrix' && <MatrixFields settings={settings} />}
    </>
  );
}

function WebhookFields({ url }: { readonly url: string | undefined }) {
  return (
    <>
      <Field
        {...address}
        label="URL"
        name="settings.webhook_url"
        inputMode="url"
        placeholder="https://"
        defaultValue={url}
        hint="Alerts are posted to this address, signed according to Standard Webhooks. Empty: alerts are only listed"
      />
      {url !== undefined && (
        <p>
          <label>
            <input type="checkbox" name="new_secret" /> Create a new secret; the old one ends at once
          </label>
        </p>
      )}
    </>
  );
}

function MatrixFields({ settings }: { readonly settings: AlertSettings | undefined }) {
  const { homeserverUrl, roomId } = settings?.matrix ?? {};
  const keeps = roomId === undefined ? '' : ' Empty: the token of this room that was set before';
  return (
    <>
      <Field
        {...address}
        label="Homeserver"
        name="settings.matrix.homeserver_url"
        inputMode="url"
        placeholder="https://matrix.example.com"
        defaultValue={homeserverUrl}
      />
      <Field
        {...address}
        label="Room"
        name="settings.matrix.room_id"
        placeholder="!id:example.com"
        defaultValue={roomId}
        hint="Its id, from the advanced settings of the room. Empty: alerts are only listed"
      />
      <Field
        {...address}
        label="Access token"
        name="settings.matrix.access_token"
        type="password"
        hint={`Of a user who is in the room.${keeps}`}
      />
    </>
  );
}

/** The fields of the kind that the form shows. */
export function wantedDestination(values: FormData) {
  const text = (name: string) => String(values.get(`settings.${name}`) ?? '').trim();
  const [webhookUrl, slackUrl, roomId] = [text('webhook_url'), text('slack_url'), text('matrix.room_id')];
  const accessToken = text('matrix.access_token');
  return {
    mailAddresses: text('mail_addresses')
      .split(/[\s,;]+/)
      .filter((part) => part !== ''),
    ...(webhookUrl !== '' && { webhookUrl }),
    ...(slackUrl !== '' && { slackUrl }),
    ...(roomId !== '' && {
      matrix: {
        homeserverUrl: text('matrix.homeserver_url'),
        roomId,
        ...(accessToken !== '' && { accessToken }),
      },
    }),
  };
}
