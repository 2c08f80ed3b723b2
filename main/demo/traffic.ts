/** One request each second, as an app would send it. */
const EVERY_MS = 1000;
/** More run at a time only while upstreams are slow, and then the pause is longer. */
const MAX_RUNNING = 8;

const BODY = JSON.stringify({
  model: 'any',
  stream: true,
  messages: [{ role: 'user', content: 'What is this page about?' }],
});

/** Sends requests to the gateway, so that there is something to watch. */
export type DemoTraffic = ReturnType<typeof createTraffic>;

export function createTraffic(baseUrl: () => string, changed: () => void) {
  let timer: ReturnType<typeof setInterval> | null = null;
  const running = new Set<AbortController>();

  async function send(): Promise<void> {
    if (running.size >= MAX_RUNNING) return;
    const abort = new AbortController();
    running.add(abort);
    try {
      const response = await fetch(`${baseUrl()}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': 'demo-traffic' },
        body: BODY,
        signal: abort.signal,
      });
      await response.arrayBuffer();
    } catch {
      // The page shows how it ended.
    } finally {
      running.delete(abort);
    }
  }

  return {
    isOn: () => timer !== null,
    set(on: boolean): void {
      if (on === (timer !== null)) return;
      if (timer === null) {
        timer = setInterval(() => void send(), EVERY_MS);
        void send();
      } else {
        clearInterval(timer);
        timer = null;
      }
      changed();
    },
    stop(): void {
      if (timer !== null) clearInterval(timer);
      timer = null;
      for (const abort of running) abort.abort();
    },
  };
}
