/** A limit on the memory of all request bodies in flight together. */
export type BodyBudget = ReturnType<typeof createBodyBudget>;
export type BodyShare = ReturnType<BodyBudget['share']>;

/**
 * Reserved beyond what has come, so that most bodies are refused before they are sent. A whole announced length would
 * let a few slow uploads use up the budget without sending anything.
 */
const STEP_BYTES = 64 * 1024;

/** Each body counts `copies` times, because that many copies are in memory. */
export function createBodyBudget(copies: number) {
  let reservedBytes = 0;
  return {
    /** A new, empty share for one request, of a budget of `maxBytes` as set now. */
    share(maxBytes: number) {
      let ownBytes = 0;
      const reserve = (addedBytes: number) => {
        if (reservedBytes + addedBytes > maxBytes) return false;
        ownBytes += addedBytes;
        reservedBytes += addedBytes;
        return true;
      };
      return {
        /** Reserves room for a body of which `bytes` have come; false if there is none. null: no length was announced. */
        hold(bytes: number, announcedBytes: number | null) {
          const wanted = Math.min(announcedBytes ?? bytes, bytes + STEP_BYTES) * copies;
          return wanted <= ownBytes || reserve(wanted - ownBytes);
        },
        /** Reserves one further copy of this many bytes. */
        takeCopy: reserve,
        giveBack() {
          reservedBytes -= ownBytes;
          ownBytes = 0;
        },
      };
    },
    /** The largest body that an unused budget of `maxBytes` has room for. */
    largestBytes: (maxBytes: number) => Math.floor(maxBytes / copies),
  };
}
