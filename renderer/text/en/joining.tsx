export const joining = {
  state: {
    pending: 'It will be verified in a moment.',
    verifying: 'It is being verified: this gateway sends it a short request.',
    verified: 'It is verified, and serves from now on.',
    failed: 'It could not be verified yet. Inglenook tries again automatically.',
  },
};
