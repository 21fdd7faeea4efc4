/** The frame of all pages: navigation, the holder, the theme, the time zone. */
import { type ComponentChildren, Fragment } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ThemeChoice } from '../shared/theme-choice.tsx';
import { Icon } from './icons.tsx';
import type { ConsolePage } from './pages.tsx';
import { hrefOf, usePath } from './router.ts';
import { type SignedIn, signOut } from './session.ts';
import { Mark } from './sign-in-page.tsx';
import { useZone, ZoneChoice } from './zone.tsx';

interface Props {
  readonly session: SignedIn;
  readonly pages: readonly ConsolePage[];
  readonly current: ConsolePage | undefined;
  readonly isLost: boolean;
  readonly children: ComponentChildren;
}

export function Shell({ session, pages, current, isLost, children }: Props) {
  const zone = useZone();
  return (
    <div class="shell">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header>
        <a class="brand" href="/console">
          <Mark /> Parley
        </a>
        <Navigation pages={pages} current={current} />
        <Holder session={session} />
      </header>
      <main id="content" class={current?.isWide ? 'wide-page' : undefined} tabIndex={-1}>
        <p class="offline" role="status">
          {isLost && <span>The server cannot be reached. This page continues when it answers.</span>}
        </p>
        <Fragment key={zone}>{children}</Fragment>
        <p class="zone">Times are in {zone}.</p>
      </main>
    </div>
  );
}

function Navigation({ pages, current }: Pick<Props, 'pages' | 'current'>) {
  const path = usePath();
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    // The menu of a narrow window closes when a page is chosen.
    if (menu.current && !matchMedia('(min-width: 60rem)').matches) menu.current.open = false;
  }, [path]);
  return (
    <details class="menu" ref={menu} open={matchMedia('(min-width: 60rem)').matches}>
      <summary>
        <Icon name="menu" /> {current?.title ?? 'Menu'}
      </summary>
      <nav aria-label="Pages">
        <ul>
          {pages
            .filter(({ href }) => href !== undefined)
            .map(({ href = '', title, icon, section }) => (
              <li key={href}>
                <a href={hrefOf(href)} aria-current={section === current?.section ? 'page' : undefined}>
                  <Icon name={icon} /> {title}
                </a>
              </li>
            ))}
          <li>
            <a href="/docs">
              <Icon name="book" /> Reference
            </a>
          </li>
        </ul>
      </nav>
    </details>
  );
}

function Holder({ session }: Pick<Props, 'session'>) {
  const { key, kind, account_name, is_person } = session;
  return (
    <div class="holder">
      <div class="who">
        <strong>{kind === 'admin' ? 'Operator' : account_name}</strong>
        <span class="quiet">
          {key.name} {!is_person && <code>…{key.last_four}</code>}
        </span>
      </div>
      <ThemeChoice />
      <ZoneChoice />
      <button type="button" class="plain" onClick={() => void signOut()}>
        <Icon name="leave" /> Sign out
      </button>
    </div>
  );
}
