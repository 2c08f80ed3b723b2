/** The memory that request bodies in flight may take, all of them together. */
export interface BodyBudget {
  /** A request's part of it, empty so far. */
  share(): BodyShare;
  /** The largest body that it has room for. */
  largestBytes(): number;
}

/** What one request holds of the budget. */
export interface BodyShare {
  /** Makes room for so many bytes more of its body; false where the budget has none. */
  take(bytes: number): boolean;
  /** Gives back all that it holds. */
  giveBack(): void;
}

/** Makes a budget of at most `maxBytes`, which may change while it is used; each body is there in `copies`. */
export function createBodyBudget(maxBytes: () => number, copies: number): BodyBudget {
  let all = 0;
  return {
    share() {
      let own = 0;
      return {
        take(bytes) {
          const held = bytes * copies;
          if (all + held > maxBytes()) return false;
          own += held;
          all += held;
          return true;
        },
        giveBack() {
          all -= own;
          own = 0;
        },
      };
    },
    largestBytes: () => Math.floor(maxBytes() / copies),
  };
}
