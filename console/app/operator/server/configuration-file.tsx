import type { ConfigurationFile as File } from '../../../../gen/parley/admin/v1/admin_pb.ts';

/** Whether the configuration file differs from what runs, and the command that applies it. */
export function ConfigurationFile({ of }: { readonly of: File | undefined }) {
  if (of === undefined || (of.changed.length === 0 && of.problem === undefined)) return null;
  const { path, changed, problem } = of;
  return (
    <section class="notes" aria-label="Configuration file">
      <p>
        <strong>{path} differs from what runs.</strong>{' '}
        {problem === undefined ? (
          <>
            On the server’s machine, <code>parley config apply</code> lets it use the file.
          </>
        ) : (
          <>The server cannot use it as it is: {problem}</>
        )}
      </p>
      {changed.length > 0 && (
        <details>
          <summary>
            {changed.length} {changed.length === 1 ? 'setting differs' : 'settings differ'}
          </summary>
          <ul>
            {changed.map((name) => (
              <li key={name}>
                <code>{name}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
