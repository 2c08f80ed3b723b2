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

/** `maxBytes` may change at any time. Each body counts `copies` times, because that many copies are in memory. */
export function createBodyBudget(maxBytes: () => number, copies: number): BodyBudget {
  let reservedBytes = 0;
  return {
    share() {
      let ownBytes = 0;
      const reserve = (addedBytes: number) => {
        if (reservedBytes + addedBytes > maxBytes()) return false;
        ownBytes += addedBytes;
        reservedBytes += addedBytes;
        return true;
      };
      return {
        take: (bytes) => reserve(bytes * copies),
        takeCopy: reserve,
        giveBack() {
          reservedBytes -= ownBytes;
          ownBytes = 0;
        },
      };
    },
    largestBytes: () => Math.floor(maxBytes() / copies),
  };
}
