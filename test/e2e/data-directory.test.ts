import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDataDirectory } from '../../main/config/data-directory.ts';
import { asVariables } from '../support/config.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { PROGRAM, runCli, spawnProgram } from '../support/process.ts';

const hasModes = process.platform !== 'win32';

test.each(['settings.json', 'gateway-secret'])(
  'a folder in the place of %s ends the start with code 1 and one line that names it',
  async (name) => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, name));
    const { code, stdout, stderr } = await runCli({ DATA_DIR: directory, PORT: '0' });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      `${join(directory, name)} is a folder where a file belongs (EISDIR); move it away and start again.\n`,
    );
  },
);

test('a file in the place of the folder of logs is reported in one line', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'logs'), '');
  const { code, stderr } = await runCli({ DATA_DIR: directory, PORT: '0' });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^The data directory .* cannot be used \(EEXIST\).*\n$/);
});

test.runIf(process.platform === 'linux')(
  'a full disk at the first start is reported in one line',
  async () => {
    // No process may mount a full disk here; with this limit every write of a file fails, as there.
    const limited = `trap '' XFSZ; ulimit -f 0; exec "$0" ${PROGRAM}`;
    const directory = temporaryDirectory();
    const settings = asVariables({ DATA_DIR: directory, PORT: '0', AGENT: 'false' });
    const env = { PATH: process.env['PATH'], ...settings };
    const { stderr } = await spawnProgram(['sh', '-c', limited, process.execPath], env).ended;
    expect(stderr).toBe(
      `The disk of the data directory ${directory} has no room for more data (EFBIG); free some space on it and start again.\n`,
    );
  },
);

test.runIf(process.platform === 'linux')(
  'the default data directory is private, and a new one is created private',
  () => {
    const home = temporaryDirectory();
    const env = { XDG_DATA_HOME: home };
    const directory = join(home, 'inglenook');
    expect(openDataDirectory(env, 'linux')).toEqual([]);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    chmodSync(directory, 0o755);
    expect(openDataDirectory(env, 'linux')).toEqual([
      `Other users could open the data directory ${directory}; its permissions are fixed now.`,
    ]);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(openDataDirectory(env, 'linux')).toEqual([]);
  },
);

test.runIf(hasModes && process.getuid?.() !== 0)(
  'a data directory of another user brings a warning',
  () => {
    const warnings = openDataDirectory({ INGLENOOK_DATA_DIR: '/' }, process.platform);
    expect(warnings).toEqual([expect.stringContaining('belongs to another user')]);
  },
);
