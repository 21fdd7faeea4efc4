/** Whether a URL is safe for secrets: HTTPS, or HTTP to a program on this machine. */
export function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  const isLocal = /^(localhost|\[::1\]|127(\.\d{1,3}){3})$/.test(hostname);
  return protocol === 'https:' || (protocol === 'http:' && isLocal);
}
