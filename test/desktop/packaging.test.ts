import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { startAction } from '../../main/desktop/command-line.ts';

const ROOT = join(import.meta.dirname, '../..');

interface Configuration {
  readonly asar: unknown;
  readonly electronFuses: unknown;
  readonly files: unknown;
  readonly mac: { readonly target: unknown };
  readonly win: { readonly target: unknown };
  readonly linux: {
    readonly target: unknown;
    readonly executableName: string;
    readonly desktop: {
      readonly desktopActions: Readonly<Record<string, { readonly Exec: string }>>;
    };
  };
}

interface Builder {
  getConfig(root: string, file: string, more: null): Promise<Configuration>;
  validateConfiguration(config: unknown, log: { readonly isEnabled: boolean }): Promise<void>;
}

/** electron-builder's own reader and schema, by way of electron-builder, whose private package it is. */
function loadBuilder(): Builder {
  const ours = createRequire(import.meta.url);
  const theirs = createRequire(ours.resolve('electron-builder/package.json'));
  // Its types are not exported; the two functions are declared above as they are used.
  return theirs('app-builder-lib/out/util/config/config.js') as Builder;
}

describe('electron-builder.yml', () => {
  const builder = loadBuilder();
  let config: Configuration;
  beforeAll(async () => {
    config = await builder.getConfig(ROOT, 'electron-builder.yml', null);
  });

  test('electron-builder.yml is accepted by electron-builder’s own schema', async () => {
    await expect(
      builder.validateConfiguration(config, { isEnabled: false }),
    ).resolves.toBeUndefined();
  });

  test('electron-builder’s own schema refuses a misspelt fuse', async () => {
    const misspelt = { ...config, electronFuses: { runAsNoode: false } };
    await expect(builder.validateConfiguration(misspelt, { isEnabled: false })).rejects.toThrow(
      'configuration.electronFuses',
    );
  });

  test('electron-builder.yml turns off every way to run other code as this app', () => {
    expect(config.electronFuses).toEqual({
      runAsNode: false,
      enableNodeOptionsEnvironmentVariable: false,
      enableNodeCliInspectArguments: false,
      enableCookieEncryption: true,
      enableEmbeddedAsarIntegrityValidation: true,
      onlyLoadAppFromAsar: true,
      grantFileProtocolExtraPrivileges: false,
    });
    expect(config.asar).toEqual({ smartUnpack: false });
  });

  test('electron-builder.yml builds for all three systems, with the zip that macOS updates need', () => {
    expect(config.mac.target).toEqual(['dmg', 'zip']);
    expect(config.win.target).toEqual(['nsis']);
    const arch = ['x64', 'arm64'];
    expect(config.linux.target).toEqual([
      { target: 'deb', arch },
      { target: 'rpm', arch },
    ]);
  });
});

test('the desktop entry’s actions are those that the app answers, by its installed program', async () => {
  const { linux } = await loadBuilder().getConfig(ROOT, 'electron-builder.yml', null);
  const actions = Object.entries(linux.desktop.desktopActions);
  expect(actions.map(([name]) => name)).toEqual(['settings', 'quit']);
  for (const [name, { Exec }] of actions) {
    const [program, ...words] = Exec.split(' ');
    expect(program).toBe(`/opt/Inglenook/${linux.executableName}`);
    expect(startAction(words)).toBe(name);
  }
});

describe('the shell around Electron', () => {
  const folder = join(ROOT, 'main/desktop');
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));

  test('the shell knows Electron by type only, so that it runs against a stand-in', () => {
    const importers = sources.filter(({ text }) => /^import (?!type ).*'electron'/m.test(text));
    expect(importers.map(({ name }) => name)).toEqual([]);
  });

  test('the shell lets Electron become ready: its entry awaits nothing at module scope', () => {
    const entry = readFileSync(join(ROOT, 'main/electron.ts'), 'utf8');
    expect(entry).not.toMatch(/^(const .*= )?await\b/m);
  });

  test('the shell switches off no protection of the page', () => {
    const loose =
      /(webSecurity|contextIsolation|sandbox): false|nodeIntegration\w*: true|allowRunningInsecureContent: true|webviewTag: true|executeJavaScript/;
    expect(sources.filter(({ text }) => loose.test(text)).map(({ name }) => name)).toEqual([]);
  });

  test('the shell is started from where it is built, and named where npm does not pack it', () => {
    const packing = readFileSync(join(ROOT, 'electron-builder.yml'), 'utf8');
    expect(packing).toContain('  main: dist/desktop/electron.js\n');
    expect(readFileSync(join(ROOT, 'package.json'), 'utf8')).not.toContain('"main"');
    const build = readFileSync(join(folder, 'vite.config.ts'), 'utf8');
    expect(build).toContain("nodeBundle('dist/desktop'");
    expect(build).toContain("electron: 'main/electron.ts'");
  });
});
