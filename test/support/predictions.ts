import { expect } from 'vitest';
import type { ManualClock } from './clock.ts';
import { chat } from './client.ts';
import { type Scene, startScene, STREAM } from './scene.ts';
import { answers, type Script } from './upstream.ts';

/** How long a machine is believed to be slow without being heard of. */
export const BELIEVED_MS = 60_000;
/** What the machine of these tests takes for a byte. */
export const MS_PER_BYTE = 0.1;
/** 8 s: well behind the line. */
export const LONG = 80_000;
/** 4 s: before it. */
export const SHORT = 40_000;

/** With it nothing is added to a request, so that it reaches the engine as long as it is. */
const ASKED_FOR_USAGE = { stream_options: { include_usage: true } };

/** A streamed chat completion whose body has so many bytes. */
export function promptOf(bytes: number): string {
  const of = (content: string) =>
    JSON.stringify({ ...STREAM, ...ASKED_FOR_USAGE, messages: [{ role: 'user', content }] });
  return of('x'.repeat(bytes - of('').length));
}

/** Sends a prompt of so many bytes. */
export const prompt = ({ url }: { readonly url: string }, bytes = LONG) =>
  chat(url, promptOf(bytes));

/** Answers once it has read the prompt; time passes with it. */
export const reading =
  (clock: ManualClock, msPerByte = MS_PER_BYTE, overheadMs = 0): Script =>
  (call) => {
    clock.advance(overheadMs + msPerByte * call.body.length);
    return answers('read')(call);
  };

/** Has `local` read so many prompts, of 1 to 20 kB. */
export async function teach({ url, clock, up }: Scene<'local'>, count: number): Promise<void> {
  up.local.script = reading(clock);
  for (let n = 1; n <= count; n += 1) {
    expect(await chat(url, promptOf(n * 1000))).toMatchObject({ upstream: 'local' });
  }
}

/** A gateway with `local`, which has taught it so many first tokens, and a hosted upstream. */
export async function startTaught(
  settings: Readonly<Record<string, string>> = {},
  samples = 20,
): Promise<Scene<'local' | 'hosted_a'>> {
  const scene = await startScene({ local: [], hosted_a: [] }, { HEDGE: 'all', ...settings });
  scene.up.hosted_a.script = answers('from a');
  await teach(scene, samples);
  return scene;
}
