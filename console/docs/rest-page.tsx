import { useMemo, useState } from 'preact/hooks';
import { type Api, documentPath, type Operation, readApi } from './document.ts';
import { Frame } from './frame.tsx';
import { OperationView } from './operation-view.tsx';
import { Prose } from './prose.tsx';

/** The REST paths. */
export function RestPage({ document }: { readonly document: Parameters<typeof readApi>[0] }) {
  const api = useMemo(() => readApi(document), [document]);
  const [query, setQuery] = useState('');
  const groups = useMemo(() => grouped(api, query), [api, query]);
  const links = groups.map(({ tag, operations }) => ({
    title: tag.name,
    links: operations.map(({ operationId, summary, verb, path }) => ({
      href: `#${operationId}`,
      text: summary.replaceAll('`', ''),
      verb,
      hint: path,
    })),
  }));
  return (
    <Frame page="rest" query={query} onQuery={setQuery} groups={links}>
      <h1>
        Parley API <small>{api.version}</small>
      </h1>
      <Prose text={api.description} />
      <p class="buttons">
        <a href={documentPath} download="parley-openapi.json">
          OpenAPI 3.1 document
        </a>
      </p>
      {groups.length === 0 && <p>No results for “{query}”.</p>}
      {groups.map(({ tag, operations }) => (
        <section key={tag.name} aria-labelledby={`tag-${tag.name}`}>
          <h2 id={`tag-${tag.name}`}>{tag.name}</h2>
          <Prose text={tag.description} />
          {operations.map((operation) => (
            <OperationView key={operation.operationId} api={api} operation={operation} />
          ))}
        </section>
      ))}
    </Frame>
  );
}

function grouped({ tags, operations }: Api, query: string) {
  const words = query.toLowerCase().split(/\s+/);
  const found = operations.filter((operation) => words.every((word) => textOf(operation).includes(word)));
  return tags
    .map((tag) => ({ tag, operations: found.filter((operation) => operation.tags.includes(tag.name)) }))
    .filter((group) => group.operations.length > 0);
}

/** All text that a search covers. */
function textOf({
  operationId,
  summary,
  description,
  verb,
  path,
  parameters,
  requestBody,
}: Operation): string {
  const names = [
    ...parameters.map(({ name }) => name),
    ...Object.values(requestBody?.content ?? {}).flatMap(({ schema }) =>
      Object.keys(schema?.properties ?? {}),
    ),
  ];
  return [operationId, summary, description, verb, path, ...names].join(' ').toLowerCase();
}
