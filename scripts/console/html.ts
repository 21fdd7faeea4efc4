/** Escapes text for the content and the attributes of an element. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
}

/** A list of links; the current one is marked. */
export function linkList(
  links: readonly { readonly href: string; readonly html: string }[],
  current: string,
) {
  const items = links.map(
    ({ href, html }) =>
      `<li><a href="${escaped(href)}"${href === current ? ' aria-current="page"' : ''}>${html}</a></li>`,
  );
  return `<ul>${items.join('')}</ul>`;
}
