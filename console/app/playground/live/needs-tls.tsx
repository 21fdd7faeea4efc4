import { Empty } from '../../states.tsx';

export function NeedsTls() {
  return (
    <Empty title="The browser gives this page no microphone.">
      <p>
        It does so only over TLS and on the server’s own machine. Open the console with https://, or as
        http://localhost there.
      </p>
    </Empty>
  );
}
