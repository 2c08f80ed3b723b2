/** Hands messages to the gateway's thread, one at a time. */
export interface Delivery<Message> {
  /** Resolves once that thread has taken it. */
  send(message: Message): Promise<void>;
  /** That thread has taken the last one, and then done what else it had to do. */
  taken(): void;
  /** Resolves once nothing waits. */
  idle(): Promise<void>;
}

/**
 * A port hands over all that waits in it within one turn of the event loop, however it was cut. So the next message is
 * posted once the last was taken.
 */
export function createDelivery<Message>(post: (message: Message) => void): Delivery<Message> {
  const waiting: { readonly message: Message; readonly done: () => void }[] = [];
  let onItsWay: (() => void) | null = null;
  let last: Promise<void> = Promise.resolve();

  function next(): void {
    const first = waiting.shift();
    onItsWay = first?.done ?? null;
    if (first !== undefined) post(first.message);
  }

  return {
    send(message) {
      last = new Promise((done) => waiting.push({ message, done }));
      if (onItsWay === null) next();
      return last;
    },
    taken() {
      const done = onItsWay;
      next();
      done?.();
    },
    idle: () => last,
  };
}
