/** The memory that request bodies in flight may take, all of them together. */
export interface BodyBudget {
  /** A request's part of it, empty so far. */
  share(): BodyShare;
  heldBytes(): number;
}

/** What one request holds of the budget. */
export interface BodyShare {
  /** Holds so many bytes more; false where the budget has no room for them. */
  take(bytes: number): boolean;
  /** Gives back all that it holds. */
  giveBack(): void;
}

/** Makes a budget of at most `maxBytes`, which may change while it is used. */
export function createBodyBudget(maxBytes: () => number): BodyBudget {
  let all = 0;
  return {
    share() {
      let own = 0;
      return {
        take(bytes) {
          if (all + bytes > maxBytes()) return false;
          own += bytes;
          all += bytes;
          return true;
        },
        giveBack() {
          all -= own;
          own = 0;
        },
      };
    },
    heldBytes: () => all,
  };
}
