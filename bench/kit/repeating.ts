/** Takes a step again and again until it is stopped; `stop` rejects with what a step threw. */
export function repeating(
  pauseMs: number,
  step: () => Promise<void>,
): { readonly stop: () => Promise<void> } {
  const over = new AbortController();
  const running = (async () => {
    while (!over.signal.aborted) {
      await step();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  })();
  // `stop` tells of it.
  running.catch(() => {});
  return {
    async stop() {
      over.abort();
      await running;
    },
  };
}
