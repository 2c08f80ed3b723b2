import { ENTRIES, ENV_PREFIX } from './settings.ts';

/** Every environment variable with its default and what is allowed, one a line. */
export function createSettingsHelp(): string {
  const lines = ENTRIES.map(({ setting }) => {
    const fallback = shown(setting.fallback);
    return `  ${(ENV_PREFIX + setting.env).padEnd(36)} ${fallback.padEnd(12)} ${setting.kind.allowed}`;
  });
  lines.push(
    `  ${`${ENV_PREFIX}DATA_DIR`.padEnd(36)} ${'by system'.padEnd(12)} the directory for settings, keys and logs`,
  );
  return `Settings (environment variable, default, what it may be):\n${lines.join('\n')}\n`;
}

function shown(fallback: unknown): string {
  if (fallback === null || JSON.stringify(fallback) === '[]' || JSON.stringify(fallback) === '{}') {
    return '-';
  }
  return Array.isArray(fallback) ? fallback.join(',') : JSON.stringify(fallback);
}
