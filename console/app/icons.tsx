/** Line drawings of 24 by 24. */
const paths = {
  home: 'M4 11l8-7 8 7v8a1 1 0 0 1-1 1h-5v-6h-4v6H5a1 1 0 0 1-1-1z',
  usage: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  key: 'M8 20a4.5 4.5 0 1 1 0-9 4.5 4.5 0 0 1 0 9zM11.2 12.3L20 3.5M16 7.5l3 3',
  credits:
    'M12 4c4.4 0 8 1.3 8 3s-3.6 3-8 3-8-1.3-8-3 3.6-3 8-3zM4 7v5c0 1.7 3.6 3 8 3s8-1.3 8-3V7M4 12v5c0 1.7 3.6 3 8 3s8-1.3 8-3v-5',
  alert: 'M6 17V11a6 6 0 0 1 12 0v6l1.5 1.5h-15zM10 21h4',
  play: 'M5 5h14v10H10l-5 4zM9 9h6M9 12h4',
  accounts:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c0-3.5 3-6 6.5-6s6.5 2.5 6.5 6M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14.5c2 .8 3.5 2.8 3.5 5.5',
  server: 'M4 4h16v7H4zM4 13h16v7H4zM8 7.5h0M8 16.5h0M12 7.5h5M12 16.5h5',
  model: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9',
  audit: 'M6 3h9l4 4v14H6zM14 3v5h5M9 12h7M9 16h5',
  book: 'M4 5c3-1.5 6-1 8 1 2-2 5-2.5 8-1v14c-3-1.5-6-1-8 1-2-2-5-2.5-8-1zM12 6v14',
  menu: 'M4 7h16M4 12h16M4 17h16',
  leave: 'M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9',
  speaker: 'M4 9v6h4l5 4V5L8 9zM16.5 8.5a5 5 0 0 1 0 7M19 6a8.5 8.5 0 0 1 0 12',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 2-2 5 5M15.5 9h0',
  microphone: 'M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM6 11a6 6 0 0 0 12 0M12 17v4',
  live: 'M4 10v4M8 6v12M12 9v6M16 4v16M20 10v4',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
