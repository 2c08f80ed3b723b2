/**
 * Stops on SIGINT or SIGTERM: the first lets running requests finish, the second exits at once. Exit code 0 after a
 * graceful stop, 128 + signal number after a second signal.
 */
export function stopOnSignal(stop: () => Promise<void>, say: (text: string) => void): void {
  let stopping = false;
  const onSignal = (signal: 'SIGINT' | 'SIGTERM') => {
    if (stopping) process.exit(signal === 'SIGINT' ? 130 : 143);
    stopping = true;
    say('Stopping: running requests have up to 30 s to finish; a second signal stops immediately.');
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
}
