/** A limit on the memory of all request bodies in flight together. */
export interface BodyBudget {
  /** A new, empty share for one request. */
  share(): BodyShare;
  /** The largest body that an unused budget has room for. */
  largestBytes(): number;
}

export interface BodyShare {
  /** Reserves this many more bytes of the body; false if the budget has no room for them. */
  take(bytes: number): boolean;
  /** Reserves one further copy of this many bytes, as for a second call beside the first. */
  takeCopy(bytes: number): boolean;
  /** Gives back all that is reserved. */
  giveBack(): void;
}

/** `maxBytes` may change while bodies are held. Each body counts `copies` times, as it is held that often. */
export function createBodyBudget(maxBytes: () => number, copies: number): BodyBudget {
  let heldBytes = 0;
  return {
    share() {
      let ownBytes = 0;
      const hold = (addedBytes: number) => {
        if (heldBytes + addedBytes > maxBytes()) return false;
        ownBytes += addedBytes;
        heldBytes += addedBytes;
        return true;
      };
      return {
        take: (bytes) => hold(bytes * copies),
        takeCopy: hold,
        giveBack() {
          heldBytes -= ownBytes;
          ownBytes = 0;
        },
      };
    },
    largestBytes: () => Math.floor(maxBytes() / copies),
  };
}
