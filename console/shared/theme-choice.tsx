import { useEffect, useState } from 'preact/hooks';

const themes = ['light dark', 'light', 'dark'] as const;
const names: Readonly<Record<string, string>> = { 'light dark': 'System', light: 'Light', dark: 'Dark' };

/** Light or dark: the system's choice unless the reader has made one. */
export function ThemeChoice() {
  const [theme, setTheme] = useState(() => localStorage.getItem('parley-theme') ?? themes[0]);
  useEffect(() => {
    document.documentElement.style.colorScheme = theme;
    localStorage.setItem('parley-theme', theme);
  }, [theme]);
  return (
    <label class="theme">
      Theme{' '}
      <select value={theme} onChange={({ currentTarget }) => setTheme(currentTarget.value)}>
        {themes.map((one) => (
          <option key={one} value={one}>
            {names[one]}
          </option>
        ))}
      </select>
    </label>
  );
}
