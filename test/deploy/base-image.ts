import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

const CONTAINERFILE = `FROM scratch
COPY root /
ENV PATH=/usr/bin:/bin NODE_EXTRA_CA_CERTS=${CERTIFICATES}
`;

/**
 * Writes what stands in for the base of our image, which only a registry has: this machine's Node 24, npm and shell,
 * with their libraries, and a user "node". Made for Debian and its kin.
 */
export function writeBase(folder: string): void {
  const root = join(folder, 'root');
  const put = (from: string, to: string) => {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    cpSync(realpathSync(from), join(root, to), { recursive: true });
  };
  for (const at of ['usr/bin', 'usr/lib', 'usr/lib64', 'tmp', 'root', 'dev', 'proc', 'sys'])
    mkdirSync(join(root, at), { recursive: true });
  for (const at of ['bin', 'lib', 'lib64']) symlinkSync(`usr/${at}`, join(root, at));
  const programs = ['sh', 'env', 'mkdir'].map((name) => ({ name, path: which(name) }));
  for (const { name, path } of [...programs, { name: 'node', path: process.execPath }]) {
    put(path, `usr/bin/${name}`);
    for (const library of librariesOf(path)) put(library, library);
  }
  put(join(dirname(realpathSync(which('npm'))), '..'), 'usr/lib/node_modules/npm');
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/bin/npm'));
  put(CERTIFICATES, CERTIFICATES);
  writeFileSync(
    join(root, 'etc/passwd'),
    'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/tmp:/bin/sh\n',
  );
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\nnode:x:1000:\n');
  writeFileSync(join(folder, 'Containerfile'), CONTAINERFILE);
}

const which = (name: string) =>
  execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();

function librariesOf(program: string): readonly string[] {
  const listed = execFileSync('ldd', [program], { encoding: 'utf8' });
  return listed.match(/\/\S+/g) ?? [];
}
