/** Runs what needs the data directory; where that cannot be used it says so, and the process ends with code 1. */
export async function inUsableDirectory(
  directory: string,
  run: () => void | Promise<void>,
): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!isFileProblem(error)) throw error;
    process.stderr.write(
      `The data directory ${directory} cannot be used (${error.code}); set SWITCHYARD_DATA_DIR to one that can.\n`,
    );
    process.exit(1);
  }
}

function isFileProblem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && 'path' in error;
}
