import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** In Electron's binary, before the fuses: version, count, and one digit each. */
export const FUSES = 'dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX';

const WIRE = Buffer.concat([Buffer.from(FUSES), Buffer.from([1, 9]), Buffer.from('1'.repeat(9))]);

/** Writes files, with the folders that they lie in. */
export function put(folder: string, files: Readonly<Record<string, string | Buffer>>): string {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), content, { mode: 0o755 });
  }
  return folder;
}

/** A stand-in for Electron's files on Linux. */
export function linuxElectron(folder: string): string {
  put(folder, {
    electron: WIRE,
    version: '45.4.1',
    LICENSE: '',
    'locales/en-US.pak': '',
    'locales/de.pak': '',
  });
  mkdirSync(join(folder, 'resources'));
  return folder;
}

export const MAC_FRAMEWORK = 'Contents/Frameworks/Electron Framework.framework';
const plist = (executable: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict><key>CFBundleExecutable</key><string>${executable}</string></dict></plist>`;

/** The same for macOS. */
export function macElectron(folder: string): string {
  const helpers = ['', ' (GPU)', ' (Plugin)', ' (Renderer)'].flatMap((kind) => {
    const contents = `Electron.app/Contents/Frameworks/Electron Helper${kind}.app/Contents`;
    return [
      [`${contents}/Info.plist`, plist(`Electron Helper${kind}`)],
      [`${contents}/MacOS/Electron Helper${kind}`, ''],
    ];
  });
  const framework = `Electron.app/${MAC_FRAMEWORK}`;
  put(folder, {
    LICENSE: '',
    'LICENSES.chromium.html': '',
    'Electron.app/Contents/Info.plist': plist('Electron'),
    'Electron.app/Contents/MacOS/Electron': '',
    'Electron.app/Contents/Resources/en.lproj/none': '',
    [`${framework}/Versions/A/Electron Framework`]: WIRE,
    [`${framework}/Versions/A/Resources/en.lproj/locale.pak`]: '',
    ...Object.fromEntries(helpers),
  });
  symlinkSync('A', join(folder, framework, 'Versions/Current'));
  for (const name of ['Electron Framework', 'Resources'])
    symlinkSync(`Versions/Current/${name}`, join(folder, framework, name));
  return folder;
}
