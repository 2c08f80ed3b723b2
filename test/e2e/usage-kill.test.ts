import { setTimeout } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { HistoryReport } from '#shared/usage.ts';
import { chance } from '../support/chance.ts';
import { chat } from '../support/client.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { type HostProcess, startHost } from '../support/two-hosts.ts';
import { completion, json, startUpstream } from '../support/upstream.ts';

/** How often it is killed: some here, more where `KILLS` asks for it. */
const KILLS = Number(process.env['KILLS'] ?? 2);
const AT_ONCE = 3;
/** So that the processor is not what is tested. */
const BREATH_MS = 20;
/** What may be lost is what ended within this time. */
const LOST_MS = 1000;

/** Milliseconds that this process was given: pauses of a busy machine count as one. */
function startWatch(): () => number {
  let ms = 0;
  const counting = setInterval(() => (ms += 1), 1);
  onTestFinished(() => clearInterval(counting));
  return () => ms;
}

/** What all calls are known to have used. */
async function kept({
  read,
}: HostProcess): Promise<{ readonly calls: number; readonly tokens: number }> {
  const { parts } = await read<HistoryReport>('history?range=month');
  const sum = { calls: 0, tokens: 0 };
  for (const { figures } of parts) {
    sum.calls += figures.calls;
    sum.tokens += figures.inputTokens + figures.outputTokens;
  }
  return sum;
}

test(
  'a kill of the program loses at most one second of usage, and nothing kept is counted twice',
  async () => {
    const random = chance(9);
    const now = startWatch();
    /** Tokens told by the upstream, and when their answer had reached its caller. */
    let told: { readonly tokens: number; answeredAt: number }[] = [];
    const upstream = await startUpstream((call) => {
      const prompt = Math.floor(random() * 5000);
      const entry = { tokens: prompt + 3, answeredAt: Infinity };
      told.push(entry);
      call.res.once('finish', () => void (entry.answeredAt = now()));
      const usage = { prompt_tokens: prompt, completion_tokens: 3, total_tokens: prompt + 3 };
      return json(200, { ...completion('hi'), usage })(call);
    });
    const settings = { DATA_DIR: temporaryDirectory(), HOSTED_A_BASE_URL: upstream.url };
    let before = { calls: 0, tokens: 0 };

    let running = await startHost(settings);
    for (let kill = 0; kill < KILLS; kill += 1) {
      const { cli, url } = running;
      const killed = new AbortController();
      const asking = Array.from({ length: AT_ONCE }, async () => {
        while (!killed.signal.aborted) {
          await chat(url).catch(() => null);
          await setTimeout(BREATH_MS);
        }
      });
      const from = now();
      // At least once before anything was written, and later at any moment.
      const until = kill === 0 ? 100 : 1200 + random() * 1500;
      await expect
        .poll(() => now() - from, { interval: 5, timeout: 60_000 })
        .toBeGreaterThan(until);
      killed.abort();
      cli.kill('SIGKILL');
      const killedAt = now();
      await cli.ended;
      await Promise.all(asking);

      running = await startHost(settings);
      const after = await kept(running);
      const settled = told.filter(({ answeredAt }) => answeredAt < killedAt - LOST_MS);
      const sum = (of: typeof told) => of.reduce((total, { tokens }) => total + tokens, 0);
      expect(after.tokens - before.tokens).toBeLessThanOrEqual(sum(told));
      expect(after.calls - before.calls).toBeLessThanOrEqual(told.length);
      expect(after.tokens - before.tokens).toBeGreaterThanOrEqual(sum(settled));
      expect(after.calls - before.calls).toBeGreaterThanOrEqual(settled.length);
      expect(kill === 0 || settled.length > 0).toBe(true);
      before = after;
      told = [];
    }
  },
  60_000 + KILLS * 30_000,
);
