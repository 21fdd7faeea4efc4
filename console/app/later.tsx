/** Parts of the console whose code is loaded when they are first shown. */
import type { ComponentChildren } from 'preact';
import { connectionLost, isOutdated } from './connection.ts';
import { Show, useLoaded } from './states.tsx';

type Load<Props> = () => Promise<(props: Props) => ComponentChildren>;

/** @param title of a page that has none of its own */
export const later =
  <Props extends object>(what: string, load: Load<Props>, title?: string) =>
  (props: Props) => <Later key={what} what={what} load={load} title={title} props={props} />;

interface LaterProps<Props> {
  readonly what: string;
  readonly load: Load<Props>;
  readonly title: string | undefined;
  readonly props: Props;
}

function Later<Props extends object>({ what, load, title, props }: LaterProps<Props>) {
  const loaded = useLoaded(what, async () => ({ show: await loadCode(load) }));
  return (
    <>
      {title && <h1>{title}</h1>}
      <Show of={loaded} what={what}>
        {({ show: Part }) => <Part {...props} />}
      </Show>
    </>
  );
}

/** Loads the page anew if the script is gone, as another version has other ones. */
export async function loadCode<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (await isOutdated()) location.reload();
    else connectionLost();
    throw error;
  }
}
