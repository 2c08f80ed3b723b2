/** A limit on the memory of all request bodies in flight together. */
export type BodyBudget = ReturnType<typeof createBodyBudget>;
export type BodyShare = ReturnType<BodyBudget['share']>;

/**
 * Reserved beyond what has come, so that most bodies are refused before they are sent. A whole announced length would
 * let a few slow uploads use up the budget without sending anything.
 */
const STEP_BYTES = 64 * 1024;
/** Larger bodies leave a part of the budget to those up to this size. */
const SMALL_BYTES = 1024 * 1024;
const LARGE_SHARE = 7 / 8;

/** Each body counts `copies` times, because that many copies are in memory. */
export function createBodyBudget(copies: number) {
  let reservedBytes = 0;
  /** Of large bodies. */
  let largeBytes = 0;
  return {
    /** A new, empty share for one request, of a budget of `maxBytes` as set now. */
    share(maxBytes: number) {
      const maxLargeBytes = Math.floor(maxBytes * LARGE_SHARE);
      let ownBytes = 0;
      let isLarge = false;
      const reserve = (addedBytes: number) => {
        if (reservedBytes + addedBytes > maxBytes) return false;
        if (isLarge && largeBytes + addedBytes > maxLargeBytes) return false;
        ownBytes += addedBytes;
        reservedBytes += addedBytes;
        if (isLarge) largeBytes += addedBytes;
        return true;
      };
      return {
        /** Reserves room for a body of which `bytes` have come; false if there is none. null: no length was announced. */
        hold(bytes: number, announcedBytes: number | null) {
          const mostBytes = announcedBytes ?? bytes;
          if (!isLarge && mostBytes > SMALL_BYTES) {
            isLarge = true;
            largeBytes += ownBytes;
          }
          const wanted = Math.min(mostBytes, bytes + STEP_BYTES) * copies;
          return wanted <= ownBytes || reserve(wanted - ownBytes);
        },
        /** Reserves one further copy of this many bytes, as for a second call beside the first. */
        takeCopy: reserve,
        giveBack() {
          reservedBytes -= ownBytes;
          if (isLarge) largeBytes -= ownBytes;
          ownBytes = 0;
        },
      };
    },
    /** The largest body that an unused budget of `maxBytes` has room for. */
    largestBytes(maxBytes: number) {
      const small = Math.min(SMALL_BYTES, Math.floor(maxBytes / copies));
      return Math.max(small, Math.floor((maxBytes * LARGE_SHARE) / copies));
    },
  };
}
