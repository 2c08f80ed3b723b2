import { t } from '../../text/t.ts';

const words = t.about.browsers;

/** `Firefox on Linux`: enough for an owner to tell browsers apart. */
export function browserName(userAgent: string): string {
  const find = (names: readonly (readonly [pattern: RegExp, name: string])[], other: string) =>
    names.find(([pattern]) => pattern.test(userAgent))?.[1] ?? other;
  return words.name(find(BROWSERS, words.otherBrowser), find(SYSTEMS, words.otherSystem));
}

/** Most user agents also name other browsers, so the order matters. */
const BROWSERS = [
  [/Electron\//, words.desktop],
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrome\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const;

const SYSTEMS = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS/, 'macOS'],
  [/Linux/, 'Linux'],
] as const;
