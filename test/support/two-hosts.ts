import { chmodSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { controlOf } from './control.ts';
import { temporaryDirectory } from './gateway.ts';
import { send } from './http.ts';
import { startCli } from './process.ts';
import { IDLE_CARD, smi } from './stub-tool.ts';

export type HostProcess = Awaited<ReturnType<typeof startHost>>;

/**
 * An address of loopback that no other test listens at: the ports of an agent are fixed, its address
 * is not. Only Linux has all of 127.0.0.0/8 without asking.
 */
export function agentAddress(): string {
  if (process.platform !== 'linux') return '127.0.0.1';
  const part = () => 2 + Math.floor(Math.random() * 250);
  return `127.${part()}.${part()}.${part()}`;
}

/** A search path on which `nvidia-smi` knows one card. */
export function pathWithCard(card = IDLE_CARD): string {
  const directory = temporaryDirectory();
  const path = join(directory, 'nvidia-smi');
  writeFileSync(path, `#!/bin/sh\n${smi(card)}\n`);
  chmodSync(path, 0o755);
  return `${directory}${delimiter}${process.env['PATH'] ?? ''}`;
}

/** Gives this process, for the length of a test, a machine with a GPU. */
export function putCardOnPath(): void {
  vi.stubEnv('PATH', pathWithCard());
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** Starts an Inglenook as a process of its own, on a free port; `path` replaces the search path. */
export async function startHost(
  settings: Readonly<Record<string, string>> & { readonly DATA_DIR: string },
  path: string | null = null,
) {
  if (path !== null) vi.stubEnv('PATH', path);
  const cli = startCli({ PORT: '0', ...settings });
  vi.unstubAllEnvs();
  const url = new URL(await cli.printed(/Base URL for your apps: (\S+)/)).origin;
  return { url, cli, ...controlOf({ url, dataDirectory: settings.DATA_DIR }) };
}

/** Ends one as its owner would. */
export async function quit({ cli }: HostProcess): Promise<void> {
  cli.kill('SIGTERM');
  expect(await cli.ended).toMatchObject({ code: 0, stderr: '' });
}

/** Ends one as a power cut would. */
export async function crash({ cli }: HostProcess): Promise<void> {
  cli.kill('SIGKILL');
  await cli.ended;
}

/** Alone each of these takes a few hundred milliseconds; a busy machine may need much longer. */
const PATIENCE_MS = 60_000;

/** Waits until an attempt succeeds, and says why it did not when patience is over. */
export function soon<T>(attempt: () => Promise<T>): Promise<T> {
  return vi.waitFor(attempt, { timeout: PATIENCE_MS, interval: 50 });
}

/** The ids that a gateway lists, without who owns them. */
export async function modelsOf({ url, control }: HostProcess): Promise<readonly string[]> {
  const { text } = await send(`${url}/v1/models`, { headers: control });
  const { data } = JSON.parse(text) as { data: { id: string }[] };
  return data.map(({ id }) => id);
}
