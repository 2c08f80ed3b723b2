import { hash } from 'node:crypto';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files in an order of chance, but one project after the other, as the configuration lists them. Vitest keeps a
 * worker for the next file only where that is of the same project; a new one loads the whole program again.
 */
export class ProjectSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { projects, config } = this.ctx;
    const ranks = new Map(projects.map(({ name }, rank) => [name, rank]));
    const places = new Map(
      files.map((file) => [file, hash('sha1', `${config.sequence.seed} ${file.moduleId}`)]),
    );
    const rank = ({ project }: TestSpecification) => ranks.get(project.name) ?? 0;
    const place = (file: TestSpecification) => places.get(file) ?? '';
    return files.toSorted((a, b) => rank(a) - rank(b) || (place(a) < place(b) ? -1 : 1));
  }
}
