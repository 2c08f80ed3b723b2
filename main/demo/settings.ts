import type { UpstreamId } from '#shared/ids.ts';
import type { DemoEngine } from './engine.ts';
import { DEMO_MODEL } from './text.ts';

/** The demo's whole configuration, as environment variables: nothing of the user's own is read. */
export function demoEnvironment(
  engines: readonly DemoEngine[],
  port: string,
): Record<string, string> {
  const urls = new Map(engines.map((engine) => [engine.id, engine.url()]));
  const remote = (prefix: string, id: UpstreamId, path: string) => ({
    [`SWITCHYARD_${prefix}_BASE_URL`]: `${urls.get(id) ?? ''}${path}`,
    [`SWITCHYARD_${prefix}_API_KEY`]: `demo-key-of-${id}-0123456789`,
    [`SWITCHYARD_${prefix}_MODEL`]: DEMO_MODEL,
    [`SWITCHYARD_${prefix}_PREFILL`]: 'continue_final_message',
  });
  return {
    SWITCHYARD_PORT: port,
    // The demo's local engine is one of its own.
    SWITCHYARD_AGENT: 'false',
    SWITCHYARD_LOCAL_ENGINE_URL: urls.get('local') ?? '',
    ...remote('HOSTED_A', 'hosted_a', '/v1'),
    ...remote('HOSTED_B', 'hosted_b', '/v1'),
    ...remote('HOSTED_C', 'hosted_c', '/v1'),
    ...remote('ONDEMAND', 'ondemand', ''),
    // The default of 30 s is right for engines and long for somebody who watches a stall.
    SWITCHYARD_IDLE_TIMEOUT_MS: '8000',
    // Well before a slow demo upstream begins, and not rationed: whoever tries it out tries it again.
    SWITCHYARD_HEDGE_MS: '2000',
    SWITCHYARD_HEDGE_BUDGET: '100',
  };
}
