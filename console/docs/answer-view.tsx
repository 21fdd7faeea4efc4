import type { Received, ReceivedBody } from './try-answer.ts';

/** @param id makes the names of its regions unique on the page */
export function AnswerView({ received, id }: { readonly received: Received; readonly id: string }) {
  const { status, statusText, headersMs, endMs, bytes, requestId, contentType, body } = received;
  const isOk = status < 400;
  return (
    <>
      <p class="status">
        <strong class={isOk ? 'ok' : 'failure'}>
          {status} {statusText}
        </strong>{' '}
        <span>{contentType}</span> <span>{count(bytes)} bytes</span>{' '}
        <span>first byte after {milliseconds(headersMs)}</span>{' '}
        {endMs === undefined ? <span>…</span> : <span>complete after {milliseconds(endMs)}</span>}
      </p>
      {requestId !== null && (
        <p class="facts">
          Request <code>{requestId}</code>
        </p>
      )}
      <Body body={body} id={id} />
    </>
  );
}

function Body({ body, id }: { readonly body: ReceivedBody; readonly id: string }) {
  switch (body.kind) {
    case 'text':
      return <Output text={body.text} label={`Answer of ${id}`} />;
    case 'events':
      return (
        <>
          <Output text={body.text} label={`Text of ${id}`} />
          <details>
            <summary>{body.events.length} events</summary>
            <Output text={body.events.join('\n')} label={`Events of ${id}`} />
          </details>
        </>
      );
    case 'audio':
      if (body.url === undefined) return <p>Receiving audio …</p>;
      return (
        <p class="buttons">
          {body.isPlayable && (
            // biome-ignore lint/a11y/useMediaCaption: its text is in the request.
            <audio controls src={body.url} />
          )}
          <a href={body.url} download="speech">
            Save the audio
          </a>
        </p>
      );
  }
}

/** A text that scrolls, also by the keyboard. */
function Output({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable.
    <section class="output" aria-label={label} tabIndex={0}>
      <pre>{text}</pre>
    </section>
  );
}

const count = (value: number) => new Intl.NumberFormat().format(value);
const milliseconds = (value: number) => `${count(Math.round(value))} ms`;
