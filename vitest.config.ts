import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // A law that waits for ever must fail, with room for a busy machine.
    testTimeout: 20_000,
    hookTimeout: 60_000,
    sequence: { shuffle: true },
  },
});
