export const joining = {
  state: {
    pending: 'It will be tested in a moment.',
    verifying: 'It is being tested: this gateway sends it a short request.',
    verified: 'It passed its test, and serves from now on.',
    failed: 'It has not passed its test yet. Inglenook tries again automatically.',
  },
};
