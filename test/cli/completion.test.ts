import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { completionScript, SHELLS } from '../../main/cli/completion.ts';
import { COMMANDS } from '../../main/cli/table.ts';
import { temporaryDirectory } from '../support/gateway.ts';

const has = (shell: string) => spawnSync(shell, ['--version']).error === undefined;

test.each(SHELLS)('the completion script for %s knows every command', (shell) => {
  const script = completionScript(shell, COMMANDS);
  for (const { name } of COMMANDS) expect(script).toMatch(new RegExp(`\\b${name}\\b`));
});

test.each(SHELLS.map((shell) => [shell, has(shell)] as const).filter(([, there]) => there))(
  'the shell %s accepts its completion script',
  (shell) => {
    const file = join(temporaryDirectory(), 'completion');
    writeFileSync(file, completionScript(shell, COMMANDS));
    expect(spawnSync(shell, ['-n', file], { encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: '',
    });
  },
);

/** Bash's offers where the last of these words is being typed. */
function offered(...words: readonly string[]): readonly string[] {
  const script = `${completionScript('bash', COMMANDS)}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
_inglenook; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '');
}

test('the completion script for bash needs nothing that bash 3.2, the one of macOS, lacks', () => {
  const script = completionScript('bash', COMMANDS);
  expect(script).not.toMatch(/\b(mapfile|readarray|declare -A)\b|\$\{\w+(,,|\^\^)/);
});

test.runIf(has('bash'))('bash completes commands, options, choices and settings', () => {
  expect(offered('inglenook', 'st')).toEqual(['start', 'status']);
  expect(offered('inglenook', 'chat', '--m')).toEqual(['--model']);
  expect(offered('inglenook', 'completion', '')).toEqual([...SHELLS, '--help']);
  expect(offered('inglenook', 'set', 'agent.only')).toEqual(['agent.onlyWhenIdle']);
  expect(offered('inglenook', 'reset', 'hosted_')).toEqual(['hosted_a', 'hosted_b', 'hosted_c']);
});
