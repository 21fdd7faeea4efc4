/** Frame of both pages: head, search and navigation. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ThemeChoice } from '../shared/theme-choice.tsx';

interface Link {
  readonly href: string;
  readonly text: string;
  readonly verb?: string;
  readonly hint?: string;
}

export interface LinkGroup {
  readonly title: string;
  readonly links: readonly Link[];
}

interface Props {
  readonly page: 'rest' | 'rpcs';
  readonly query: string;
  readonly onQuery: (query: string) => void;
  readonly groups: readonly LinkGroup[];
  readonly children: ComponentChildren;
}

export function Frame({ page, query, onQuery, groups, children }: Props) {
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header>
        <strong class="name">Parley</strong>
        <nav aria-label="Pages">
          <a href="/docs" aria-current={page === 'rest' ? 'page' : undefined}>
            REST
          </a>
          <a href="/docs/rpcs" aria-current={page === 'rpcs' ? 'page' : undefined}>
            gRPC and Connect
          </a>
        </nav>
        <ThemeChoice />
      </header>
      <div class="columns">
        <Contents query={query} onQuery={onQuery} groups={groups} />
        <main id="content" tabIndex={-1}>
          {children}
        </main>
      </div>
    </>
  );
}

function Contents({ query, onQuery, groups }: Pick<Props, 'query' | 'onQuery' | 'groups'>) {
  const input = useRef<HTMLInputElement>(null);
  const current = useHash();
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key !== '/' || isTyping(event.target)) return;
      event.preventDefault();
      input.current?.focus();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);
  const first = groups[0]?.links[0];
  return (
    <aside aria-label="Contents">
      <search>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (first !== undefined) location.hash = first.href;
          }}
        >
          <label for="search" class="unseen">
            Search
          </label>
          <input
            id="search"
            ref={input}
            type="search"
            placeholder="Search ( / )"
            autocomplete="off"
            value={query}
            onInput={({ currentTarget }) => onQuery(currentTarget.value)}
          />
        </form>
      </search>
      <NavigationLinks groups={groups} current={current} />
    </aside>
  );
}

/** Folded on narrow screens. */
function NavigationLinks({
  groups,
  current,
}: {
  readonly groups: readonly LinkGroup[];
  readonly current: string;
}) {
  const [isOpen, setOpen] = useState(() => matchMedia('(min-width: 60rem)').matches);
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Contents</summary>
      <nav aria-label="Contents">
        {groups.map(({ title, links }) => (
          <div key={title}>
            <h2>{title}</h2>
            <ul>
              {links.map(({ href, text, verb, hint }) => (
                <li key={href}>
                  <a href={href} title={hint} aria-current={href === current ? 'location' : undefined}>
                    {verb !== undefined && <span class={`verb ${verb.toLowerCase()}`}>{verb}</span>}
                    <span>{text}</span>
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
    </details>
  );
}

function useHash(): string {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const show = () => {
      setHash(location.hash);
      // This script draws the content, so the browser looked for the target too early.
      document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
    };
    show();
    window.addEventListener('hashchange', show);
    return () => window.removeEventListener('hashchange', show);
  }, []);
  return hash;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select');
}
