/** Nouns that follow a number. */
export const ADDRESSES = { one: 'more address', other: 'more addresses' };
export const CHECKS = { one: 'more check', other: 'more checks' };
export const COMMITS = { one: 'commit', other: 'commits' };
export const FAILURES = { one: 'failure', other: 'failures' };
export const KEYS = { one: 'key', other: 'keys' };
export const MACHINES = { one: 'machine', other: 'machines' };
export const MODELS = { one: 'model', other: 'models' };
export const MORE_FAILURES = { one: 'more failure', other: 'more failures' };
export const NOTES = { one: 'note', other: 'notes' };
export const POLLS = { one: 'poll', other: 'polls' };
export const REQUESTS = { one: 'request', other: 'requests' };
export const RETRIES = { one: 'retry', other: 'retries' };
export const TIMES = { one: 'time', other: 'times' };
export const TOKENS = { one: 'token', other: 'tokens' };
