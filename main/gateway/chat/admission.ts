/** Limits the requests that run at the same time. */
export type Admission = ReturnType<typeof createAdmission>;

export type Place = ReturnType<Admission['place']>;

export function createAdmission(limit: () => number) {
  let running = 0;
  let refused = 0;
  return {
    /** For one request. */
    place() {
      let isHeld = false;
      return {
        /** False while all places are taken. */
        enter(): boolean {
          isHeld = running < limit();
          if (isHeld) running += 1;
          else refused += 1;
          return isHeld;
        },
        /** Gives back the place, if it was entered. */
        leave(): void {
          if (isHeld) running -= 1;
          isHeld = false;
        },
      };
    },
    /** `refused`: since the start. */
    view: () => ({ running, limit: limit(), refused }),
  };
}
